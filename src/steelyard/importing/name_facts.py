"""What the name of a file or folder states: systems, dates, jobs, compilers, MPI libraries, numbers with a unit, and words."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from steelyard.importing.dates import FOREIGN_MONTHS, read_date_of_name
from steelyard.model import Scalar

SYSTEMS = Path(__file__).with_name("systems.txt")
# Meanings of a fact that say when or where something was measured, not what.
BESIDE = ("date", "job", "host")
SETTING = "setting"  # a number that counts settings, not repetitions
UNTYPED = ("word", "number")
# Words in names that hold repetitions of the same measurement.
NEUTRAL = {
    "run", "rep", "repeat", "repetition", "iter", "iteration", "trial", "try", "pass", "sample", "job", "jobid", "slurm", "out",
    "output", "result", "log", "attempt", "measurement", "round", "lauf", "durchlauf", "messung", "versuch", "wiederholung",
    "essai", "mesure", "passage",
}  # fmt: skip
COUNTED = {*NEUTRAL, "no", "nr"}  # words before a number that only counts
OUTPUTS = {"out", "output", "result", "log"}  # such words, before which any number may stand
FEWEST = 3  # numbers that follow each other, from which on they count repetitions
LONGEST = 255  # letters of a name, as most file systems allow
ODD = 32  # a count of nodes or threads is a power of two times at most this, or a multiple of ten
JOB = 5  # digits of the number of a job, at least
# Words for conditions of a measurement: a folder of such a name is no system.
CONDITIONS = {
    "ib", "tcp", "eth", "ethernet", "shm", "sm", "vader", "verbs", "ofi", "ucx", "psm", "efa", "roce", "rdma", "opa",
    "infiniband", "thp", "hugepages", "hbm", "ddr", "mcdram", "dram", "flat", "cache", "quad", "snc", "numa", "swap",
    "cyclic", "block", "scatter", "compact", "close", "spread", "packed", "pinned", "unpinned", "bind", "bound", "unbound",
    "free", "bycore", "bynode", "bysocket", "strong", "weak", "single", "double", "float", "mixed", "debug", "release",
    "opt", "base", "peak", "tuned", "baseline", "before", "after", "old", "new", "default", "cpu", "gpu", "omp", "openmp",
    "mpi", "hybrid", "cuda", "hip", "sycl", "opencl", "openacc", "serial", "threads", "smt", "ht", "turbo", "boost", "ecc",
    "read", "write", "random", "sequential", "hot", "cold", "warm", "intra", "inter",
}  # fmt: skip
SIZED = {  # words before a number that states a size, a place or a setting, and counts no repetitions
    "scale", "size", "level", "grid", "order", "case", "test", "problem", "config", "version", "n", "np", "p", "t", "v", "k",
    "l", "c", "d", "g", "m", "q", "w", "o", "opt",
    "cfg", "conf", "exp", "experiment", "setup", "variant", "input", "mode", "scenario", "alg", "algo", "method",
    "numa", "mem", "memory", "domain", "die", "chip", "dev", "device", "rack", "blade", "port", "channel", "dimm", "bank", "nic",
    "hca", "mlx", "gpu", "core", "cpu", "socket", "thread", "rank", "hop", "depth", "block", "batch", "tile", "queue", "qd", "bs",
    "system", "sys", "machine", "cluster", "platform", "host", "site", "arch", "server", "partition", "vm", "instance", "node",
}  # fmt: skip
UNITS = {
    "node": "nodes", "rank": "ranks", "proc": "ranks", "process": "ranks", "processe": "ranks", "task": "ranks", "pe": "ranks",
    "np": "ranks", "mpi": "ranks", "core": "cores", "cpu": "cores", "thread": "threads", "thr": "threads", "omp": "threads",
    "gpu": "gpus", "ppn": "ranks_per_node", "tpn": "ranks_per_node", "socket": "sockets", "smt": "threads_per_core",
    "tpc": "threads_per_core", "ht": "threads_per_core", "cpn": "cores_per_node", "knoten": "nodes", "noeud": "nodes",
    "kern": "cores", "kerne": "cores", "coeur": "cores", "prozess": "ranks", "prozesse": "ranks", "processu": "ranks",
    "faeden": "threads", "fil": "threads",
}  # fmt: skip
COUNTS = frozenset(UNITS.values())
_LETTERS = {"n": "nodes", "c": "cores", "p": "ranks", "r": "ranks", "t": "threads"}  # directly behind a number: 16n
_UNIT = (
    r"n?(?:nodes?|ranks?|procs?|tasks?|cores?|cpus?|threads?|gpus?|sockets?)|process(?:es)?|pes?|np|mpi|thr|omp|ppn|tpn"
    r"|smt|tpc|ht|cpn|knoten|noeuds?|kerne?|coeurs?|prozesse?|processus|faeden|fils?"
)
_COMPILER = r"gcc|gnu|icc|icx|ifort|ifx|intel|oneapi|cce|cray|crayclang|clang|llvm|aocc|arm|armclang|pgi|nvhpc|nag|xl|fcc|fujitsu"
_ALONE = r"gcc|gnu|icc|icx|ifort|ifx|cce|crayclang|clang|llvm|aocc|armclang|pgi|nvhpc"  # words that mean nothing else
_MPI = r"open-?mpi|ompi|mpich|mvapich2?|impi|intel-?mpi|cray-?mpich|hpcx|spectrum-?mpi|mpt"
_VERSION = rf"v?\d{{1,5}}(?!\d)(?:\.(?:0|[1-9]\d{{0,2}})(?!\d))*(?![-_]?(?:{_UNIT})(?![a-z0-9]))"
MONTH = rf"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|{'|'.join(FOREIGN_MONTHS)})[a-z]*"
_TIME = r"(?:[-_T.@ ]{0,2}(?:[01]\d|2[0-3])[-_.:h]?[0-5]\d(?:[-_.:m]?[0-5]\d)?[sz]?(?:\+\d{4})?)?"
_WEEK = r"(?:kw|cw|week|w)[-_]?[0-5]\d"
_DAY = r"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d|[0-3]\d[-_.][01]\d[-_.](?:19|20)\d\d"
# The number of a job may look like a date: 19610602569728.
_YEAR = r"(?:199\d|20\d\d)"
_DATE = "|".join(
    (
        rf"{_YEAR}[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01]){_TIME}",
        rf"\d\d?[-_. ]?{MONTH}[-_. ]?(?:19|20)\d\d{_TIME}",
        rf"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[-_. ]?)?{MONTH}[-_. ]?\d\d?[-_. ]?(?:19|20)\d\d{_TIME}",
        rf"[0-3]\d[-_.][01]\d[-_.](?:19|20)\d\d{_TIME}",
        rf"[0-3]?\d[-_]?{MONTH}[-_]?\d\d",
        rf"(?:19|20)\d\d[-_.]{MONTH}[-_.]\d\d?",
        r"1\d{9}(?:\.\d+)?",
        r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-_T](?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?",
        rf"(?:19|20)\d\d[-_]?{_WEEK}|{_WEEK}[-_](?:19|20)\d\d",
    )
)
_BEGIN, _END = r"(?<![a-z0-9])", r"(?![a-z0-9])"
_TYPED = re.compile(
    "|".join(
        f"{_BEGIN}(?:{form}){_END}"
        for form in (
            rf"(?P<date>{_DATE})",
            r"(?P<job>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:slurm|job|jobid|pbs|lsf|o|e)[-_.]?\d{4,})",
            rf"(?P<mpi>(?:{_MPI})(?:[-_]?{_VERSION})?)",
            rf"(?P<compiler>prgenv-[a-z]+|(?:{_COMPILER})[-_]?{_VERSION}|{_ALONE})",
            r"(?P<host>(?:node|nid|cn|compute|host)[-_]?(?:0\d+|\d{4,})|gpu0\d\d+"  # node02 is the name of a node
            r"|ip(?:-\d{1,3}){4}|[a-z]+\d*-(?:dy|st)-[a-z0-9]+-\d+)",  # names that cloud services give
            rf"(?P<node>node[-_]?\d+)(?![-_]?(?:{_UNIT}))",  # node2 may mean two nodes
            rf"(?P<before>(?!mpi)(?:{_UNIT}))[-_=]?(?!{_DAY})(?P<counted>\d{{1,6}})",  # more digits are a date or a job
            rf"(?!(?<=[a-z][-_])\d+[-_](?:{_UNIT})[-_](?!{_DAY})\d{{1,6}}(?!\d))(?P<count>\d+)(?:(?:(?<!\d{{5}})[-_])?(?P<unit>{_UNIT})|(?P<letter>[ncprt]))",
            r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}",  # of a commit
            r"(?P<product>\d+(?:x\d+)+)",  # of a grid, or of nodes and the ranks of each
            r"(?P<dotted>(?:0|[1-9]\d{0,3})(?:\.(?:0|[1-9]\d{0,3})(?!\d))+)",
            r"(?P<quantity>\d+(?:\.\d+)?[kmgt]?(?:i?b|hz|w|v|s)?)(?<=[a-z])",
            r"(?P<named>[a-z]{2,})\d{5,}",  # the number of a job stands alone
            r"\((?P<copy>\d{1,3})\)|(?P<turn>\d{1,3})[-_]?of[-_]?\d{1,3}",
            r"(?P<labelled>\d+)(?P<label>[a-z]{2,}|e(?=\d))\d*",  # 2lauf, 25pct, 1e6
        )
    )
    + r"|(?P<word>[^\W\d_]+|\d+)",
    re.IGNORECASE,
)
# Counts without anything between them: nodes16ppn24, 4nodes36cores
_GLUED = re.compile(
    rf"{_BEGIN}(?:(?:(?!mpi)(?:{_UNIT})\d+){{2,9}}|(?:\d+(?:{_UNIT}|[ncprt])){{2,9}}){_END}", re.IGNORECASE
)
# What cloud services call the machines that they rent: c6a.16xlarge, n1-standard-4, HB120rs_v3
_INSTANCE = (
    rf"{_BEGIN}(?P<instance>[a-z]{{1,4}}\d{{1,2}}[a-z]{{0,4}}[-._](?:\d{{0,2}}x?large|metal)"
    rf"|[a-z]\d[a-z]?[-_](?:standard|highmem|highcpu|megamem)[-_]\d+|[hnd][a-z]\d+[a-z]*_v\d){_END}"
)
_SEAM = re.compile(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """A part of a name. `meaning` is "system", one of `BESIDE`, a parameter such as "nodes", "word" or "number".

    `text` is that of a count, which may mean something else if it is `lettered`, such as "16n", or if it is 0, as in "gpu0".
    """

    meaning: str
    value: Scalar
    text: str = field(default="", compare=False)
    lettered: bool = field(default=False, compare=False)


@cache
def list_known_systems() -> frozenset[str]:
    """Returns the names of well-known systems, processors and devices, in small letters."""
    lines = SYSTEMS.read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@lru_cache(maxsize=10_000)
def read_facts(name: str, systems: frozenset[str] = frozenset()) -> Sequence[Fact]:
    """Returns the facts in the order of the name. "scale16_gcc-9.1" → scale, 16, the compiler gcc-9.1.

    `systems` are words, in small letters, that name systems besides the well-known ones.
    """
    name = name[:LONGEST]
    facts, done = list[Fact](), 0
    for word in re.finditer(rf"{_INSTANCE}|[^\W_]+", name, re.IGNORECASE):
        is_known = word[0].lower() in list_known_systems() or word[0].lower() in systems
        if (word["instance"] or is_known) and word.start() >= done:
            facts += _read_plain(name[done : word.start()])
            facts.append(Fact("system", word[0]))
            done = word.end()
    return [*facts, *_read_plain(name[done:])]


def _divide(glued: re.Match[str]) -> str:
    """Returns counts with "_" between them."""
    parts = _SEAM.split(glued[0])
    return "_".join(map("".join, zip(parts[::2], parts[1::2], strict=True)))


def _read_plain(text: str) -> Iterator[Fact]:
    text = _GLUED.sub(_divide, text)
    for match in _TYPED.finditer(text):
        found = match.groupdict()
        if found["date"]:
            yield Fact("date", read_date_of_name(found["date"]) or found["date"])
        elif found["counted"]:
            yield Fact(_name_unit(found["before"]), int(found["counted"][:18]), match[0])
        elif found["count"]:
            unit = _name_unit(found["unit"] or found["letter"])
            yield Fact(unit, int(found["count"][:18]), match[0], bool(found["letter"]))
        elif found["mpi"]:
            yield Fact("MPI", found["mpi"])
        elif found["compiler"]:
            yield Fact("compiler", found["compiler"])
        elif meaning := next((name for name in ("job", "host", "node") if found[name]), ""):
            yield Fact(meaning, match[0])
        elif found["named"] and is_neutral(found["named"]):
            yield Fact("word", found["named"])
            yield Fact("number", match[0][len(found["named"]) :])
        elif (count := found["copy"] or found["turn"]) or (found["label"] and is_neutral(found["label"])):
            yield Fact("word", found["label"] or "out")
            yield Fact("number", count or found["labelled"])
        elif found["word"] and found["word"].isdigit():
            short = len(found["word"]) < JOB
            doubled = short and match.start() > 1 and text[match.start() - 2 : match.start()] in ("__", "--")
            yield Fact("word" if doubled else "number", f"{'_' * doubled}{found['word']}")
        else:
            yield Fact("word", match[0])


def _name_unit(word: str) -> str:
    word = word.lower()
    names = (word, word.removesuffix("s"), word.removesuffix("s").removeprefix("n"))
    return _LETTERS.get(word) or next(UNITS[name] for name in names if name in UNITS)


def is_neutral(word: str, neutral: Container[str] = NEUTRAL) -> bool:
    """Returns whether the word, or the one of which it is the plural, is neutral, such as "pass" and "runs"."""
    return word.casefold() in neutral or word.casefold().removesuffix("s") in neutral


def counts_repetitions(names: Sequence[str]) -> bool:
    """Returns whether the names differ in a number that only counts: run1 and run2, 001 and 002, x0 to x3; not gcc9 and gcc12."""
    given = [name.casefold() for name in names]
    if len({re.sub(r"\d+", "#", name) for name in given}) > 1:
        return False
    words = {*re.findall(r"[^\W\d_]+", given[0])}
    last = [(re.findall(r"\d+", name) or [""])[-1][:18] for name in given]
    numbers = sorted(int(digits or 0) for digits in last)
    powers = len(numbers) > 1 and all(n and n & (n - 1) == 0 for n in numbers) and numbers != [1, 2]
    counted = all(is_neutral(word, COUNTED) for word in words)
    if counted and (words or are_jobs(given)) and not (powers and all(is_neutral(word, OUTPUTS) for word in words)):
        return True
    dense = numbers[-1] - numbers[0] < 2 * len(numbers)  # 00001 to 00512 in powers of two are not
    padded = (
        dense and not powers and numbers[0] < 2 and any(digits.startswith("0") and len(digits) > 1 for digits in last)
    )
    follow = len(numbers) >= FEWEST and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    before = re.search(r"([^\W\d_]+)[\W_]*\d+\D*$", given[0])
    sized = before and not {before[1], before[1].removesuffix("s")}.isdisjoint(SIZED | {*UNITS})
    has_unit = re.search(r"\d[^\W\d_]+$", given[0])  # 1us to 3us, 001points
    return not sized and not has_unit and (padded or (follow and numbers[0] < 2))


def are_likely_counts(numbers: Sequence[int]) -> bool:
    """Returns whether numbers with a letter, such as "16n", count nodes or threads: most are round, or files share them."""
    different = {*numbers}
    likely = [n for n in different if n <= ODD or n % 10 == 0 or n // (n & -n) <= ODD]
    return 2 * len(different) <= len(numbers) or 2 * len(likely) >= len(different)


def are_jobs(names: Sequence[str]) -> bool:
    """Returns whether the names are numbers of jobs: long, and most of them neither round nor powers of two."""
    if not all(name.isdigit() and len(name) >= JOB for name in names):
        return False
    return 2 * sum(int(name) % 1000 == 0 or int(name) & (int(name) - 1) == 0 for name in names) < len(names)
