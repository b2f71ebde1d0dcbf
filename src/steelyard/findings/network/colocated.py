"""Rule: hosts that share one machine, between which messages cross no network."""

from steelyard.model import Evaluation, Finding, Record
from steelyard.statistics.results import messages

NAMED = 8  # hosts that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding where a record's ranks saw several host names and one machine; otherwise nothing."""
    records = [r for r in evaluation.run.records if messages.hosts(r)]
    shared = [r for r in records if r.surroundings.ranks.colocated]
    if not shared:
        return []
    names = sorted({host for record in shared for host in messages.hosts(record)})
    reported = f"The hosts {_listed(names)} are not all machines of their own: at least two of them share one."
    if len(names) == 2:
        reported = f"The hosts {' and '.join(names)} share one machine."
    return [
        Finding(
            "colocated",
            "notice",
            reported,
            (
                f"It was so in {len(shared)} of {len(records)} records of many ranks; the kernel's boot identity tells it.",
                f"These records come from {_listed(sorted({r.benchmark for r in shared}))}.",
                *_processors(shared),
            ),
            "The hosts are containers, network namespaces or entries of a host list that name the same machine. Messages "
            "between them are copied by its kernel, and no cable, card or switch is measured; their ranks share processors, "
            "caches and memory, and each case spreads those that take part over the processors.",
            "Take it as a test of the set-up. To measure a network name hosts on different machines: steelyard run --hosts a,b",
            reach="figures",
        )
    ]


def _listed(names: list[str]) -> str:
    further = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{further}"


def _processors(shared: list[Record]) -> list[str]:
    crowded = sum(bool(r.surroundings.oversubscribed) for r in shared)
    return [f"In {crowded} of them there were more ranks than processors."] if crowded else []
