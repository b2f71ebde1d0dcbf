"""The tool's own words, twelve, each with one meaning; the same in the report and in docs/glossary.md."""

from dataclasses import dataclass

from steelyard.model import Evaluation

PLACE, TITLE = 125, "Words"

WORDS: tuple[tuple[str, str], ...] = (
    ("benchmark", "What is measured by one program, or by several: memory.stream, network.pingpong."),
    ("kernel", "One loop or one pattern of a benchmark: the Triad of memory.stream."),
    (
        "case",
        "A kernel with one value for each parameter: the Triad with 4 threads over 10 million elements.",
    ),
    (
        "launch",
        "One start of a program, which measures many cases. Two starts differ more than two repetitions do, so that each "
        "case is measured in several launches, in shuffled order.",
    ),
    ("sample", "One timed repetition, many ticks of the clock long. All samples are kept."),
    (
        "record",
        "What one launch measured of a case: its samples, whether the kernel's result was right, what was observed around"
        " and between the samples, and a verdict.",
    ),
    ("result", "A case over all its launches: its metrics, each with an interval, and one verdict."),
    (
        "metric",
        "A number with a unit that follows from the median time of a sample: a bandwidth, a latency.",
    ),
    (
        "interval",
        "The 95 % interval of the median. Repeat the measurement often, and in 95 of 100 times the interval holds the "
        "true value.",
    ),
    (
        "limit",
        "What the machine could reach at most of a metric, by its data or as the user gave it; the share that was reached"
        " stands beside it.",
    ),
    (
        "verdict",
        "Whether a figure can be relied on. CLEAN: nothing disturbed it, and it will come out alike again. UNSETTLED: "
        "nothing disturbed it, but too little is known. DISTURBED: something else used the machine. INVALID: the result "
        "was wrong, or could not be measured.",
    ),
    (
        "pace",
        "How much of its best a machine gave at a moment: the clock and the additions of its cores, the bandwidth and the"
        " latency of its memory. Samples beside a slow moment are set aside.",
    ),
)


@dataclass(frozen=True)
class Glossary:
    """The words with their meanings."""

    words: tuple[tuple[str, str], ...]


def data(evaluation: Evaluation) -> Glossary:
    """The same for every run."""
    return Glossary(WORDS)
