"""The chosen constants that the pages name, with their present values."""

import importlib
from pathlib import Path

from sources.tables import table
from steelyard import plan
from steelyard.machine import system_file
from steelyard.units import percent

_HOUSE = Path(plan.__file__).parents[1]
# Where it is, what it is called, and in our words what it does.
_NAMED = (
    ("statistics.samples.stopping", "LEAST_EFFECTIVE", "independent samples before sampling may stop"),
    ("statistics.samples.stopping", "GROWTH", "growth of the samples between two looks at the rule"),
    ("statistics.samples.launches", "LAUNCHES_FOR_RANKS", "launches from which their medians make the interval"),
    ("statistics.validity.disturbances", "HIT", "share of a sample that others or page faults take: it is hit"),
    ("statistics.validity.observations", "HIT_SHARE", "share of samples hit, up to which the median stands"),
    ("statistics.validity.disturbances", "FAULT_SECONDS", "seconds that one page fault is taken to cost"),
    ("statistics.validity.core_pace", "CLOCK_DIP", "further below the fastest clock a sample is slow"),
    ("statistics.validity.core_pace", "ISSUE_DIP", "further below the most additions per cycle the core is shared"),
    ("statistics.validity.core_pace", "CLOCK_EFFECT", "change of the figure from which a pace of the core counts"),
    ("statistics.validity.core_pace", "CLOCK_CHANGE", "change of the true clock, of the median thread"),
    ("statistics.validity.core_pace", "CLOCK_CHANGE_OF_ONE", "the same, of any one thread"),
    ("statistics.validity.verdict", "CLOCK_NOTED", "share of a sample: a coarser clock is noted"),
    ("statistics.validity.verdict", "CLOCK_INVALID", "share of a sample: a coarser clock makes the case INVALID"),
    ("statistics.samples.shape", "MODE_DISTANCE", "least relative distance of two modes"),
    ("statistics.samples.shape", "MODE_SHARE", "share of the samples that makes a mode"),
    ("statistics.samples.shape", "DRIFT", "least relative drift from the first to the last sample"),
    ("statistics.validity.pace", "CLOCK_LOSS", "share of the best shown clock that may be lost"),
    ("statistics.validity.pace", "ISSUE_LOSS", "share of the best shown additions per cycle that may be lost"),
    ("statistics.validity.pace", "STREAM_LOSS", "the same of a read of the memory"),
    ("statistics.validity.pace", "CHASE_LOSS", "the same of an access to the memory (of its speed)"),
    ("statistics.validity.pace", "EXCHANGE_LOSS", "the same of messages there and back"),
    ("statistics.validity.pace", "LEAST_KEPT", "undisturbed samples: with fewer the case is DISTURBED"),
    ("statistics.results.result", "SETTLED_WIDTH", "half of the interval, relative: a wider one is UNSETTLED"),
    ("statistics.results.result", "FASTER", "by which a disturbed launch may be faster than the interval"),
    ("records.shown", "KEPT_RUNS", "runs whose best pace is kept"),
    ("records.shown", "KEPT_DAYS", "days for which it is kept"),
    ("plan.second", "PASSES", "further launches of a case that is not settled"),
    ("plan.second", "RESTLESS", "times its promised length that a run may take on a restless machine"),
    ("plan.second", "PATIENCE", "share of that length that may be waited for quiet"),
    ("plan.second", "LONGEST_WAIT", "seconds that one case waits"),
    ("run.quiet", "QUIET", "share of the readings within bounds, from which a machine is quiet"),
    ("run.quiet", "NEVER", "the same, below which it never is"),
    ("statistics.samples.launches", "USUAL_SPREAD", "relative spread of launches that is believed beforehand"),
    ("statistics.samples.launches", "LONE_SPREAD", "the same of a lone launch"),
    ("statistics.samples.launches", "RUN_SPREAD", "relative spread of undisturbed runs, as a standard deviation"),
    ("statistics.difference.compare", "LONE_SPREAD", "the same where each side of a comparison has one launch"),
    ("compare.pace", "UNLIKE", "difference of the cores' pace from which two runs are not distinguished"),
    ("compare.pace", "RESTLESS", "unrest of that pace from which only larger differences are called"),
    ("compare.runs", "SMALLEST_OF_ALL", "least relative difference of a benchmark as a whole"),
    ("compare.schedule", "CASE_SECONDS", "seconds that a case is sampled in turn, in each round"),
    ("compare.pairs", "LEVEL", "p below which runs in turn are called different"),
    ("compare.pairs", "SMALLEST", "least relative difference of runs in turn"),
    ("statistics.difference.compare", "OUTLYING", "robust deviations beyond which a pair has no weight"),
    ("statistics.models.scaling", "HALF", "of a core's worth that one more must add to be worth it"),
    ("statistics.models.scaling_models", "REACH", "times the greatest count, to which a law of scaling is followed"),
    ("statistics.models.scaling_models", "CLOSE", "relative miss of a time from which a law does not describe a program"),
    ("findings.every.scaling", "LEAST_SECONDS", "seconds of a sample below which no finding on scaling rests on it"),
    ("run", "ATTEMPTS", "attempts at a case that a visible load disturbed"),
    ("run", "REPEATING_SHARE", "share of the plan's time that may go into repeating"),
    ("run", "REPEATING_LEAST", "the same, also where the preset's promised length is used up"),
    ("machine.load", "QUIET", "cores kept busy by others, below which the machine counts as quiet"),
)  # fmt: skip


def named() -> str:
    """The constants of the method."""
    rows = []
    for module, name, meaning in _NAMED:
        held = importlib.import_module(f"steelyard.{module}")
        file = Path(str(held.__file__)).relative_to(_HOUSE)
        rows.append((f"`{name}`", f"{getattr(held, name):g}", meaning, f"`{file}`"))
    return table(("constant", "value", "meaning", "where"), rows)


def presets() -> str:
    """The presets; a benchmark may set a sampling of its own for a block of its cases."""
    rows = [
        (
            f"`{e.name}`",
            str(e.launches),
            f"± {percent(e.sampling.width)}",
            f"{e.sampling.seconds:g} s",
            f"{e.sampling.least} … {e.sampling.most}",
        )
        for e in plan.EFFORTS.values()
    ]
    return table(("preset", "launches", "interval asked for", "time for a case", "samples"), rows)


def system_keys() -> str:
    """The keys of a system file."""
    return table(("key", "value"), [(f"`{key}`", meaning) for key, meaning in system_file._KEYS.items()])
