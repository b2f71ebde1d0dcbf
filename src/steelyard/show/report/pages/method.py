"""The method: the twelve rules of Hoefler and Belli (SC'15), how this run keeps each of them, and what the verdicts say."""

from dataclasses import dataclass

from steelyard.model import Evaluation, Level
from steelyard.show.report import values
from steelyard.show.report.verdict_marks import MEANINGS
from steelyard.statistics.results.attempts import list_attempts

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
        "when reporting performance results. SC'15. This page states the rules in its own words."
    )


# The demands of the rules, in our words. `_answers` has the answers in the same order.
_RULES = (
    (
        "State the base of a speed-up",
        "State to which case each speed-up is relative, and the absolute performance of that case.",
    ),
    (
        "Leave nothing out without a reason",
        "Give a reason for each part of a test, or of the machine, that was not used.",
    ),
    ("Use the right mean", "Use the arithmetic mean only for costs, such as seconds. Never use it for rates."),
    ("Do not average ratios", "Summarise the costs or rates from which ratios are calculated, not the ratios."),
    (
        "State the uncertainty",
        "State whether each measurement gives the same value. If it does not, give a confidence interval.",
    ),
    (
        "Do not assume a normal distribution",
        "Check whether the measured values are normally distributed before you use a method that needs this.",
    ),
    (
        "Compare with statistics",
        "Do not say that two values differ unless a statistical test or their intervals show it.",
    ),
    (
        "Look beyond the median",
        "Check whether the mean or the median is the right measure. Show other quantiles if extreme values matter.",
    ),
    (
        "Document the experiment",
        "Document all parameters and their values, the hardware, the software and the procedure.",
    ),
    (
        "Say how parallel times are measured",
        "State how the threads or ranks are synchronised and timed, and how their times are summarised.",
    ),
    (
        "Show the limit of the machine",
        "Show the highest performance that the machine allows, from a model or from its peak performance.",
    ),
    (
        "Draw plots that do not mislead",
        "Plot enough information. Join points by lines only if values between them have a meaning.",
    ),
)


def data(evaluation: Evaluation) -> Method:
    """The rules with this run's answers."""
    pairs = zip(_RULES, _describe_compliance(evaluation), strict=True)
    return Method(tuple(Rule(title, asks, kept) for (title, asks), kept in pairs))


def _describe_compliance(evaluation: Evaluation) -> tuple[str, ...]:
    run, results = evaluation.run, evaluation.results
    counts = values.counts(results)
    valued = [v for r in results for v in r.metrics.values()]
    stated = sum(v.low is not None and v.high is not None for v in valued)
    silent = sum(setting.value is None for setting in run.machine.settings)
    failed = sum(attempt.error is not None for attempt in list_attempts(results))
    limited = sum(bool(result.limits) for result in results)
    return (
        _base(evaluation),
        f"The preset '{run.plan.preset}' chose the cases. The run could use {len(run.machine.cpus)} processors. "
        f"{_number(failed, 'record').capitalize()} failed, {_number(counts['INVALID'], 'result')} "
        f"{'is' if counts['INVALID'] == 1 else 'are'} INVALID. The report gives the reason of each failure.",
        "Steelyard summarises seconds and calculates every rate from the summarised time. It never averages rates.",
        "Steelyard calculates ratios, such as the share of a limit, last and from two summarised values. The report "
        "shows these values beside the ratio.",
        f"{stated} of {len(valued)} values have a 95 % interval of the median. If there are too few samples for an "
        "interval, the result is UNSETTLED.",
        "Medians and intervals depend only on the order of the samples, so they assume no distribution. Steelyard "
        "also checks whether the samples form two groups, drift, or depend on each other. The verdict takes "
        "these checks into account.",
        "A comparison of two runs states the interval of each ratio and the result of a rank test. The test is "
        "corrected for the number of comparisons.",
        "The report shows medians. The run folder contains all samples, so you can calculate any other quantile, "
        "such as the shortest time.",
        "The report shows the parameters beside each result. The page Machine shows the hardware and its settings "
        f"({_number(silent, 'setting')} could not be read; the page gives the reasons). The page Provenance shows "
        f"the versions and the seed of the plan, {run.plan.seed}.",
        "All threads or ranks start an operation at the same moment. Its time ends when the last of them ends. The "
        "end of each benchmark's page says how it was timed.",
        f"The report shows the limit of the machine beside {limited} of {len(results)} results. If Steelyard does not "
        "know a limit, the report says so and does not guess.",
        "Lines join points only if values between the points are possible. The figures show the intervals, and a "
        "table below each figure contains its numbers.",
    )


def _number(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _base(evaluation: Evaluation) -> str:
    alone = sum(result.parameters.get("threads") == 1 for result in evaluation.results)
    if not alone:
        return "This run has no results with one thread, so the report states no speed-up."
    return (
        "Threads are compared with one thread of the same program, not with a separate serial program. The tables give "
        f"the {_number(alone, 'result')} with one thread in absolute units."
    )
