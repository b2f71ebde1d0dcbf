"""The conditions in which the cases of two sides differ, so that a reader knows what is not like with like."""

from collections.abc import Iterator

from steelyard.compare.matching import SIZES, is_same_by_default
from steelyard.compare.side import SideCase
from steelyard.compare.side_view import Common, SideView
from steelyard.model import Scalar
from steelyard.model.words import plural

PROGRAM = "steelyard"  # the name of this program among the versions of a run
MOST = 3  # values of a parameter that a sentence names


def list_conditions(a: SideView, b: SideView, common: Common) -> list[str]:
    """Returns sentences on versions, factors and sizes that differ, and on parameters that make benchmarks incomparable."""
    found = [*_versions(a, b), *_factors(b, common), *_sizes(b, common), *_list_preventing_parameters(a, b, common)]
    return found if len(common.pairs.a) else [say_nothing_common(a, b), *found]


def say_nothing_common(a: SideView, b: SideView) -> str:
    """Returns that no case of the one side is comparable with one of the other."""
    advice = " To compare equal settings, choose runs of the same benchmarks with the same parameters."
    is_measured = not a.side.is_foreign or not b.side.is_foreign
    return f"{b.side.name} and {a.side.name} have no case in common.{advice if is_measured else ''}"


def _versions(a: SideView, b: SideView) -> Iterator[str]:
    versions = [view.facts.get("version", {}).get(PROGRAM, "unknown") for view in (a, b)]
    if versions[0] != versions[1]:
        yield (
            f"Different versions of Steelyard measured {a.side.name} ({versions[0]}) and {b.side.name} ({versions[1]}). "
            "A benchmark may have changed between them."
        )


def _factors(b: SideView, common: Common) -> Iterator[str]:
    factors: dict[str, tuple[Scalar | None, Scalar | None]] = {}
    for match in common.matches.values():
        differing = (d for d in match.differing if d[0] not in SIZES and not is_same_by_default(*d))
        factors |= {name: (x, y) for name, x, y in differing}
    if factors:
        texts = (f"{name.replace('_', ' ')} ({_text(x)} and {_text(y)})" for name, (x, y) in factors.items())
        yield f"The cases of {b.side.name} are compared although these parameters differ: {', '.join(texts)}."


def _sizes(b: SideView, common: Common) -> Iterator[str]:
    names = dict.fromkeys(
        match.a.benchmark for match in common.matches.values() if any(name in SIZES for name, *_ in match.differing)
    )
    if names:
        yield (
            f"The largest problems of {b.side.name} and of the baseline have different sizes, and their time for the same "
            f"work is compared: {_list(list(names))}."
        )


def _list_preventing_parameters(a: SideView, b: SideView, common: Common) -> Iterator[str]:
    """Yields the parameters that prevent a comparison with equal settings, with the benchmarks that both sides have."""
    paired = {a.table.benchmarks[i] for i in common.pairs.a.tolist()}
    having = set(a.table.benchmarks) & set(b.table.benchmarks)
    prevented: dict[str, list[str]] = {}
    for benchmark in (name for name in dict.fromkeys(a.table.benchmarks) if name in having - paired):
        of_a, of_b = (
            [view.case(i) for i, name in enumerate(view.table.benchmarks) if name == benchmark] for view in (a, b)
        )
        names = dict.fromkeys(name for case in (*of_a, *of_b) for name in case.parameters)
        apart = [name for name in names if not _values(of_a, name) & _values(of_b, name)]
        texts = (
            f"{name.replace('_', ' ')} ({_list(sorted(_values(of_a, name)))} against {_list(sorted(_values(of_b, name)))})"
            for name in apart
        )
        if apart:
            prevented.setdefault(", ".join(texts), []).append(benchmark)
    for parameters, benchmarks in prevented.items():
        yield f"{b.side.name} has no equal settings for {_list(benchmarks)}: {parameters}."


def _values(cases: list[SideCase], name: str) -> set[str]:
    return {_text(case.parameters.get(name)) for case in cases}


def _text(value: Scalar | None) -> str:
    return "none" if value is None else str(value)


def _list(names: list[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {plural(more, 'other')}" if more > 0 else "")
