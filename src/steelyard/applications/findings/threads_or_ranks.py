"""Rule: finds the fastest division of the same cores into ranks and threads."""

from dataclasses import dataclass

from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.alternatives import SMALLEST, Rivals, compare_rivals
from steelyard.statistics.results.identity import Identity, identity

NAMED = 12
# The parameters that a division of the cores sets. Programs without ranks have no MPI parameters.
CUT = ("model", "threads", "ranks", "ranks_per_node", "pinning", "placement", "start", "phases")
OF_RANKS = ("mpi", "transport", "mapping")


@dataclass(frozen=True)
class Choice:
    """A program on a number of cores: the fastest division, and the others compared with it."""

    fastest: Result
    cores: int
    others: tuple[Rivals, ...]

    @property
    def worse(self) -> tuple[Rivals, ...]:
        """Returns the divisions that certainly take longer, the slowest first."""
        return tuple(
            sorted((o for o in self.others if o.comparison.call == "SLOWER"), key=lambda o: -o.comparison.ratio)
        )


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs, without oversubscribed results and without runs that are too short."""
    choices = _list_choices(evaluation)
    if not choices:
        return []
    matter = sorted((c for c in choices if c.worse), key=lambda c: -c.worse[0].comparison.ratio)
    same = all(o.comparison.call == "SAME" for c in choices for o in c.others)
    caution = cases.caution(*(r for c in choices for o in c.others for r in (o.first, o.second)))
    ordered = [*matter, *(c for c in choices if not c.worse)]
    lines = tuple(_describe_choice(c) for c in ordered[:NAMED])
    if not matter and not same:
        results = [r for c in choices for o in c.others for r in (o.first, o.second)]
        again = measure_again(evaluation, cases.doubt(*results), *dict.fromkeys(r.benchmark for r in results))
        question = "Steelyard cannot decide which division of the same cores into ranks and threads is fastest."
        return [undecided("threads_or_ranks", question, lines, UNCERTAIN, again)]
    return [
        Finding(
            "threads_or_ranks",
            "notice" if matter else "good",
            f"{_claim(matter, choices)}{caution}",
            lines,
            _explain_cause(bool(matter)),
            _suggest_remedy(matter),
            effect=matter[0].worse[0].comparison.ratio if matter else None,
            reach="program",
        )
    ]


def _list_choices(evaluation: Evaluation) -> list[Choice]:
    groups = [sorted(members, key=_seconds) for members in _group_same_problems(evaluation)]
    rivals = iter(compare_rivals([(first, other) for first, *rest in groups for other in rest]))
    return [Choice(first, applications.workers(first), tuple(next(rivals) for _ in rest)) for first, *rest in groups]


def _group_same_problems(evaluation: Evaluation) -> list[list[Result]]:
    """Groups results of the same problem, cores and nodes: the fastest of each division, at least two divisions."""
    usable = [r for r in applications.select_programs(evaluation.results) if _is_usable(r, evaluation)]
    groups: dict[tuple[Identity, int, int], dict[tuple[int, int], Result]] = {}
    for result in (r for r in usable if applications.is_parallel(r)):
        _add(groups.setdefault(_identify_problem(result), {}), result)
    alone = [r for r in usable if not applications.is_parallel(r)]
    for members in groups.values():
        one = next(iter(members.values()))
        key = _identify_problem(one, *OF_RANKS)
        for result in alone:
            if _identify_problem(result, *OF_RANKS) == key:
                _add(members, result)
    return [list(members.values()) for members in groups.values() if len(members) > 1]


def _add(members: dict[tuple[int, int], Result], result: Result) -> None:
    """Adds the result if it is the fastest of its division, which may have several placements."""
    cut = _cut(result)
    if cut not in members or _seconds(result) < _seconds(members[cut]):
        members[cut] = result


def _is_usable(result: Result, evaluation: Evaluation) -> bool:
    several, model = applications.workers(result) > 1, result.parameters.get("model", "mpi")
    on_each = applications.workers(result) / _count_nodes(result)
    crowded = messages.oversubscribed(result) or on_each > len(evaluation.run.machine.cpus)
    return several and not crowded and model in ("threads", "mpi") and applications.timed(result)


def _identify_problem(result: Result, *but: str) -> tuple[Identity, int, int]:
    return identity(result, *CUT, *but), applications.workers(result), _count_nodes(result)


def _count_nodes(result: Result) -> int:
    return len(set(messages.hosts_of(result.attempts))) or 1


def _cut(result: Result) -> tuple[int, int]:
    """Returns the number of ranks (0: none) and of the threads of each."""
    if not applications.is_parallel(result):
        return 0, applications.workers(result)
    ranks = int(cases.number(result, "ranks") or 1)
    return ranks, applications.workers(result) // ranks


def _seconds(result: Result) -> float:
    return messages.operation(result)


def _describe_division(result: Result) -> str:
    ranks, threads = _cut(result)
    if not ranks:
        return f"{plural(threads, 'thread')} without ranks"
    return plural(ranks, "rank") if threads == 1 else f"{plural(ranks, 'rank')} of {plural(threads, 'thread')}"


def _name_program(choice: Choice) -> str:
    words = applications.describe_parameters(choice.fastest, (*CUT, *OF_RANKS))
    program = applications.program(choice.fastest)
    return f"{program}{f' ({words})' if words else ''} on {plural(choice.cores, 'core')}"


def _claim(matter: list[Choice], choices: list[Choice]) -> str:
    if matter:
        first = matter[0]
        worst = first.worse[0]
        many = f"in {len(matter)} of {len(choices)} cases. " if len(choices) > 1 else ""
        return (
            f"{many and f'The division of the cores into ranks and threads matters {many}'}{_name_program(first)} is fastest "
            f"with {_describe_division(first.fastest)}; with {_describe_division(worst.second)} it takes {worst.longer} "
            "times as long."
        )
    many = f"any of {len(choices)} cases" if len(choices) > 1 else _name_program(choices[0])
    return (
        f"Divisions of the same cores into ranks and threads do not differ by more than {percent(SMALLEST)} in {many}."
    )


def _describe_choice(choice: Choice) -> str:
    others = [f"{_describe_division(o.second)}: {o.longer} times as long{_call(o)}" for o in choice.others]
    first = f"{_describe_division(choice.fastest)}: {quantity(_seconds(choice.fastest), 's')}"
    return f"{_name_program(choice)}: {'; '.join([first, *others])}."


def _call(rivals: Rivals) -> str:
    return {"SLOWER": "", "SAME": " (no difference)"}.get(rivals.comparison.call, " (not decided)")


def _explain_cause(matter: bool) -> str:
    if matter:
        return (
            "Ranks copy data for other ranks and wait for messages, but each has its memory nearby. Threads share "
            "memory, but wait "
            "at barriers and read data from the caches of other cores or from the other socket."
        )
    return "The programs mostly compute: messages and barriers take only a small part of the time."


def _suggest_remedy(matter: list[Choice]) -> str:
    if matter:
        return f"Start this program with {_describe_division(matter[0].fastest)} on {plural(matter[0].cores, 'core')}."
    return ""
