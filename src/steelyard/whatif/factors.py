"""POP's factors of a program as it ran: from its trace, and a replay on a network on which messages cost nothing."""

from pathlib import Path
from statistics import fmean

from steelyard.errors import UsageError
from steelyard.model import Factors, Machine
from steelyard.whatif.engine import engine
from steelyard.whatif.network import IDEAL
from steelyard.whatif.question import PS, Point, Question, lines


def factors(trace: Path, machine: Machine) -> Factors:
    """Of a trace of ours, which alone has the time that was measured. UsageError for any other, and where nothing is computed."""
    with engine(trace, machine, 1e9) as running:
        traced = running.trace.traced
        if traced is None:
            raise UsageError(
                f"The trace '{trace}' does not say how long its program took. Expected is a folder of 'steelyard trace'."
            )
        ((_, asked),) = lines(Question((Point(network=IDEAL),)))
        found = running.ask(f"{asked} accounts=yes")
    computing, ideal = [x / PS for x in found["computing"]], found["time"][0] / PS
    if not traced.time or not ideal or not max(computing):
        raise UsageError(f"In the trace '{trace}' no rank computes: there is nothing to be shared out.")
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
