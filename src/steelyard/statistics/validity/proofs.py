"""The observations beside the slow records of a run, from which its cause follows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.model import Condition, Machine, Record
from steelyard.model.proofs import Proofs, Slow
from steelyard.statistics.validity.observations import Measured


def add_proofs(condition: Condition, records: Sequence[Record], machine: Machine) -> Condition:
    """Returns the condition of a run with the observations beside its slow records, from the accounts of the kernel."""
    slow = {kind: Slow(share=1 - had.full) for kind, had in condition.had.items()}
    disturbed = [r for r in records if r.verdict.level == "DISTURBED"] or records
    proofs = Proofs(hypervisor=machine.setting("hypervisor").value, slow=slow)
    # Accounts of several hosts are sums, of which each host has its own part.
    alone = [r.surroundings for r in disturbed if len(machine.hosts) <= 1]
    whole = [replace(one, machine_processors=one.machine_processors or machine.processors) for one in alone]
    cases = [Measured(np.empty(0), one) for one in whole]
    load = [account for case in cases if (account := case.others)]
    steal = [account for case in cases if (account := case.account(case.surroundings.processor_seconds.steal))]
    if load:
        others = sum(a.seconds for a in load) / sum(a.elapsed for a in load)
        stolen = sum(a.seconds for a in steal) / sum(a.processors * a.elapsed for a in steal) if steal else None
        proofs = replace(proofs, processors=int(max(a.processors for a in load)), others=others, steal=stolen)
    return replace(condition, proofs=proofs)
