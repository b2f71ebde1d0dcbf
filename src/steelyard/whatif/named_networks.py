"""The networks that the words of --network name."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.whatif import Network


def networks_named(words: list[str], runs: Path) -> "list[Network]":
    """In words, or what a run measured; each with each that is named for the ranks of one node."""
    from dataclasses import replace

    from steelyard import whatif
    from steelyard.errors import UsageError

    near = {whatif.inside(word): word for word in words if whatif.inside(word)}
    between = [word for word in words if not whatif.inside(word)]
    if len(near) + len(between) < len(words) or len(between) > 1:
        raise UsageError(
            "--network names one network, and one more each that begins with 'within:', 'socket:' and 'cache:'; a sweep has "
            "colons, such as L=1us:2us."
        )
    if between and "=" in between[0]:
        found = whatif.networks(between[0])
    else:
        from steelyard import evaluation, records

        if not between and not records.all_runs(runs):
            raise UsageError(
                f"No run in '{runs}' contains network measurements. Give the parameters (latency, overhead, time per byte), for "
                "example --network L=2us,o=1us,G=100ps/B, or measure them: steelyard run --only network.model"
            )
        run = evaluation.evaluate(records.find(runs, between[0] if between else None))
        found = [whatif.of_results(run.results, run.run.id)]
    for name, word in near.items():
        found = [replace(one, **{name: own}) for one in found for own in whatif.insides(word)]  # type: ignore[arg-type]
    return found
