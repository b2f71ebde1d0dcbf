"""Rule: names the values that are doubtful, with file and line."""

from collections.abc import Iterable

from steelyard.importing.doubts import DOUBTS
from steelyard.model import Evaluation, Finding, ForeignValue
from steelyard.model.words import plural

IMPORTED = True
MOST = 8  # places that the finding names


def find(evaluation: Evaluation) -> list[Finding]:
    """States how many values are doubtful, and for which reasons, each with the first value of a file."""
    return find_doubtful(evaluation.run.imported.values) if evaluation.run.imported else []


def find_doubtful(values: Iterable[ForeignValue]) -> list[Finding]:
    """Returns a finding on the doubtful values, if there are any."""
    doubted = [(v, _find_doubt(v.note)) for v in values if v.note]
    doubted = [(value, doubt) for value, doubt in doubted if doubt]
    if not doubted:
        return []
    first: dict[tuple[str, str], ForeignValue] = {}
    for value, doubt in doubted:
        first.setdefault((value.file, doubt), value)
    files = len({value.file for value, _ in doubted})
    named = [f"{value.source}: {doubt}" for (_, doubt), value in first.items()]
    more = [f"{plural(len(named) - MOST, 'further place')} in values.jsonl."] if len(named) > MOST else []
    return [
        Finding(
            rule="imported_doubts",
            level="notice",
            seen=f"{plural(len(doubted), 'value')} of {plural(files, 'file')} {'is' if len(doubted) == 1 else 'are'} doubtful. "
            f"The first one is in {doubted[0][0].source}.",
            evidence=(*named[:MOST], *more),
            cause="A run did not end, a tool warned of its results, or values of different runs look like repetitions.",
            remedy="Look at these lines. Leave out files of runs that failed, and say with --layout which files differ.",
            benchmark=doubted[0][0].benchmark if len({value.benchmark for value, _ in doubted}) == 1 else "",
            reach="figures",
            about="measurement",
        )
    ]


def _find_doubt(note: str) -> str:
    """Returns the note from its first sentence with a doubt on; "" without any."""
    places = [place for doubt in DOUBTS if (place := note.find(doubt)) >= 0]
    return note[note.rfind(". ", 0, min(places)) + 1 :].strip() if places else ""
