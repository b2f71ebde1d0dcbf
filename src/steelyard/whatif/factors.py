"""POP's factors: of a replay, and of a measured run by its trace and a replay on a network on which messages cost nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from steelyard.errors import UsageError
from steelyard.model import Factors, Machine
from steelyard.whatif.engine import start
from steelyard.whatif.network import IDEAL
from steelyard.whatif.question import PS, Point, Question, group_points


@dataclass(frozen=True, kw_only=True)
class Efficiency:
    """POP's factors. Source: POP Centre of Excellence, standard metrics.

    `load_balance`: mean of the ranks' computing by its greatest; `serialisation`: the greatest by the time on an ideal
    network; `transfer`: that time by the real one. Their product is `parallel`.
    """

    load_balance: float
    serialisation: float
    transfer: float
    parallel: float


def compute_efficiency(computing: Sequence[float], ideal: float, time: float) -> Efficiency:
    """Returns the factors of ranks that compute so long, with the times on an ideal network and on the real one."""
    return Efficiency(
        load_balance=fmean(computing) / max(computing),
        serialisation=max(computing) / ideal,
        transfer=ideal / time,
        parallel=fmean(computing) / time,
    )


def factors(trace: Path, machine: Machine) -> Factors:
    """Returns the factors of a trace of ours. UsageError for other formats, and if no rank computes."""
    with start(trace, machine, 1e9) as running:
        traced = running.trace.traced
        if traced is None:
            raise UsageError(
                f"The trace '{trace}' has no measured time of its program. Give a folder that 'steelyard trace' wrote."
            )
        ((_, asked),) = group_points(Question((Point(network=IDEAL),)))
        reply = running.ask(f"{asked} accounts=yes")
    computing, ideal = [x / PS for x in reply["computing"]], reply["time"][0] / PS
    if not traced.time or not ideal or not max(computing):
        raise UsageError(f"No rank computes in the trace '{trace}', so it has no efficiency. Give another trace.")
    return Factors(
        name=trace.absolute().name,
        ranks=running.trace.ranks,
        time=traced.time,
        computing=sum(computing),
        **vars(compute_efficiency(computing, ideal, traced.time)),
    )
