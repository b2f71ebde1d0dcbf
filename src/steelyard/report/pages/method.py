"""The method: the twelve rules of Hoefler and Belli (SC'15), how this run keeps each of them, and what the verdicts say."""

from dataclasses import dataclass

from steelyard.model import Evaluation, Level
from steelyard.report import values
from steelyard.report.verdict_marks import MEANINGS

PLACE, TITLE = 120, "Method"


@dataclass(frozen=True)
class Rule:
    """A rule in short, what it asks, and how this run answers it."""

    title: str
    asks: str
    kept: str


@dataclass(frozen=True)
class Method:
    """Returns the data of the page."""

    rules: tuple[Rule, ...]
    verdicts: tuple[tuple[Level, str], ...] = tuple(MEANINGS.items())
    source: str = (
        "T. Hoefler, R. Belli: Scientific Benchmarking of Parallel Computing Systems – Twelve ways to "
        "tell the masses "
        "when reporting performance results. SC'15. The rules are given here in other words."
    )


# What the rules ask for, in our words; the answers follow in `_answers`, in the same order.
_RULES = (
    (
        "The base of a speed-up",
        "State the base of each speed-up, and the absolute performance of the base.",
    ),
    (
        "No silent omissions",
        "Give a reason for each part of a test, or of the machine, that was not used.",
    ),
    ("The right mean", "Use the arithmetic mean only for costs, such as seconds. Never use it for rates."),
    ("No averages of ratios", "Summarise the costs or rates from which ratios come, not the ratios."),
    ("Uncertainty stated", "State whether a value is certain. If it is not, give a confidence interval."),
    ("No assumed bell curve", "Do not assume a normal distribution without a check."),
    ("Sound comparison", "Call two values different only if a test or their intervals show it."),
    (
        "More than the median",
        "Check whether the mean or the median is the right measure. Show other quantiles if extreme values matter.",
    ),
    (
        "Everything that varied",
        "Document all factors and their levels, the hardware, the software and the procedure.",
    ),
    ("Parallel time explained", "State how parallel times are measured, synchronised and summarised."),
    ("The bound beside the value", "Show the upper bound of the machine, from a model or from its peak."),
    (
        "Plots that do not mislead",
        "Plot enough information. Join points by lines only if values between them have a meaning.",
    ),
)


def data(evaluation: Evaluation) -> Method:
    """The rules with this run's answers."""
    pairs = zip(_RULES, _answers(evaluation), strict=True)
    return Method(tuple(Rule(title, asks, kept) for (title, asks), kept in pairs))


def _answers(evaluation: Evaluation) -> tuple[str, ...]:
    run, results = evaluation.run, evaluation.results
    counts = values.counts(results)
    valued = [v for r in results for v in r.metrics.values()]
    stated = sum(v.low is not None and v.high is not None for v in valued)
    silent = sum(setting.value is None for setting in run.machine.settings)
    failed = sum(record.error is not None for record in run.records)
    limited = _limited(evaluation)
    return (
        _base(evaluation),
        f"The preset '{run.plan.preset}' chose the cases; {len(run.machine.cpus)} processors could be used. "
        f"{_number(failed, 'record').capitalize()} failed, {_number(counts['INVALID'], 'result')} "
        f"{'is' if counts['INVALID'] == 1 else 'are'} INVALID. The report lists each failure with its reason.",
        "Steelyard summarises seconds and calculates every rate from the summarised time. It never averages rates.",
        "Ratios (shares of a limit, tolerance) are calculated last, from two summarised values, and are shown beside them.",
        f"{stated} of {len(valued)} values carry a 95 % interval of the median; where too little was "
        "measured for one, "
        "none is shown, and the result is UNSETTLED.",
        "Medians and intervals come from order statistics, which assume no distribution; the shape of the "
        "samples "
        "(two humps, drift, dependence) is examined, and counts in the verdict.",
        "Comparisons state the interval of the ratio and a rank test, corrected for the number of comparisons.",
        "The run folder holds all samples, so any quantile can be calculated. The best of N is only one of them.",
        f"Parameters stand with each result, the machine on its own page ({_number(silent, 'setting')} "
        "could not be "
        f"read; the reasons stand there), versions and the plan's seed {run.plan.seed} under Provenance.",
        "All threads start an operation together and its time ends with the last of them; how each "
        "benchmark was timed "
        "stands at the end of its page.",
        f"{limited} of {len(results)} results have a limit to stand beside; where none is known, the "
        "report says so "
        "instead of guessing one.",
        "Lines join points only along a parameter that has values in between; intervals are drawn, and "
        "below each "
        "figure its numbers can be read.",
    )


def _number(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _base(evaluation: Evaluation) -> str:
    alone = sum(result.parameters.get("threads") == 1 for result in evaluation.results)
    if not alone:
        return "This run has no results with one thread, so the report states no speed-up."
    return (
        "Threads are compared with one thread of the same program, not with another serial program; the "
        f"{_number(alone, 'result')} with one thread {'stands' if alone == 1 else 'stand'} in the tables "
        "in absolute units."
    )


def _limited(evaluation: Evaluation) -> int:
    machine = evaluation.run.machine
    total = 0
    for result in evaluation.results:
        benchmark = evaluation.benchmarks.get(result.benchmark)
        if benchmark and any(benchmark.known_limit(name, result, machine) for name in result.metrics):
            total += 1
    return total
