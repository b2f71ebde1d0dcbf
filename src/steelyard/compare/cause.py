"""Names the cause of the differences between two sides: the one factor that differs, or those whose effects are confounded."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from steelyard.compare.factors import (
    BY_CONDITION,
    BY_NAME,
    GROUPS,
    NATURES,
    ONLY_WITH_MEMORY_NODES,
    Group,
    Nature,
    find_nature,
    find_option_nature,
)
from steelyard.compare.matching import find_factors, is_same_by_default
from steelyard.compare.placement_names import name_placements
from steelyard.compare.side import Facts, Side
from steelyard.compare.surroundings import ABSENT, MPI, Difference, list_facts
from steelyard.model import Evaluation, Scalar
from steelyard.model.units import parse_size
from steelyard.model.words import find_words, in_words, joined, plural
from steelyard.statistics.results.identity import Case

Kind = Literal["none", "one", "confounded", "unknown"]
Texts = Mapping[tuple[str, str], Sequence[str]]  # (group, condition) → the texts of the runs of a side

NETWORKED = ("network.", "cluster.", "application.")  # groups whose benchmarks send messages
SIMILAR_MEMORY = 1.05  # kernels reserve up to some percent of it
OPTIONS = {"compiler": "--toolchain", "MPI": "--mpi"}


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor that differs. `a` and `b` are its texts on both sides, `conditions` all its conditions that differ.

    `option` is the option of `steelyard run` that gives side b the factor of a; "" if it is none of Steelyard's.
    """

    name: str
    group: Group
    a: str
    b: str
    conditions: tuple[Difference, ...]
    option: str = ""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """The factors that differ between two sides. A lone factor is the cause of their differences ("one").

    "unknown": the conditions of a side are not recorded. `remedy` says which run would separate confounded factors.
    """

    kind: Kind
    factors: tuple[Factor, ...]
    sentence: str
    remedy: str = ""


@dataclass(frozen=True)
class _Known:
    """A side with its conditions and its cases."""

    name: str
    facts: Sequence[Facts]
    cases: Sequence[Case]


def find_cause(
    a: Side, b: Side, common: Collection[str], cases: tuple[Sequence[Case], Sequence[Case]] | None = None
) -> Cause:
    """Returns the cause of differences in the benchmarks `common`. The conditions of a group are those of all its runs.

    `cases` are those of both sides whose parameters may differ (None: all).
    """
    if "imported" in (a.kind, b.kind):
        cases = ((), ())  # a tool prints only some of the parameters, and the pairs agree in these
    of_a, of_b = cases or tuple([c for run in side.runs for c in run.cases] for side in (a, b))
    return _find(
        _Known(a.name, [run.facts for run in a.runs], of_a), _Known(b.name, [run.facts for run in b.runs], of_b), common
    )


def find_cause_of_runs(a: Evaluation, b: Evaluation) -> Cause:
    """Returns the cause of differences between two runs, which the sentences call a and b."""
    common = {r.benchmark for r in a.results} & {r.benchmark for r in b.results}
    of_a, of_b = (_Known(name, [list_facts(e.run)], name_placements(e)) for name, e in (("a", a), ("b", b)))
    return _find(of_a, of_b, common)


def _find(a: _Known, b: _Known, common: Collection[str]) -> Cause:
    unknown = [side.name for side in (a, b) if not any(facts.get("machine") for facts in side.facts)]
    parts: dict[str, tuple[Nature, list[Difference]]] = {}
    for nature, difference in chain(_list_differing_conditions(a, b, common), _parameters(a.cases, b.cases, common)):
        parts.setdefault(nature.name, (nature, []))[1].append(difference)
    roots = {name: part for name, part in parts.items() if part[0].is_root and not parts.keys() & set(part[0].follows)}
    for nature, differences in (part for name, part in parts.items() if name not in roots):
        if parent := next((name for name in nature.follows if name in roots), None):
            roots[parent][1].extend(differences)
    places = {nature.name: place for place, nature in enumerate(NATURES)}
    ordered = sorted(roots.values(), key=lambda p: (GROUPS.index(p[0].group), places.get(p[0].name, len(places))))
    return _conclude(
        [_factor(*part) for part in ordered], {p[0].name for p in ordered if p[0].is_fixed}, (a, b), unknown
    )


# --------------------------------------------------------------------------- what differs


def _list_differing_conditions(a: _Known, b: _Known, common: Collection[str]) -> Iterator[tuple[Nature, Difference]]:
    of_a, of_b = _list_texts_of_conditions(a.facts), _list_texts_of_conditions(b.facts)
    networked = any(name.startswith(NETWORKED) for name in common)
    with_ranks = all(any("mpi" in c.parameters for c in side.cases if c.benchmark in common) for side in (a, b))
    one_node = all(side.get(("machine", "memory nodes"), ["1"]) == ["1"] for side in (of_a, of_b))
    yielded: set[str] = set()
    for key in of_a:
        group, condition = key
        if condition in yielded or key not in of_b or of_a[key] == of_b[key] or _alike(condition, of_a[key], of_b[key]):
            continue
        difference = Difference(group, condition, ", ".join(of_a[key]), ", ".join(of_b[key]))
        if condition == "kernel_command_line":
            yield from _options(difference)
            continue
        nature = _find_nature(group, condition, of_a[key], of_b[key])
        if nature is None or (nature.name == ONLY_WITH_MEMORY_NODES and one_node):
            continue
        if ("network" in f"{group} {condition}" and not networked) or (group == MPI and not with_ranks):
            continue
        yielded.add(condition)
        yield nature, difference


def _list_texts_of_conditions(runs: Sequence[Facts]) -> Texts:
    """Returns the different texts of each condition that all runs of a side have."""
    texts: dict[tuple[str, str], list[str]] = {}
    for facts in runs:
        for group, of_group in facts.items():
            for condition, text in of_group.items():
                texts.setdefault((group, condition), []).append(text)
    return {key: sorted(set(of)) for key, of in texts.items() if len(of) == len(runs) and ABSENT not in of}


def _alike(condition: str, a: Sequence[str], b: Sequence[str]) -> bool:
    if condition != "memory" or len(a) > 1 or len(b) > 1:
        return False
    try:
        sizes = sorted(parse_size(side[0]) for side in (a, b))
    except ValueError:  # "0 B": the size is unknown
        return True
    return sizes[1] <= sizes[0] * SIMILAR_MEMORY


def _find_nature(group: str, condition: str, a: Sequence[str], b: Sequence[str]) -> Nature | None:
    """Returns the factor of a condition. Some belong to another factor if only a number follows from the machine."""
    if group == "machine" and re.fullmatch(r"L\d", condition):  # "4 × 32 KiB"
        sizes = [{part.partition(" × ")[2] for text in side for part in text.split(", ")} for side in (a, b)]
        return BY_NAME["limits and instances" if sizes[0] == sizes[1] else "cache sizes"]
    if condition == "processors that may be used" and not any(" of " in text for text in (*a, *b)):
        return BY_NAME["limits and instances"]  # all of them on both sides
    return find_nature(group, condition)


def _options(command_lines: Difference) -> Iterator[tuple[Nature, Difference]]:
    """Yields the options of the kernel's command line that only one side has, except harmless ones."""
    of_a, of_b = (set(text.split()) for text in (command_lines.a, command_lines.b))
    for word in sorted(of_a ^ of_b):
        if nature := find_option_nature(word):
            texts = ("given", "absent") if word in of_a else ("absent", "given")
            yield nature, Difference(command_lines.group, f"kernel option {word}", *texts)


def _parameters(a: Sequence[Case], b: Sequence[Case], common: Collection[str]) -> Iterator[tuple[Nature, Difference]]:
    """Yields the parameters with one value in all cases of a benchmark on one side and another value on the other side."""
    differing: dict[str, tuple[Scalar | None, Scalar | None]] = {}
    for benchmark in sorted(common):
        of_a, of_b = ([case for case in cases if case.benchmark == benchmark] for cases in (a, b))
        if of_a and of_b:
            differing = {**find_factors(of_a, of_b), **differing}
    for name, both in differing.items():
        if is_same_by_default(name, *both):
            continue
        nature = BY_CONDITION.get(name) or Nature(name.replace("_", " "), "case", (name,))
        write = _write_value if name == nature.conditions[0] else in_words
        yield nature, Difference("case", name, *(write(name, value) for value in both))


def _write_value(name: str, value: Scalar | None) -> str:
    return "not given" if value is None else find_words(name, value) or f"{value}"


# --------------------------------------------------------------------------- in words


def _factor(nature: Nature, differences: Sequence[Difference]) -> Factor:
    lead = min(differences, key=lambda d: nature.conditions.index(d.name) if d.name in nature.conditions else 99)
    words = "" if lead.group == "case" or lead.name in nature.conditions[:1] else f"{lead.name.replace('_', ' ')} "
    option = OPTIONS.get(nature.name, "")
    if option:
        option = f"{option} '{lead.a}'" if "+" in lead.a else f"{option} {lead.a}"
    return Factor(name=nature.name, group=nature.group, a=f"{words}{lead.a}", b=f"{words}{lead.b}",
                  conditions=tuple(differences), option=option)  # fmt: skip


def _conclude(
    factors: Sequence[Factor], fixed: Collection[str], sides: tuple[_Known, _Known], unknown: Sequence[str]
) -> Cause:
    a, b = (side.name for side in sides)
    if unknown:
        sentence = f"The conditions of {joined(unknown)} are not recorded, so no cause of a difference can be named."
        return Cause(kind="unknown", factors=tuple(factors), sentence=sentence)
    if not factors:
        sentence = "No condition differs that matters for what both sides measured."
        return Cause(kind="none", factors=(), sentence=sentence)
    if len(factors) == 1:
        (f,) = factors
        verb = "are" if f.name.endswith("s") and " of " not in f.name else "is"
        sentence = f"The {f.name} {verb} the only condition that differs: {f.a} ({a}), {f.b} ({b})."
        return Cause(kind="one", factors=(f,), sentence=sentence)
    names = joined(f"the {f.name}" for f in factors)
    sentence = f"{plural(len(factors), 'condition')} differ, so their effects are confounded: {names}."
    return Cause(kind="confounded", factors=tuple(factors), sentence=sentence, remedy=_remedy(factors, fixed, a, b))


def _remedy(factors: Sequence[Factor], fixed: Collection[str], a: str, b: str) -> str:
    """Returns which runs would separate the factors: each run gives b one more condition of a."""
    changeable = sorted((f for f in factors if f.name not in fixed), key=lambda f: not f.option)
    rest = [f.name for f in factors if f.name in fixed]
    if not changeable:
        return f"They are parts of the machines, so no further run of {a} or {b} separates them."
    first = changeable[0]
    runs = len(changeable) - (0 if rest else 1)
    how = f" ({first.option})" if first.option else f" ({first.a})"
    if runs == 1:
        what = "them" if len(rest) < 2 else "its effect"
        sentence = f"A further run of {b} with the {first.name} of {a}{how} separates {what}."
    else:
        sentence = f"{runs} further runs of {b} separate them: each has one more condition of {a}, first the {first.name}{how}."
    fixed_names = joined(f"the {name}" for name in rest)
    further = f" No run separates {fixed_names}, because they are parts of the machines." if len(rest) > 1 else ""
    return sentence + further
