"""Rule: how the same cores are best shared out between ranks and their threads, in programs that ran in several ways"""

from dataclasses import dataclass

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.alternatives import SMALLEST, Rivals, compared
from steelyard.statistics.results.identity import Identity, identity
from steelyard.units import percent, quantity
from steelyard.words import plural

NAMED = 12
# What a cut of the cores settles; of programs without ranks there is neither MPI nor its ways.
CUT = ("model", "threads", "ranks", "ranks_per_node", "pinning", "placement", "start", "phases")
OF_RANKS = ("mpi", "transport", "mapping")


@dataclass(frozen=True)
class Choice:
    """A program on so many cores: the fastest cut, and each other one beside it."""

    fastest: Result
    cores: int
    others: tuple[Rivals, ...]

    @property
    def worse(self) -> tuple[Rivals, ...]:
        """The cuts that surely take longer, the worst first."""
        return tuple(sorted((o for o in self.others if o.seen.call == "SLOWER"), key=lambda o: -o.seen.ratio))


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding for all programs; more workers than processors, and runs that are too short, are left out."""
    found = _choices(evaluation)
    if not found:
        return []
    matter = sorted((c for c in found if c.worse), key=lambda c: -c.worse[0].seen.ratio)
    same = all(o.seen.call == "SAME" for c in found for o in c.others)
    caution = cases.caution(*(r for c in found for o in c.others for r in (o.first, o.second)))
    reported = [*matter, *(c for c in found if not c.worse)]
    return [
        Finding(
            "threads_or_ranks",
            "good" if same else "notice",
            f"{_sum(matter, found, same)}{caution}",
            tuple(_line(c) for c in reported[:NAMED]),
            _cause(bool(matter), same),
            _remedy(matter, same),
            effect=matter[0].worse[0].seen.ratio if matter else None,
            reach="program",
        )
    ]


def _choices(evaluation: Evaluation) -> list[Choice]:
    groups = [sorted(members, key=_seconds) for members in _alike(evaluation)]
    rivals = iter(compared([(first, other) for first, *rest in groups for other in rest]))
    return [Choice(first, applications.workers(first), tuple(next(rivals) for _ in rest)) for first, *rest in groups]


def _alike(evaluation: Evaluation) -> list[list[Result]]:
    """Results of the same problem on as many cores of as many nodes, of each cut the fastest; two cuts at least."""
    usable = [r for r in applications.of_all(evaluation.results) if _usable(r, evaluation)]
    groups: dict[tuple[Identity, int, int], dict[tuple[int, int], Result]] = {}
    for result in (r for r in usable if applications.parallel(r)):
        _add(groups.setdefault(_key(result), {}), result)
    alone = [r for r in usable if not applications.parallel(r)]
    for members in groups.values():
        one = next(iter(members.values()))
        key = _key(one, *OF_RANKS)
        for result in alone:
            if _key(result, *OF_RANKS) == key:
                _add(members, result)
    return [list(members.values()) for members in groups.values() if len(members) > 1]


def _add(members: dict[tuple[int, int], Result], result: Result) -> None:
    """Of one cut the fastest counts: it may have been placed in several ways."""
    cut = _cut(result)
    if cut not in members or _seconds(result) < _seconds(members[cut]):
        members[cut] = result


def _usable(result: Result, evaluation: Evaluation) -> bool:
    several, model = applications.workers(result) > 1, result.parameters.get("model", "mpi")
    on_each = applications.workers(result) / _nodes(result)
    crowded = messages.oversubscribed(result) or on_each > len(evaluation.run.machine.cpus)
    return several and not crowded and model in ("threads", "mpi") and applications.timed(result)


def _key(result: Result, *but: str) -> tuple[Identity, int, int]:
    return identity(result, *CUT, *but), applications.workers(result), _nodes(result)


def _nodes(result: Result) -> int:
    return len(set(messages.hosts_of(result.records))) or 1


def _cut(result: Result) -> tuple[int, int]:
    """Ranks, 0 where there are none, and the threads of each."""
    if not applications.parallel(result):
        return 0, applications.workers(result)
    ranks = int(cases.number(result, "ranks") or 1)
    return ranks, applications.workers(result) // ranks


def _seconds(result: Result) -> float:
    return messages.operation(result)


def _named(result: Result) -> str:
    ranks, threads = _cut(result)
    if not ranks:
        return f"{plural(threads, 'thread')} without ranks"
    return plural(ranks, "rank") if threads == 1 else f"{plural(ranks, 'rank')} of {plural(threads, 'thread')}"


def _program(choice: Choice) -> str:
    words = applications.named(choice.fastest, (*CUT, *OF_RANKS))
    program = applications.program(choice.fastest)
    return f"{program}{f' ({words})' if words else ''} on {plural(choice.cores, 'core')}"


def _sum(matter: list[Choice], found: list[Choice], same: bool) -> str:
    if matter:
        first = matter[0]
        worst = first.worse[0]
        many = f"in {len(matter)} of {len(found)} cases" if len(found) > 1 else "here"
        return (
            f"How cores are shared out between ranks and threads matters {many}: {_program(first)} is fastest with "
            f"{_named(first.fastest)}; {_named(worst.second)} take {worst.longer} times as long."
        )
    if same:
        many = f"any of {len(found)} cases" if len(found) > 1 else _program(found[0])
        return f"Ranks, threads or both on the same cores do not differ by more than {percent(SMALLEST)} in {many}."
    return "Whether ranks or threads are the better use of the same cores cannot be determined: the intervals are too wide."


def _line(choice: Choice) -> str:
    others = [f"{_named(o.second)}: {o.longer} times as long{_call(o)}" for o in choice.others]
    first = f"{_named(choice.fastest)}: {quantity(_seconds(choice.fastest), 's')}"
    return f"{_program(choice)}: {'; '.join([first, *others])}."


def _call(rivals: Rivals) -> str:
    return {"SLOWER": "", "SAME": ", no difference"}.get(rivals.seen.call, ", not distinguished")


def _cause(matter: bool, same: bool) -> str:
    if matter:
        return (
            "Ranks copy what others need and wait for messages, but each has its memory near; threads share memory, but meet at "
            "barriers, and what another thread wrote comes from its cache or from the other socket."
        )
    if same:
        return "Computing prevails: neither messages nor barriers take a share of the time that shows."
    return "The launches differ among themselves by more than the cuts do, or there were too few of them."


def _remedy(matter: list[Choice], same: bool) -> str:
    if matter:
        return f"Start such a program with {_named(matter[0].fastest)} on {plural(matter[0].cores, 'core')}."
    return "" if same else "Take more launches: steelyard run --preset standard, or full."
