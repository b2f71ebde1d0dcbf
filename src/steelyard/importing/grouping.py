"""Divides what was read into runs: one for each system, as far as files, folders and names say which it is."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from steelyard.importing.collecting import ReadFile
from steelyard.importing.dates import read_date
from steelyard.importing.doubts import mark_repetitions
from steelyard.importing.file_places import Kind
from steelyard.importing.identity import ALL, Identity
from steelyard.measure.machine.hostlist import short_name
from steelyard.model import ForeignValue, Scalar
from steelyard.model.foreign import uses_several_nodes

DAY = 10  # letters of a date in ISO 8601
HOST, TOOL = "host", "tool"  # parameters of values that several hosts of a run have, or several tools
PASSES = "passes"  # parameter of the best of so many, where a run has several such numbers
_BEST = re.compile(r"best of (\d{1,9})")
_CONTAINER = re.compile(
    r"[0-9a-f]{12}"
)  # a container without a name of its own: on any host, another one at each start
_ADDRESS = re.compile(r"ip-\d|\d+\.\d|localhost")  # equal forms of such names say nothing about a system


@dataclass(slots=True, kw_only=True)
class Group:
    """The content of one run. `system` is "" if nothing names it, `host` if there is not exactly one.

    `started` is the first date and `last` the day of the last one, "" if unknown. `files` has the names by digest, `tools` the
    number of files by tool. `placed` files got the system, the host or the date from names. `repeated` counts the cases that
    several files have: their values count as repetitions.
    """

    system: str = ""
    host: str = ""
    started: str = ""
    last: str = ""
    values: list[ForeignValue] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    tools: Mapping[str, int] = field(default_factory=dict)
    placed: int = 0
    repeated: int = 0

    @property
    def date(self) -> str:
        """The day of all values; "" if it is unknown or there are several."""
        return self.last if self.started[:DAY] == self.last else ""

    @property
    def name(self) -> str:
        """The name of the system; without one, that of the host."""
        return self.system or self.host


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The values of a file that belong to one host and date."""

    file: ReadFile
    identity: Identity
    host: str
    values: Sequence[ForeignValue]
    cases: Sequence[int]  # one for each value: the same number for the same case
    rows: Sequence[int]  # the same for all metrics of a case
    started: str
    placed: bool


def group_files(
    files: Sequence[ReadFile],
    identities: Sequence[Identity],
    date: str = "",
    one_machine: bool = False,
    each: Literal["system", "host", "date"] = "system",
) -> list[Group]:
    """Returns the runs in the order of their systems, hosts and dates.

    `identities` are what the names of the files say. `date` is that of the files which state none. With `one_machine` all hosts
    lie in one run. `each`: one run for each system, or also for each of its hosts, or for each day.
    """
    pairs = zip(files, identities, strict=True)
    parts = [part for file, identity in pairs for part in _divide(file, identity, date)]
    systems = {} if one_machine or each == "host" else _name_systems({p.host for p in parts if not p.identity.system})
    together: dict[tuple[str, str], list[_Part]] = defaultdict(list)
    for part in parts:
        system = part.identity.system or systems.get(part.host, "")
        if each == "host" and not one_machine:
            system = "-".join(filter(None, (system, part.host)))
        together[system, part.started[:DAY] if each == "date" else ""].append(part)
    return [_gather(system, members) for (system, _), members in sorted(together.items())]


def list_hosts(files: Sequence[ReadFile]) -> set[str]:
    """Returns the hosts that the files state."""
    values = ((f, v) for f in files for place, v in enumerate(f.reading.values) if v.host or not place)
    stated = (value.host or file.reading.host for file, value in values)
    return {_name_host(host) for host in stated} - {""}


def _name_host(stated: str) -> str:
    """Returns the host without its domain; "" for the name of a container."""
    host = short_name(stated)
    return "" if _CONTAINER.fullmatch(host) else host


def _divide(file: ReadFile, identity: Identity, date: str) -> Iterator[_Part]:
    divided: dict[tuple[str, str], list[ForeignValue]] = {}
    for value in file.reading.values:
        divided.setdefault((value.host, value.started), []).append(value)
    for (own_host, own_started), values in divided.items():
        host = _name_host(own_host or file.reading.host)
        started = read_date(own_started or file.reading.started)
        yield _Part(
            file=file, identity=identity, host=host or identity.host, values=values,
            cases=[hash(value.case) for value in values],
            rows=[hash((v.benchmark, v.kernel, *sorted(v.parameters.items()))) for v in values],
            started=started or identity.date or date,
            placed=identity.system not in ("", file.reading.system)
            or bool((identity.host and not host) or (identity.date and not started)),
        )  # fmt: skip


def _name_systems(hosts: Iterable[str]) -> dict[str, str]:
    """Returns the name of the system of each host. Hosts whose names differ in numbers alone are nodes of one system."""
    alike: dict[str, list[str]] = defaultdict(list)
    for host in sorted(filter(None, hosts)):
        alike[host if _ADDRESS.match(host) else re.sub(r"\d+", "#", host)].append(host)
    return {
        host: members[0] if len(members) == 1 else f"{members[0]}-to-{members[-1]}"
        for members in alike.values()
        for host in members
    }


def _gather(system: str, parts: Sequence[_Part]) -> Group:
    days = sorted({part.started[:DAY] for part in parts} - {""})
    hosts = {part.host for part in parts}
    own = hosts.pop() if len(hosts) == 1 else ""
    group = Group(system=system if system != own else "", host=own)
    group.started = min((part.started for part in parts if part.started), default="")
    group.last = days[-1] if days else ""
    several, several_passes = _find_rows_of_several(parts), _find_several_passes(parts)
    several_conditions = _find_several_conditions(parts)
    count: Counter[tuple[object, ...]] = Counter()
    cases = list[tuple[object, ...]]()
    origins: dict[tuple[object, ...], set[str]] = defaultdict(set)
    tools: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        group.files |= {part.file.digest: part.file.name, **part.file.copies}
        group.placed += part.placed
        started = part.started if len(days) > 1 else ""
        passes = {kernel: n for kernel, n in _find_passes(part).items() if kernel in several_passes}
        for own_case, row, value in zip(part.cases, part.rows, part.values, strict=True):
            tools[value.tool].add(part.file.digest)
            conditions = several_conditions.get((value.benchmark, value.tool), ())
            more = _list_further_parameters(value, part, passes, several[row], conditions)
            case = (own_case, *more.items())
            group.values.append(_place(value, more, part.host, started, count[case]))
            origins[case].add(part.file.digest)
            count[case] += 1
            cases.append(case)
    mark_repetitions(group.values, cases)
    group.repeated = sum(len(digests) > 1 for digests in origins.values())
    group.tools = {tool: len(digests) for tool, digests in sorted(tools.items())}
    return group


def _place(value: ForeignValue, more: Mapping[str, Scalar], host: str, started: str, repetition: int) -> ForeignValue:
    if not more and (host, started, repetition) == (value.host, value.started, value.repetition):
        return value
    return replace(value, parameters={**value.parameters, **more}, host=host, started=started, repetition=repetition)


@dataclass(slots=True)
class _RowVariety:
    """Whether several hosts of a run have a row, or several tools."""

    host: bool = False
    tool: bool = False


def _find_rows_of_several(parts: Sequence[_Part]) -> dict[int, _RowVariety]:
    first: dict[int, tuple[str, str]] = {}
    found: dict[int, _RowVariety] = defaultdict(_RowVariety)
    for part in parts:
        for row, value in zip(part.rows, part.values, strict=True):
            host, tool = first.setdefault(row, (part.host, value.tool))
            found[row].host |= host != part.host
            found[row].tool |= tool != value.tool
    return found


def _find_several_conditions(parts: Sequence[_Part]) -> dict[Kind, list[str]]:
    """Returns by benchmark and tool the conditions that differ within a run: all values of a series then have them."""
    found: dict[Kind, list[Mapping[str, str]]] = defaultdict(list)
    for part in parts:
        for kind in {(value.benchmark, value.tool) for value in part.values}:
            found[kind].append(part.file.reading.conditions.get(kind[1], {}))
    names = {kind: sorted({name for own in stated for name in own}) for kind, stated in found.items()}
    return {
        kind: [name for name in names[kind] if len({own.get(name, "") for own in stated}) > 1]
        for kind, stated in found.items()
    }


def _find_passes(part: _Part) -> dict[tuple[str, str], int]:
    """Returns of how many passes the tool took the best one, by benchmark and kernel."""
    best = ((value, _BEST.fullmatch(value.statistic)) for value in part.values)
    return {(value.benchmark, value.kernel): int(match[1]) for value, match in best if match}


def _find_several_passes(parts: Sequence[_Part]) -> set[tuple[str, str]]:
    """Returns the benchmarks and kernels that ran with several numbers of passes: the best of more of them is better."""
    found: dict[tuple[str, str], int] = {}
    passes = [_find_passes(part) for part in parts]
    return {kernel for own in passes for kernel, n in own.items() if found.setdefault(kernel, n) != n}


def _list_further_parameters(
    value: ForeignValue,
    part: _Part,
    passes: Mapping[tuple[str, str], int],
    of_several: _RowVariety,
    several_conditions: Sequence[str],
) -> dict[str, Scalar]:
    """Returns what the place of the file says, and what the values of the run do not have in common otherwise.

    A job on several nodes is one of the system; its output may name any of them.
    """
    placed = part.identity.parameters
    more = {**placed.get(ALL, {}), **placed.get((value.benchmark, value.tool), {})}
    if part.host and of_several.host and not uses_several_nodes({**more, **value.parameters}):
        more[HOST] = part.host
    if of_several.tool:
        more[TOOL] = value.tool
    conditions = part.file.reading.conditions.get(value.tool, {})
    more |= {name: conditions[name] for name in several_conditions if name in conditions}
    if n := passes.get((value.benchmark, value.kernel)):
        more[PASSES] = n
    return {name: given for name, given in more.items() if name not in value.parameters}
