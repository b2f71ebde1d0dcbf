"""The data types of Steelyard: frozen dataclasses without behaviour. All values are in SI units.

They have slots, since msgspec writes objects without slots without their defaults. This package imports no other package of ours.
"""

from steelyard.model.benchmark import Axes, Benchmark, Metric, Source
from steelyard.model.machine import (
    Cache,
    Core,
    Device,
    Enclosure,
    Host,
    Library,
    Limit,
    Machine,
    MemoryModule,
    NumaNode,
    Setting,
    Site,
    Tool,
    Toolchain,
)
from steelyard.model.plan import Case, Effort, Launch, Plan, Sampling
from steelyard.model.record import Check, Evidence, Record, Result, Value, Verdict
from steelyard.model.run import Condition, Evaluation, Factors, Finding, Had, InTurn, Run, Shown
from steelyard.model.scalars import About, Better, Count, Level, Parameters, Reach, Scalar, Whole

# fmt: off
__all__ = [
    "About", "Axes", "Benchmark", "Better", "Cache", "Case", "Check", "Condition", "Core", "Count", "Device", "Effort",
    "Enclosure", "Evaluation", "Evidence", "Factors", "Finding", "Had", "Host", "InTurn", "Launch", "Level", "Library", "Limit",
    "Machine", "MemoryModule", "Metric", "NumaNode", "Parameters",
    "Plan", "Reach", "Record", "Result", "Run", "Sampling", "Scalar", "Setting", "Shown",
    "Site", "Source", "Tool", "Toolchain", "Value", "Verdict", "Whole",
]
# fmt: on
