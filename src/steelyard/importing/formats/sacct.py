"""sacct of Slurm 17 to 24 with ConsumedEnergy or ConsumedEnergyRaw: the energy and the time of jobs and steps (-p, -P, columns).

https://slurm.schedmd.com/sacct.html
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import search
from steelyard.importing.text import Row, Text
from steelyard.importing.values import Given, Values, make, number, read_word

TOOL = "sacct"
MARKS = ("|ConsumedEnergy", " ConsumedEnergy", "ConsumedEnergy|", "ConsumedEnergyRaw|")  # not a key of JSON
HEADING = r"[|\w ]*\bConsumedEnergy(?:Raw)?\b *(?:\|[|\w ]*)?$"
SHARED = "The energy is that of the nodes, also if other jobs used them."
MOST = 1e15  # joules; Slurm prints 2^64 - 2 for an energy that it does not know
PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
EMPTY = ("", "0", "Unknown")
CUT = {"bat+": "batch", "ext+": "extern"}  # in narrow columns
PARAMETERS = {
    "NNodes": "nodes", "AllocNodes": "nodes", "NTasks": "ranks", "NCPUS": "processors", "AllocCPUS": "processors",
    "Partition": "partition", "ReqCPUFreq": "frequency",
}  # fmt: skip


def read(text: Text) -> Values:
    """Yields energy and time of each job and step that completed. An energy of zero was not measured."""
    names: dict[str, str] = {}
    lost = Counter[str]()
    for row in [*read_separated(text, HEADING, "|"), *_read_columns(text)]:
        if row.get("JobID", "-").startswith("-"):  # the line below the heading of a table in Markdown
            continue
        with text.row(row.line):
            state, about = row.get("State", "COMPLETED").partition(" ")[0], _list_parameters(row, names)
            energy = _read_energy(row) if state == "COMPLETED" else 0.0
            lost["without energy" if state == "COMPLETED" else f"that did not complete ({state})"] += energy <= 0
            if energy > 0:
                used = make("sacct.job", "job", "energy", energy, "J", "one run", about, note=SHARED)
                time = make("sacct.job", "job", "time", _read_time(row), "s", "one run", about)
                yield from (replace(value, started=row.get("Start", "")) for value in (used, time))
    text.problems.extend(f"jobs or steps {what}: {count}" for what, count in lost.items() if count)


def _list_parameters(row: Row, names: dict[str, str]) -> Given:
    """Returns the job, the step, and what they used. `names` has the names of the jobs, which come before their steps."""
    job, _, step = row["JobID"].partition(".")
    program = row.get("JobName", "")
    name = names.setdefault(job, program)
    about = {PARAMETERS[n]: read_word(word) for n, word in row.items() if n in PARAMETERS and word not in EMPTY}
    return {
        **about,
        "job": name or None,
        "step": CUT.get(step, step) or "whole job",
        "program": program if program != name and step not in ("batch", "extern") else None,
    }


def _read_columns(text: Text) -> Iterator[Row]:
    """Yields the rows of tables with columns of fixed width, whose dashes show where they are."""
    for head, part in text.parts(r"\s*JobID\s[^|]*\bConsumedEnergy(?:Raw)?\s*$"):
        dashes = "".join(part.lines[1:2])
        if not dashes or dashes.strip("- "):
            continue
        ends = [at + 1 for at, sign in enumerate(dashes) if sign == "-" and dashes[at + 1 : at + 2] != "-"]
        spans = list(zip([0, *ends], ends, strict=False))
        names = [head.string[a:b].strip() for a, b in spans]
        for at, line in enumerate(part.lines[2:], 2):
            if not search(r"^ *\d", line) or part.is_cut(at):
                break
            yield Row.of(names, [line[a:b].strip() for a, b in spans], part.first + at)


def _read_energy(row: Row) -> float:
    """Returns the energy in joules; 0 if there is none."""
    word = row.get("ConsumedEnergyRaw") or row.get("ConsumedEnergy") or "0"
    value = number(word.rstrip("KMGT")) * PREFIXES[word.lstrip("0123456789.")]
    return value if value < MOST else 0.0


def _read_time(row: Row) -> float:
    """Returns the seconds of "1-02:03:04", or of a number of seconds."""
    if row.get("ElapsedRaw"):
        return number(row["ElapsedRaw"])
    days, _, clock = row["Elapsed"].rpartition("-")
    parts = [number(word) for word in clock.split(":")]
    return number(days or "0") * 86400 + sum(part * 60.0**at for at, part in enumerate(reversed(parts)))
