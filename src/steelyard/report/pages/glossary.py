"""The tool's own words, twelve, each with one meaning; the same in the report and in docs/glossary.md."""

from dataclasses import dataclass

from steelyard.model import Evaluation

PLACE, TITLE = 125, "Words"

WORDS: tuple[tuple[str, str], ...] = (
    ("benchmark", "A measurement by one or several programs, such as memory.stream or network.pingpong."),
    ("kernel", "A loop or a pattern of a benchmark, such as the Triad of memory.stream."),
    (
        "case",
        "A kernel with one value for each parameter, such as the Triad with 4 threads and 10 million elements.",
    ),
    (
        "launch",
        "One start of a program, which measures many cases. Launches differ more than repetitions within a launch. "
        "Therefore each case is measured in several launches, in random order.",
    ),
    ("sample", "One timed repetition. It lasts many ticks of the clock. All samples are kept."),
    (
        "record",
        "The measurement of a case by one launch: its samples, the check of the kernel's result, the conditions before,"
        " between and after the samples, and a verdict.",
    ),
    ("result", "A case with all its launches: its metrics with their intervals, and one verdict."),
    (
        "metric",
        "A number with a unit that is calculated from the median time of a sample, such as a bandwidth or a latency.",
    ),
    (
        "interval",
        "The 95 % interval of the median. If the measurement is repeated many times, the interval contains the true value "
        "in 95 of 100 cases.",
    ),
    (
        "limit",
        "The highest value of a metric that the machine can reach, from its data or from the user. The share that was"
        " reached is beside it.",
    ),
    (
        "verdict",
        "The reliability of a figure. CLEAN: nothing disturbed it, and it is repeatable. UNSETTLED: nothing disturbed it, "
        "but too little is known. DISTURBED: something else used the machine. INVALID: the result "
        "was wrong, or could not be measured.",
    ),
    (
        "pace",
        "The speed of the machine at a moment, as a share of its best: the clock and the additions of its cores, the"
        " bandwidth and the latency of its memory. Samples at a slow moment are set aside.",
    ),
)


@dataclass(frozen=True)
class Glossary:
    """The words with their meanings."""

    words: tuple[tuple[str, str], ...]


def data(evaluation: Evaluation) -> Glossary:
    """The same for every run."""
    return Glossary(WORDS)
