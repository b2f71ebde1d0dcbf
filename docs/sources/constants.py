"""Tables of the chosen constants with their present values."""

import importlib
from pathlib import Path

from sources.tables import table
from steelyard import plan
from steelyard.machine import system_file
from steelyard.units import percent

_HOUSE = Path(plan.__file__).parents[1]
# Module, name, and meaning of each constant.
_NAMED = (
    ("statistics.samples.stopping", "LEAST_EFFECTIVE", "independent samples before sampling may stop"),
    ("statistics.samples.stopping", "GROWTH", "factor by which samples grow between two checks of the rule"),
    ("statistics.samples.launches", "LAUNCHES_FOR_RANKS", "launches from which the interval uses their medians alone"),
    ("statistics.validity.disturbances", "HIT", "share of a sample that other work or page faults take: the sample is hit"),
    ("statistics.validity.observations", "HIT_SHARE", "share of hit samples up to which the median is valid"),
    ("statistics.validity.disturbances", "FAULT_SECONDS", "assumed cost of one page fault, in seconds"),
    ("statistics.validity.core_pace", "CLOCK_DIP", "a sample is slow if its clock is further below the fastest"),
    ("statistics.validity.core_pace", "ISSUE_DIP", "the core is shared if its additions per cycle are further below the most"),
    ("statistics.validity.core_pace", "CLOCK_EFFECT", "change of the figure from which a change of the core's pace matters"),
    ("statistics.validity.core_pace", "CLOCK_CHANGE", "change of the true clock of the median thread"),
    ("statistics.validity.core_pace", "CLOCK_CHANGE_OF_ONE", "change of the true clock of any one thread"),
    ("statistics.validity.verdict", "CLOCK_NOTED", "a clock coarser than this share of a sample is noted"),
    ("statistics.validity.verdict", "CLOCK_INVALID", "a clock coarser than this share of a sample makes the case INVALID"),
    ("statistics.samples.shape", "MODE_DISTANCE", "smallest relative distance of two modes"),
    ("statistics.samples.shape", "MODE_SHARE", "smallest share of the samples in a mode"),
    ("statistics.samples.shape", "DRIFT", "smallest relative drift from the first to the last sample"),
    ("statistics.validity.pace", "CLOCK_LOSS", "allowed loss of the best clock"),
    ("statistics.validity.pace", "ISSUE_LOSS", "allowed loss of the best additions per cycle"),
    ("statistics.validity.pace", "STREAM_LOSS", "allowed loss of the best speed of reading the memory"),
    ("statistics.validity.pace", "CHASE_LOSS", "allowed loss of the best speed of an access to the memory"),
    ("statistics.validity.pace", "EXCHANGE_LOSS", "allowed loss of the best speed of a message and its answer"),
    ("statistics.validity.pace", "LEAST_KEPT", "undisturbed samples; with fewer, the case is DISTURBED"),
    ("statistics.results.result", "SETTLED_WIDTH", "relative half width of the interval; a wider one makes the result UNSETTLED"),
    ("statistics.results.result", "FASTER", "share by which a disturbed launch may be faster than the interval"),
    ("records.best_pace", "KEPT_RUNS", "number of runs whose best pace is kept"),
    ("records.best_pace", "KEPT_DAYS", "days for which the best pace is kept"),
    ("plan.second", "PASSES", "further launches of an UNSETTLED case"),
    ("plan.second", "RESTLESS", "a run may take this many times its promised length on a machine that is not quiet"),
    ("plan.second", "PATIENCE", "share of the promised length that a run may wait for a quiet machine"),
    ("plan.second", "LONGEST_WAIT", "longest wait of one case, in seconds"),
    ("run.quiet", "QUIET", "a machine is quiet from this share of readings within bounds on"),
    ("run.quiet", "NEVER", "a machine never becomes quiet below this share of readings within bounds"),
    ("statistics.samples.launches", "USUAL_SPREAD", "relative spread of launches that is assumed beforehand"),
    ("statistics.samples.launches", "LONE_SPREAD", "assumed relative spread of a single launch"),
    ("statistics.samples.launches", "RUN_SPREAD", "relative spread of undisturbed runs (standard deviation)"),
    ("statistics.difference.compare", "LONE_SPREAD", "assumed relative spread if each run has one launch"),
    ("compare.pace", "UNLIKE", "comparison of two runs is UNCLEAR if the pace of their cores differs more"),
    ("compare.pace", "UNSTEADY", "if the pace varies more within a run, only larger differences are called"),
    ("statistics.difference.blocks", "SMALLEST_OF_ALL", "smallest relative difference of a benchmark or class as a whole"),
    ("statistics.difference.blocks", "LARGEST_OF_SAME", "a benchmark or class as a whole is SAME if its interval is within it"),
    ("compare.wholes", "BLOCK", "launches that start within these seconds share the state of the machine"),
    ("compare.wholes", "STEEPEST", "power of the pace that the time of a program follows at most"),
    ("compare.wholes", "ENOUGH", "share of undisturbed cases from which only these are compared"),
    ("compare.pace", "UNLIKE_MEMORY", "comparison of two runs is UNCLEAR if the bandwidth of their readings differs more"),
    ("compare.schedule", "CASE_SECONDS", "seconds of samples of a case in each round, in turn"),
    ("compare.pairs", "LEVEL", "p value below which runs in turn are called different"),
    ("compare.pairs", "SMALLEST", "smallest relative difference of runs in turn"),
    ("statistics.difference.compare", "OUTLYING", "robust deviations from which a pair has no weight"),
    ("statistics.models.scaling", "HALF", "share of a core's speed that one more core must add to be worth it"),
    ("statistics.models.scaling_models", "REACH", "a scaling law is drawn up to this many times the greatest count"),
    ("statistics.models.scaling_models", "CLOSE", "a scaling law that misses a time by more does not describe the program"),
    ("findings.every.scaling", "LEAST_SECONDS", "findings on scaling need samples of at least this many seconds"),
    ("run", "ATTEMPTS", "attempts to measure a case that a visible load disturbs"),
    ("run", "REPEATING_SHARE", "share of the planned time that repetitions may take"),
    ("run", "REPEATING_LEAST", "share for repetitions after the promised length of the preset is used up"),
    ("machine.load", "QUIET", "busy cores of other processes below which the machine is quiet"),
)  # fmt: skip


def named() -> str:
    """Returns the table of the constants of the method."""
    rows = []
    for module, name, meaning in _NAMED:
        held = importlib.import_module(f"steelyard.{module}")
        file = Path(str(held.__file__)).relative_to(_HOUSE)
        rows.append((f"`{name}`", f"{getattr(held, name):g}", meaning, f"`{file}`"))
    return table(("constant", "value", "meaning", "where"), rows)


def presets() -> str:
    """Returns the table of the presets. A benchmark may set its own sampling for a block of cases."""
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
    """Returns the table of the keys of a system file."""
    return table(("key", "value"), [(f"`{key}`", meaning) for key, meaning in system_file._KEYS.items()])
