"""SPARTA (DSMC) 2014 to 2024: log.sparta, and the screen.

https://sparta.github.io
"""

from collections.abc import Sequence
from statistics import harmonic_mean

from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, number

TOOL = "SPARTA"
MARKS = ("SPARTA (", "Particle-moves/CPUsec/proc")
DOUBTS = r"^(ERROR.*)"  # warnings are about models, and most inputs have some
CONDITIONS = {"version": r"SPARTA \((\d[^)\n]*)\)"}
OUTPUT = r".{0,80}SPARTA \(\d"
TABLE = r"\s*Step\s(?:.*\s)?CPU\s.*"
LOOP = r"Loop time of (?P<time>\S+) on (?P<ranks>\d+) procs.* for (?P<steps>\d+) steps with \d+ particles"
BEGIN, END = 300.0, 600.0  # seconds of the run that the ATS-5 benchmark counts
MERIT = "Harmonic mean of particles times steps over time, between 5 and 10 minutes of the run: the figure of merit of ATS-5."


def read(text: Text) -> Values:
    """Yields the time of each run of an input, the moves of particles, and the figure of merit of a run of 10 minutes."""
    for output in text.ended().runs(OUTPUT):
        about: Given = {
            **output.integers(threads=r"^ +requested (\d+) thread", cells=r"^Created (\d+) child grid cells"),
            **output.integers(ppc=r"^variable[ \t]+ppc equal (\d+)$"),  # particles of a cell
        }
        for heading, part in output.parts(TABLE):
            loop = next((match for match, _ in part.match(LOOP)), None)
            if loop is None:
                text.problems.append(f"line {part.first}: the run did not finish")
                continue
            given = {**about, "ranks": int(loop["ranks"]), "steps": int(loop["steps"])}
            yield make("sparta.run", "sparta", "time", loop["time"], "s", "one run", given)
            if moves := part.find(r"^Particle-moves/CPUsec/proc: (\S+)"):
                yield make("sparta.run", "sparta", "moves_of_a_rank", moves, "/s", "one run", given)
            rates = _list_rates(part, heading.string.split()) if number(loop["time"]) >= END else []
            if rates:
                merit = harmonic_mean(rates)
                yield make("sparta.run", "sparta", "merit", merit, "step/s", "one run", given, note=MERIT)


def _list_rates(part: Text, names: Sequence[str]) -> list[float]:
    """Returns particles times steps over time in each line of the table that counts."""
    if "Np" not in names:
        return []
    rows = part.fit(names, r"\s*\d+\s+[\d.]+(?:\s+\S+)+\s*$")
    stated = [(number(row["Step"]), number(row["CPU"]), number(row["Np"])) for row in rows]
    return [step * particles / time for step, time, particles in stated if BEGIN < time < END]
