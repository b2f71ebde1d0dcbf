"""Divides what was read into runs: one for each machine and date, as far as the files say so."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.importing.collecting import ReadFile
from steelyard.importing.dates import read_date
from steelyard.machine.hostlist import short_name
from steelyard.model import ForeignValue

DEEPEST = 64  # folders of a file that are looked at
DAY = 10  # letters of a date in ISO 8601
FEWEST = 4  # folders whose numbers follow each other, from which on they count repetitions
# Words in names of folders that hold repetitions of the same measurement.
NEUTRAL = {
    "run", "rep", "repeat", "repetition", "iter", "iteration", "trial", "try", "pass", "sample", "job", "jobid", "slurm", "out",
    "output", "result", "log",
}  # fmt: skip
_DATED = re.compile(r"\d{4}[-._]\d\d[-._]\d\d(\D.*)?|\d{8}[-_T]\d{6}")  # a folder
# "node02" is the name of a node; "node2" may mean two nodes.
_NODE = re.compile(r"(?:node|nid|cn|compute|host)[-_]?(?:0\d+|\d{4,})", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Group:
    """The content of one run. `date` is "" if it is unknown; `label` are the folders that keep it apart from another group.

    `files` has the names by digest, `tools` the number of files by tool. `placed` files got the host or the date from the
    name of a folder. `repeated` counts the cases that several files have: their values count as repetitions.
    """

    host: str
    date: str
    label: str = ""
    started: str = ""
    values: list[ForeignValue] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    tools: Mapping[str, int] = field(default_factory=dict)
    placed: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The values of a file that belong to one host and date."""

    file: ReadFile
    host: str
    values: Sequence[ForeignValue]
    cases: Sequence[int]  # one for each value: the same number for the same case
    started: str
    placed: bool
    folders: Sequence[str]  # without those that name the host or the date


def group_files(
    files: Sequence[ReadFile], date: str = "", one_machine: bool = False, hosts: Iterable[str] = ()
) -> list[Group]:
    """Returns the runs in the order of hosts and dates.

    `date` is that of the files which state none. With `one_machine` all hosts lie in one run, and each value names its own.
    `hosts` are names of hosts that a folder may have.
    """
    stated = {short_name(v.host or f.reading.host) for f in files for v in (*f.reading.values[:1], *_hosted(f))} - {""}
    named = {*stated, *hosts}
    parts: dict[tuple[str, str], list[_Part]] = {}
    for file in files:
        near_host = _name_in(_folders(file), lambda n: n if n in named or _NODE.fullmatch(n) else "")
        near_date = _name_in(_folders(file), _dated_folder)
        divided: dict[tuple[str, str], list[ForeignValue]] = {}
        for value in file.reading.values:
            divided.setdefault((value.host, value.started), []).append(value)
        for (own_host, own_started), values in divided.items():
            stated_host = short_name(own_host or file.reading.host)
            stated_date = read_date(own_started or file.reading.started)
            host, started = stated_host or near_host, stated_date or near_date or date
            placed = bool((near_host and not stated_host) or (near_date and not stated_date))
            part = _Part(
                file=file, host=host, values=values, cases=[hash(value.case) for value in values], started=started, placed=placed,
                folders=[name for name in _folders(file) if name != host and not _dated_folder(name)],
            )  # fmt: skip
            parts.setdefault(("" if one_machine else host, started[:DAY]), []).append(part)
    return [
        _gather(host, day, label, members)
        for (host, day), together in sorted(parts.items())
        for label, members in _split(together)
    ]


def _dated_folder(name: str) -> str:
    return read_date(name)[:DAY] if _DATED.fullmatch(name) else ""


def _hosted(file: ReadFile) -> Iterator[ForeignValue]:
    return (value for value in file.reading.values if value.host)


def _folders(file: ReadFile) -> list[str]:
    return file.name.split("/")[:-1][:DEEPEST]


def _name_in(folders: Iterable[str], read_name: Callable[[str], str]) -> str:
    """Returns what the names of the folders say, "" if they say nothing or two different things."""
    facts = {fact for fact in map(read_name, folders) if fact}
    return facts.pop() if len(facts) == 1 else ""


# --------------------------------------------------------------------------- folders of different conditions


def _split(parts: Sequence[_Part]) -> Iterator[tuple[str, Sequence[_Part]]]:
    """Yields the parts that may lie in one run, with the names of their folders.

    Two folders that have the same case, such as ib/ and tcp/, hold measurements under different conditions. They become two runs,
    unless their names only count repetitions, such as run1/ and run2/.
    """
    pending = [("", parts, 0)]
    while pending:
        label, members, level = pending.pop(0)
        folders: dict[str, list[_Part]] = {}
        for part in members:
            folders.setdefault((part.folders[level:] or [""])[0], []).append(part)
        if all(len(part.folders) <= level for part in members):
            yield label, members
        elif len(folders) > 1 and not counts_repetitions(folders) and _collide(folders.values()):
            pending += [(f"{label}-{name}".strip("-"), inside, level + 1) for name, inside in sorted(folders.items())]
        else:
            pending.append((label, members, level + 1))


def _collide(groups: Collection[Sequence[_Part]]) -> bool:
    """Returns whether two groups have the same case."""
    seen: set[int] = set()
    for members in groups:
        cases = set[int]().union(*(part.cases for part in members))
        if seen & cases:
            return True
        seen |= cases
    return False


def counts_repetitions(names: Iterable[str]) -> bool:
    """Returns whether the names differ in a number that only counts: run1 and run2, 001 and 002, x0 to x3; not gcc9 and gcc12."""
    given = [name.casefold() for name in names]
    if len({re.sub(r"\d+", "#", name) for name in given}) > 1:
        return False
    if all(word in NEUTRAL or word.removesuffix("s") in NEUTRAL for word in re.findall(r"[^\W\d_]+", given[0])):
        return True
    last = [(re.findall(r"\d+", name) or [""])[-1][:18] for name in given]
    numbers = sorted(int(digits or 0) for digits in last)
    padded = any(digits.startswith("0") and len(digits) > 1 for digits in last)
    return padded or (len(numbers) >= FEWEST and numbers == list(range(numbers[0], numbers[0] + len(numbers))))


def _gather(host: str, date: str, label: str, parts: Sequence[_Part]) -> Group:
    group = Group(host=host, date=date, label=label, started=min(part.started for part in parts))
    count: Counter[tuple[int, str]] = Counter()
    origins: dict[int, str] = {}
    several: set[int] = set()
    tools: dict[str, set[str]] = {}
    for part in parts:
        group.files[part.file.digest] = part.file.name
        group.placed += part.placed
        for case, value in zip(part.cases, part.values, strict=True):
            tools.setdefault(value.tool, set()).add(part.file.digest)
            if origins.setdefault(case, part.file.digest) != part.file.digest:
                several.add(case)
            place = (part.host, count[case, part.host])
            same = place == (value.host, value.repetition)
            group.values.append(value if same else replace(value, host=place[0], repetition=place[1]))
            count[case, part.host] += 1
    group.repeated = len(several)
    group.tools = {tool: len(digests) for tool, digests in sorted(tools.items())}
    return group
