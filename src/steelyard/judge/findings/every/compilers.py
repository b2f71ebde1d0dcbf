"""Rule: compares the same kernels built by different compilers."""

from steelyard.judge.findings.every._alternatives import Question, find_alternatives, list_value_pairs
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import launches

SMALLEST = 0.03  # the placement of code and data explains smaller differences
_QUESTION = Question(
    rule="compilers",
    parameter="toolchain",
    smallest=SMALLEST,
    samples=launches,
    open="Steelyard cannot decide whether {a} and {b} generate equally fast code.",
    causes=(
        "The compilers choose different vector widths, unroll loops differently, or use other store instructions.",
        "The memory limits these kernels, or both compilers generate equally fast code.",
    ),
    remedies=(
        advise(
            "Use the faster compiler for such loops, and name the compiler with every figure. To compare other flags: ",
            "run --toolchain gcc --toolchain 'gcc -O2 -march=native'",
        ),
        "",
    ),
)


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each pair of toolchains, with the time of the second over that of the first by kernel."""
    usable = cases.keep_usable(evaluation.results)
    return find_alternatives(evaluation, usable, list_value_pairs(usable, "toolchain"), _QUESTION)
