"""POP's factors of a measured run, from its trace and a replay on a network on which messages cost nothing."""

from pathlib import Path
from statistics import fmean

from steelyard.errors import UsageError
from steelyard.model import Factors, Machine
from steelyard.whatif.engine import engine
from steelyard.whatif.network import IDEAL
from steelyard.whatif.question import PS, Point, Question, lines


def factors(trace: Path, machine: Machine) -> Factors:
    """Returns the factors of a trace of ours. UsageError for other formats, and if no rank computes."""
    with engine(trace, machine, 1e9) as running:
        traced = running.trace.traced
        if traced is None:
            raise UsageError(
                f"The trace '{trace}' has no measured time of its program. Give a folder that 'steelyard trace' wrote."
            )
        ((_, asked),) = lines(Question((Point(network=IDEAL),)))
        reply = running.ask(f"{asked} accounts=yes")
    computing, ideal = [x / PS for x in reply["computing"]], reply["time"][0] / PS
    if not traced.time or not ideal or not max(computing):
        raise UsageError(f"No rank computes in the trace '{trace}', so it has no efficiency. Give another trace.")
    return Factors(
        name=trace.absolute().name,
        ranks=running.trace.ranks,
        time=traced.time,
        computing=sum(computing),
        load_balance=fmean(computing) / max(computing),
        serialisation=max(computing) / ideal,
        transfer=ideal / traced.time,
        parallel=fmean(computing) / traced.time,
    )
