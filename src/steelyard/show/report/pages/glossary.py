"""The tool's own words, twelve, each with one meaning; the same in the report and in docs/glossary.md."""

from dataclasses import dataclass

from steelyard.model import Evaluation

PLACE, TITLE = 125, "Glossary"
IMPORTED = True

WORDS: tuple[tuple[str, str], ...] = (
    ("benchmark", "A measurement by one or several programs, such as memory.stream or network.pingpong."),
    ("kernel", "A loop or a communication pattern that a benchmark measures, such as the Triad of memory.stream."),
    (
        "case",
        "A kernel with one value for each of its parameters, such as the Triad with 4 threads and 10 million elements.",
    ),
    (
        "launch",
        "One start of a benchmark's program. One launch measures many cases. The values of a case differ more "
        "between launches than within a launch. Steelyard therefore measures each case in several launches, in "
        "random order.",
    ),
    (
        "sample",
        "One timed repetition of a case. It lasts much longer than one step of the clock. The run folder keeps all "
        "samples.",
    ),
    (
        "record",
        "The measurement of a case in one launch. It contains the samples, the check of the kernel's result, the "
        "state of the machine before, between and after the samples, and a verdict.",
    ),
    ("result", "The values of a case from all its launches: its metrics with their intervals, and one verdict."),
    (
        "metric",
        "A number with a unit, such as a bandwidth or a latency. Steelyard calculates it from the median time of the "
        "samples.",
    ),
    (
        "interval",
        "The 95 % interval of the median. If the measurement is repeated many times, the interval contains the true "
        "median in 95 of 100 repetitions.",
    ),
    (
        "another run",
        "The range in which the value of another run on this machine lies in 95 of 100 cases, if it follows right after "
        "this one. For a CLEAN result, it is the range of another run that nothing disturbs. The range “at another hour” "
        "also contains the paces that the machine has shown before or can have.",
    ),
    (
        "at its best, typical",
        "The value “at its best” is what the machine gives when nothing disturbs. The “typical” value beside it is the median "
        "of this run, including its disturbed samples. On a dedicated machine both are the same. If no undisturbed launch "
        "proves the value at its best, Steelyard shows the value of the fastest sample and calls it “best seen”.",
    ),
    (
        "condition",
        "The state of the machine during a run: at its full speed, or slower and for what cause. Steelyard states it "
        "once. Only results that deviate from it have a mark of their own.",
    ),
    (
        "limit",
        "The best value of a metric that the machine can reach. It follows from the data of the machine, or the user "
        "states it. The report shows which share of the limit a result reaches.",
    ),
    (
        "verdict",
        "The reliability of a result. CLEAN: Steelyard detected no disturbance, and the value is repeatable. "
        "UNSETTLED: Steelyard detected no disturbance, but there are too few data to rely on the value. "
        "DISTURBED: Steelyard detected a disturbance during the measurement. INVALID: the kernel computed a wrong "
        "result, or the case could not be measured. FOREIGN: another tool measured the value, so Steelyard cannot judge "
        "it.",
    ),
    ("worker", "A thread, or a rank: a process of an MPI program with its threads."),
    (
        "pace",
        "The speed of the machine at a moment, as a share of its best speed. Steelyard reads the clock of the cores, "
        "the additions that a core issues per cycle, and the bandwidth and the latency of the memory. Samples "
        "from slow moments are set aside: the run folder keeps them, but no value uses them.",
    ),
)


@dataclass(frozen=True)
class Glossary:
    """The words with their meanings."""

    words: tuple[tuple[str, str], ...]


def data(evaluation: Evaluation) -> Glossary:
    """The same for every run."""
    return Glossary(WORDS)
