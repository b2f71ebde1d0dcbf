"""CoreMark 1.0: iterations per second of a run that CoreMark validated, on one or several threads.

https://github.com/eembc/coremark
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_near, make, number

TOOL = "CoreMark"
MARKS = ("run parameters for coremark", "Iterations/Sec   :")
ROUNDED = 0.5  # seconds, of which some ports print only whole ones


def read(text: Text) -> Values:
    """Yields the rate and the time of each run. A run that is too short, or that is not validated, has none."""
    for head, run in text.parts(r"(2K (?:performance|validation)|Profile generation) run parameters for coremark"):
        with run.row(run.first):
            if not run.find(r"^Correct operation validated"):
                raise ValueError("CoreMark did not validate this run")
            words = {n: run.find(rf"^{n} *: *(\S+)") for n in ("Total time .secs.", "Iterations/Sec", "Iterations")}
            seconds, rate, iterations = words.values()
            spent, passes = number(seconds), number(iterations)
            tolerance = ROUNDED + 0.5 / max(number(rate), 1) * spent  # some ports print whole rates, too
            sentence = f"{iterations} iterations in {seconds} s are not {rate} per second"
            expect_near(passes / number(rate), spent, tolerance, sentence)
            about = {
                "data": head[1],
                "threads": run.integer(r"^Parallel \w+ *: *(\d+)") or 1,
                "compiler": run.find(r"^Compiler version *: *(.+)$") or None,
                "flags": run.find(r"^Compiler flags *: *(.+)$") or None,
            }
            yield make("coremark.run", "coremark", "rate", rate, "/s", "one run", about)
            yield make("coremark.run", "coremark", "time", seconds, "s", "one run", about)
