"""What if: the trace of an application replayed under another network, lost packets, the system's noise, other cores.

The replay itself is a program of ours (`native/`), compiled where it is needed; `engine` talks with it.
"""

from steelyard.whatif.answer import Account, Answer, Detail, Prediction, Shares, answer
from steelyard.whatif.network import Network, Protocol, inside, insides, networks, of_results
from steelyard.whatif.perturbation import Loss, Noise, losses, noises
from steelyard.whatif.question import Places, Point, Question, places
from steelyard.whatif.speeds import Cores, Speed, cores
from steelyard.whatif.tree import ONE_SWITCH, Tree, trees

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
    "Shares",
    "Speed",
    "Tree",
    "answer",
    "cores",
    "inside",
    "insides",
    "losses",
    "networks",
    "noises",
    "of_results",
    "places",
    "trees",
]
