"""The nouns of Steelyard: frozen dataclasses, no behaviour beyond their own identity. SI units throughout.

They have slots: without, what msgspec read back would be written without its defaults. Imports nothing else of ours.
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
from steelyard.model.run import Evaluation, Factors, Finding, InTurn, Run, Shown
from steelyard.model.scalars import Better, Count, Level, Parameters, Reach, Scalar, Whole

# fmt: off
__all__ = [
    "Axes", "Benchmark", "Better", "Cache", "Case", "Check", "Core", "Count", "Device", "Effort", "Enclosure", "Evaluation",
    "Evidence", "Factors", "Finding", "Host", "InTurn", "Launch", "Level", "Library", "Limit", "Machine", "MemoryModule",
    "Metric", "NumaNode", "Parameters", "Plan", "Reach", "Record", "Result", "Run", "Sampling", "Scalar", "Setting", "Shown",
    "Site", "Source", "Tool", "Toolchain", "Value", "Verdict", "Whole",
]
# fmt: on
