"""Archives of results as sites lay them out, with known experiments: names in random orders, with random separators."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from steelyard.importing.collecting import ReadFile
from steelyard.importing.reading import Reading
from steelyard.importing.values import make
from steelyard.model import Scalar

PRIVATE = (
    "alfa",
    "brutus",
    "condor",
    "delphi",
    "euklid",
    "ferro",
    "gauss",
    "hilbert",
    "SystemA",
    "SystemB",
    "vm-small",
    "vm-large",
)
WORDS = ("cyclic", "block", "pinned", "free", "thp", "nothp", "strong", "weak", "ucx", "verbs", "hbm", "ddr")
COMPILERS = ("gcc-9.3", "gcc-12.1", "intel-2019", "cce-9.0", "clang15", "aocc-3.2")
LIBRARIES = ("openmpi-4.1.5", "mpich-4.0", "impi-2021", "mvapich2-2.3")
POWERS = (1, 2, 4, 8, 16, 32, 64)
DATES: Sequence[Callable[[date], str]] = (
    lambda day: day.isoformat(), lambda day: f"{day:%Y%m%d}", lambda day: f"{day:%d%b%Y}",
)  # fmt: skip
COUNTERS: Sequence[Callable[[int], str]] = (
    lambda n: f"run{n}", lambda n: f"rep{n}", lambda n: f"{n:03}", lambda n: f"iter{n + 1}",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A file of an archive, its experiment, and the meaning of the parts that differ in the archive."""

    file: ReadFile
    experiment: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class Archive:
    files: Sequence[Planted]
    meanings: frozenset[str]  # of the parts that differ


def make_file(name: str, number: int) -> ReadFile:
    value = make("memory.stream", "triad", "bandwidth", 10 + number, "GB/s", "one run", {"threads": 2})
    return ReadFile(
        name=name, digest=name, reading=Reading(values=(replace(value, tool="STREAM", file=name),), tools=("STREAM",))
    )


def plant(chance: random.Random) -> Archive:
    """Returns an archive of up to three parts that tell experiments apart, and up to two that do not."""
    axes: dict[str, list[Scalar]] = {
        "nodes": chance.sample(POWERS, 3), "cores": chance.sample((4, 8, 16, 24, 28, 36, 48), 2),
        "compiler": chance.sample(COMPILERS, 2), "MPI": chance.sample(LIBRARIES, 2), "word": chance.sample(WORDS, 2),
        "setting": chance.choice((("5M", "50M", "500M"), ("numa0", "numa1", "numa2"), ("O1", "O2", "O3"), ("4x32", "8x16"))),
    }  # fmt: skip
    chosen = {name: axes[name] for name in chance.sample([*axes], chance.randint(1, 3))}
    systems = chance.sample(PRIVATE, chance.choice((0, 0, 2, 3)))
    repetitions, how = chance.choice((1, 1, 3)), chance.choice(("counter", "date", "job"))
    template = _Template(chance, [*chosen], bool(systems), how if repetitions > 1 else "")
    files: list[Planted] = []
    experiments: list[dict[str, Scalar]] = [{}]
    for name, values in chosen.items():
        experiments = [{**known, name: value} for known in experiments for value in values]
    for system in systems or [""]:
        for experiment in experiments:
            if chance.random() < 0.15 and len(files) > 1:
                continue  # an archive is seldom complete
            for repetition in range(repetitions):
                name = template.write(system, experiment, repetition, len(files))
                known = tuple(sorted({**experiment, "system": system}.items()))
                files.append(Planted(make_file(name, len(files)), known))
    differ = {
        name for name in {*chosen, "system"} - {"setting"} if len({dict(file.experiment)[name] for file in files}) > 1
    }
    return Archive(files, frozenset({*differ, *([how] if repetitions > 1 else [])}))


class _Template:
    """How an archive writes its names: each part in a folder or in the name, always at the same place."""

    def __init__(self, chance: random.Random, parts: Sequence[str], has_systems: bool, repeated: str) -> None:
        self._separator = chance.choice("_-.")
        self._style = {part: chance.randint(0, 3) for part in ("nodes", "cores")}
        self._date, self._counter = chance.choice(DATES), chance.choice(COUNTERS)
        self._begin, self._repeated = date(2018, 1, 1) + timedelta(chance.randint(0, 2000)), repeated
        self._job = chance.randint(100_000, 9_000_000)
        own = [*parts, *([repeated] if repeated else [])]
        chance.shuffle(own)
        deep = chance.randint(0, 2)
        self._folders = [*(["system"] if has_systems else []), *own[:deep]]
        chance.shuffle(self._folders)
        self._name = own[deep:]
        self._ending, self._root = (
            chance.choice((".out", ".txt", ".log", "")),
            chance.choice(("", "results/", "a/b/logs/")),
        )
        self._tool = chance.choice(("stream", "triad", "bench"))

    def write(self, system: str, experiment: dict[str, Scalar], repetition: int, number: int) -> str:
        def part(name: str) -> str:
            if name == "system":
                return system
            if name == "counter":
                return self._counter(repetition)
            if name == "date":
                return self._date(self._begin + timedelta(7 * repetition))
            if name == "job":
                return str(self._job + 7 * number + 1)
            value = experiment[name]
            if name not in self._style:
                return str(value)
            return (f"{value}{name}", f"{name}{value}", f"{value}{name[0]}", f"{name}_{value}")[self._style[name]]

        folders = "".join(f"{part(name)}/" for name in self._folders)
        name = self._separator.join([self._tool, *map(part, self._name)])
        return f"{self._root}{folders}{name}{self._ending}"
