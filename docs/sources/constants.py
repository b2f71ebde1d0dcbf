"""Tables of the chosen constants with their present values."""

import importlib
from pathlib import Path

import steelyard
from sources.tables import table
from steelyard.measure import plan
from steelyard.measure.machine import system_file
from steelyard.model.units import percent

_HOUSE = Path(steelyard.__file__).parent
# Module, name, and meaning of each constant.
_NAMED = (
    ("statistics.samples.stopping", "LEAST_EFFECTIVE", "independent samples before sampling may stop"),
    ("statistics.samples.stopping", "GROWTH", "growth of the number of samples between two checks of the stopping rule"),
    ("statistics.samples.launches", "LAUNCHES_FOR_RANKS", "with so many launches or more, the interval uses only their medians"),
    ("statistics.validity.disturbances", "HIT", "a sample is hit if other work or page faults take more than this share of it"),
    ("statistics.validity.observations", "HIT_SHARE", "the median is valid up to this share of hit samples"),
    ("statistics.validity.disturbances", "FAULT_SECONDS", "assumed cost of one page fault, in seconds"),
    ("statistics.validity.core_pace", "CLOCK_DIP", "a sample is slow if its clock is lower than the fastest by this share"),
    ("statistics.validity.core_pace", "ISSUE_DIP", "a core is shared if it issues fewer additions than its best by this share"),
    ("statistics.validity.core_pace", "CLOCK_EFFECT", "a change of the pace counts if it changes the figure by this share"),
    ("statistics.validity.core_pace", "CLOCK_CHANGE", "a larger change of the true clock of the median thread counts"),
    ("statistics.validity.core_pace", "CLOCK_CHANGE_OF_ONE", "a larger change of the true clock of any single thread counts"),
    ("statistics.validity.verdict", "CLOCK_NOTED", "a clock coarser than this share of a sample is noted"),
    ("statistics.validity.verdict", "CLOCK_INVALID", "a clock coarser than this share of a sample makes the case INVALID"),
    ("statistics.samples.shape", "MODE_DISTANCE", "smallest relative distance of two modes"),
    ("statistics.samples.shape", "MODE_SHARE", "smallest share of the samples in a mode"),
    ("statistics.samples.shape", "DRIFT", "smallest relative drift from the first to the last sample"),
    ("statistics.validity.measures", "CLOCK_LOSS", "allowed loss of the best clock"),
    ("statistics.validity.measures", "ISSUE_LOSS", "allowed loss of the best additions per cycle"),
    ("statistics.validity.measures", "STREAM_LOSS", "allowed loss of the best speed of reading the memory"),
    ("statistics.validity.measures", "CHASE_LOSS", "allowed loss of the best speed of an access to the memory"),
    ("statistics.validity.measures", "EXCHANGE_LOSS", "allowed loss of the best speed of a message and its answer"),
    ("statistics.validity.pace", "LEAST_KEPT", "with fewer undisturbed samples, the case is DISTURBED"),
    ("statistics.results.result", "SETTLED_WIDTH", "relative half width of the interval; a wider one makes the result UNSETTLED"),
    ("statistics.results.result", "FASTER", "a disturbed launch may be faster than the interval by this share"),
    ("measure.records.best_pace", "KEPT_RUNS", "number of runs whose best pace is kept"),
    ("measure.records.best_pace", "KEPT_DAYS", "days for which the best pace is kept"),
    ("measure.plan.second", "PASSES", "further launches of an UNSETTLED case"),
    ("measure.plan.length", "SPARE", "length of a run in planned times, if that is less than the length of the preset"),
    ("measure.plan.length", "RESTLESS", "a run takes this many times its usual length if others use the machine"),
    ("measure.plan.length", "OTHERS", "share of the time in which others use the machine, from which it takes that many times"),
    ("measure.plan.second", "PATIENCE", "share of the promised length that a run may wait for a quiet machine"),
    ("measure.plan.second", "LONGEST_WAIT", "longest wait of one case, in seconds"),
    ("measure.run.quiet", "QUIET", "a machine is quiet if at least this share of the readings is within bounds"),
    ("measure.run.quiet", "NEVER", "a machine never becomes quiet if less than this share of the readings is within bounds"),
    ("statistics.samples.launches", "USUAL_SPREAD", "relative spread of launches that is assumed beforehand"),
    ("statistics.samples.launches", "LONE_SPREAD", "assumed relative spread of a single launch"),
    ("statistics.samples.launches", "RUN_SPREAD", "relative spread of undisturbed runs (standard deviation)"),
    ("statistics.difference.compare", "LONE_SPREAD", "assumed relative spread if each run has one launch"),
    ("compare.pace", "UNLIKE", "comparison of two runs is UNCLEAR if the pace of their cores differs more"),
    ("compare.pace", "UNSTEADY", "if the pace varies more than this within a run, smaller differences are UNCLEAR"),
    ("statistics.difference.blocks", "SMALLEST_OF_ALL", "smallest relative difference of a benchmark or class as a whole"),
    ("statistics.difference.blocks", "SMALLEST_OF_GROUPS", "smallest relative difference between two groups of runs"),
    ("statistics.difference.blocks", "QUIET_RUN_SPREAD", "relative spread of the runs of a quiet machine"),
    ("statistics.difference.blocks", "RUN_BY_BLOCK", "spread of runs relative to the usual spread of a block"),
    ("statistics.difference.blocks", "LARGEST_OF_SAME", "a benchmark or class is SAME if its interval is within this difference"),
    ("compare.launch_table", "BLOCK", "launches that start within these seconds count as one state of the machine"),
    ("compare.wholes", "STEEPEST", "largest assumed power with which the time of a program depends on the pace"),
    ("compare.wholes", "ENOUGH", "if at least this share of the cases is undisturbed, only these are compared"),
    ("compare.pace", "UNLIKE_MEMORY", "comparison of two runs is UNCLEAR if the bandwidth of their memory readings differs more"),
    ("compare.schedule", "CASE_SECONDS", "in turn: seconds of samples of a case in each round"),
    ("compare.pairs", "LEVEL", "p value below which runs in turn are called different"),
    ("compare.pairs", "SMALLEST", "smallest relative difference of runs in turn"),
    ("statistics.difference.compare", "OUTLYING", "a pair so many robust deviations from the others has no weight"),
    ("statistics.difference.steps", "SMALLEST", "smallest relative step in the history of a machine"),
    ("statistics.difference.steps", "LEVEL", "chance of a step in a series without one"),
    ("statistics.difference.steps", "LEAST", "runs on each side of a step"),
    ("statistics.difference.slow_nodes", "SMALLEST", "smallest relative slowness of a node beside its peers"),
    ("statistics.difference.slow_nodes", "LEVEL", "chance that a sweep accuses any healthy node"),
    ("statistics.models.scaling", "HALF", "share of a core's speed that one more core must add to be worth it"),
    ("statistics.models.scaling_models", "REACH", "a scaling law is drawn up to this many times the greatest count"),
    ("statistics.models.scaling_models", "CLOSE", "a law does not describe the program if it misses a time by this share"),
    ("judge.findings.every.scaling", "LEAST_SECONDS", "findings on scaling need samples of at least this many seconds"),
    ("measure.run", "ATTEMPTS", "attempts to measure a case that a visible load disturbs"),
    ("measure.run", "REPEATING_SHARE", "share of the planned time that repetitions may take"),
    ("measure.run", "REPEATING_LEAST", "share for repetitions after the promised length of the preset is used up"),
    ("measure.machine.load", "QUIET", "the machine is quiet if other processes use fewer cores than this"),
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
