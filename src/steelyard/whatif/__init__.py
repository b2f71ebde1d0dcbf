"""Replays the trace of an application under another network, lost packets, system noise, or faster cores.

The replay is a program of its own (`native/`), which is compiled on first use; `engine` starts it and asks it.
"""

from steelyard.whatif.answer import Account, Answer, Detail, Prediction, answer
from steelyard.whatif.network import Network, Protocol, read_network
from steelyard.whatif.perturbation import Loss, Noise
from steelyard.whatif.question import Places, Point, Question
from steelyard.whatif.scenario import Scenario, load_scenario, read_scenario
from steelyard.whatif.scenario_points import list_points
from steelyard.whatif.speeds import Cores, Speed
from steelyard.whatif.tree import ONE_SWITCH, Tree

__all__ = [
    "ONE_SWITCH",
    "Account",
    "Answer",
    "Cores",
    "Detail",
    "Loss",
    "Network",
    "Noise",
    "Places",
    "Point",
    "Prediction",
    "Protocol",
    "Question",
    "Scenario",
    "Speed",
    "Tree",
    "answer",
    "list_points",
    "load_scenario",
    "read_network",
    "read_scenario",
]
