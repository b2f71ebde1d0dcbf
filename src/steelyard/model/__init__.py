"""The data types of Steelyard: frozen dataclasses without behaviour. All values are in SI units.

They have slots, since msgspec writes objects without slots without their defaults. This package imports no other package of ours.
"""

from steelyard.model.benchmark import Axes, Benchmark, Metric, Source
from steelyard.model.foreign import ForeignValue, Imported
from steelyard.model.machine import (
    UNCHANGED,
    Attached,
    Cache,
    Cluster,
    Core,
    Device,
    Enclosure,
    Equipment,
    Host,
    Interface,
    Library,
    Limit,
    Machine,
    MemoryModule,
    Network,
    NumaNode,
    Setting,
    Site,
    Switch,
    Tool,
    Toolchain,
    Uplink,
    Variant,
)
from steelyard.model.plan import Case, Effort, Launch, Plan, Sampling
from steelyard.model.record import (
    Attempt,
    Attempted,
    CaseSummary,
    Check,
    Evidence,
    LaunchTime,
    Record,
    Result,
    Value,
    Verdict,
)
from steelyard.model.run import Condition, Evaluation, Factors, Finding, Had, InTurn, Remedy, Run, Shown
from steelyard.model.scalars import About, Better, Count, Level, Parameters, Reach, Scalar, Whole

# fmt: off
__all__ = [
    "UNCHANGED",
    "About", "Attached", "Attempt", "Attempted", "Axes", "Benchmark", "Better", "Cache", "Case", "CaseSummary", "Check",
    "Cluster", "Condition", "Core", "Count", "Device", "Effort", "Enclosure", "Equipment", "Evaluation", "Evidence", "Factors",
    "Finding", "ForeignValue", "Had", "Host", "Imported", "InTurn", "Interface", "Launch", "LaunchTime", "Level", "Library",
    "Limit", "Machine", "MemoryModule", "Metric", "Network", "NumaNode", "Parameters", "Plan", "Reach", "Record", "Remedy",
    "Result", "Run", "Sampling", "Scalar", "Setting", "Shown", "Site", "Source", "Switch", "Tool", "Toolchain", "Uplink",
    "Value", "Variant", "Verdict", "Whole",
]
# fmt: on
