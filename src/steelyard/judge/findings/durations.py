"""States how long the commands take that remedies advise, from the plans of these runs on the measured machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.measure.plan import EFFORTS, catalogue, estimate, length, sweep
from steelyard.model import Benchmark, Evaluation, Finding, Remedy, Scalar, numbers

TIMED = ("run", "scale")


def state(findings: Iterable[Finding], evaluation: Evaluation) -> tuple[Finding, ...]:
    """Returns the findings; their commands have the seconds that they take, and the folders of benchmarks from outside."""
    find_ours = cache(catalogue.find)
    benchmarks = cache(lambda: {**evaluation.benchmarks, **find_ours()})

    @cache
    def estimate(command: tuple[str, ...]) -> float | None:
        try:
            return _estimate_seconds(command, evaluation, benchmarks())
        except SteelyardError:  # a run that cannot be planned for this machine
            return None

    def timed(finding: Finding) -> Finding:
        remedy = finding.remedy
        if not isinstance(remedy, Remedy) or remedy.command[0] not in TIMED:
            return finding
        command = _add_folders(remedy.command, evaluation.run.paths, find_ours)
        return replace(finding, remedy=replace(remedy, command=command, seconds=estimate(remedy.command)))

    return tuple(map(timed, findings))


def _add_folders(
    command: tuple[str, ...], folders: Sequence[str], find_ours: Callable[[], Mapping[str, Benchmark]]
) -> tuple[str, ...]:
    named = [word for option, word in pairwise(command) if option in ("--only", "scale")]
    if not folders or all(any(f"{ours}.".startswith(f"{name}.") for ours in find_ours()) for name in named):
        return command
    return (*command, *(word for folder in folders for word in ("--path", folder)))


def _estimate_seconds(words: Sequence[str], evaluation: Evaluation, benchmarks: dict[str, Benchmark]) -> float:
    """Returns the expected seconds of `run …` or `scale BENCHMARK …` on the measured machine, in the condition of this run.

    UsageError if it is refused.
    """
    run, first = evaluation.run, 2 if words[0] == "scale" else 1
    options: dict[str, list[str]] = {}
    for name, value in zip(words[first::2], words[first + 1 :: 2], strict=False):
        options.setdefault(name, []).append(value)
    if "--budget" in options:
        return numbers.length_of_time(options["--budget"][-1], "--budget")
    settings: dict[str, list[Scalar]] = {}
    for setting in options.get("--set", []):
        name, _, text = setting.partition("=")
        settings.setdefault(name, []).extend(numbers.setting(name, value) for value in text.split(",") if value)
    effort = EFFORTS[options.get("--preset", ["quick"])[-1]]
    chosen: Mapping[str, Benchmark] = catalogue.choose(
        benchmarks, words[1:2] if words[0] == "scale" else options.get("--only", [])
    )
    if words[0] == "scale":
        shape = sweep.shape(sweep.wanted(words[1], None, None, False, ()))
        chosen, settings_ = shape(chosen, run.machine, effort, settings)
        settings = {name: list(values) for name, values in settings_.items()}
    toolchains = len(options.get("--toolchain", [""]))
    used = (str(r.parameters.get("mpi", "MPI")) for r in evaluation.results if "ranks" in r.parameters)
    mpis = [*run.site.mpis, *used][:1]
    # Runs of many equal hosts are judged one after the other, and to list all cases takes as long as to judge a small run.
    text = repr((replace(run.machine, host=""), effort, settings, toolchains, mpis, [id(b) for b in chosen.values()]))
    seconds, records = _estimate(_Asked(text, (chosen, run.machine, effort, settings, toolchains, mpis)))
    free = min((had.full for had in evaluation.condition.had.values()), default=1.0)
    return length.lengthened(effort, seconds, toolchains, free) + length.evaluating_records(records)


@dataclass(frozen=True)
class _Asked:
    """The arguments of `estimate`. Equal ones have the same text, in which benchmarks stand by their addresses."""

    text: str
    arguments: tuple[Any, ...] = field(compare=False)


@lru_cache(maxsize=32)
def _estimate(asked: _Asked) -> tuple[float, int]:
    return estimate(*asked.arguments)
