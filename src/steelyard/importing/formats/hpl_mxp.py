"""HPL-MxP of NVIDIA (once HPL-AI): Linpack in mixed precision.

https://hpl-mxp.org
"""

from collections import deque

from steelyard.importing.formats.hpl import CHECK, UNCHECKED, describe_system
from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_near, make, number

TOOL = "HPL-MxP"
MARKS = ("HPL MxP Result", "HPL-MxP-NVIDIA")
SIZE = r"\s*N = (?P<N>\d+), NB = (?P<NB>\d+), NPROW = (?P<P>\d+), NPCOL = (?P<Q>\d+)(, SLOPPY-TYPE = (?P<sloppy>\d+))?"
SCORE = r"\s*(?P<lu>LU )?GFLOPS = (?P<rate>[^\s,]+), per GPU =\s*(?P<each>\S+)"
PRECISION = {"1": "fp8", "2": "fp16"}


def read(text: Text) -> Values:
    """Yields the speed of each solved system, and that of its factorisation. The check of the residual stands before them."""
    text = text.ended()
    checks = deque((at, found[1]) for found, at in text.match(CHECK))
    for size, part in text.parts(SIZE):
        verdicts = set()
        while checks and checks[0][0] < part.first:
            verdicts.add(checks.popleft()[1])
        about = {**describe_system(size), "precision": PRECISION.get(size["sloppy"])}
        for score, at in part.match(SCORE):
            with text.row(at):
                if "FAILED" in verdicts:
                    raise ValueError(f"the check of the residual for N = {size['N']} failed")
                each, rate = number(score["each"]) * int(size["P"]) * int(size["Q"]), number(score["rate"])
                expect_near(each, rate, 1e-3 * rate, "the speed is not the sum of those of the GPUs")
                kernel, note = "lu" if score["lu"] else "hpl", "" if verdicts else UNCHECKED
                yield make("hpl.mixed", kernel, "flops", score["rate"], "Gflop/s", "one run", about, note=note)
