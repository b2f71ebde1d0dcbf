"""Rule: finds hosts that are the same machine, so that messages between them use no network."""

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Record
from steelyard.statistics.results import messages

NAMED = 8  # hosts that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding if the ranks of a record had several host names on one machine; otherwise nothing."""
    records = [r for r in evaluation.run.records if messages.hosts(r)]
    shared = [r for r in records if r.surroundings.ranks.colocated]
    if not shared:
        return []
    names = sorted({host for record in shared for host in messages.hosts(record)})
    claim = f"At least two of the hosts {_list_hosts(names)} are the same machine."
    if len(names) == 2:
        claim = f"The hosts {' and '.join(names)} are the same machine."
    evidence = (
        f"{len(shared)} of {len(records)} records with several ranks show the same boot identity of the kernel.",
        f"These records come from {_list_hosts(sorted({r.benchmark for r in shared}))}.",
        *_describe_processors(shared),
    )
    cause = (
        "The hosts are containers, network namespaces or entries of a host list for the same machine. The kernel of this "
        "machine copies the messages: no cable, network card or switch is measured. The ranks share processors, caches "
        "and memory."
    )
    remedy = advise(
        "Use these results only to test the setup. To measure a network, name hosts on different machines: ",
        "run --hosts a,b",
    )
    return [Finding("colocated", "notice", claim, evidence, cause, remedy, reach="figures")]


def _list_hosts(names: list[str]) -> str:
    further = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{further}"


def _describe_processors(shared: list[Record]) -> list[str]:
    crowded = sum(bool(r.surroundings.oversubscribed) for r in shared)
    return [f"{crowded} of these records had more ranks than processors."] if crowded else []
