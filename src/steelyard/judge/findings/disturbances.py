"""The disturbances of a run: how many results each one concerns, and how to avoid it on the measured machine."""

from collections import Counter
from collections.abc import Iterable

from steelyard.judge.findings import settings
from steelyard.model import Machine, Result
from steelyard.model.proofs import WSL
from steelyard.statistics.validity.verdict import name_disturbance

UNNAMED = "an unnamed cause"
_REMEDIES = {
    UNNAMED: "Measure again on a quiet machine.",
    "competing load": "Stop other programs on this machine (top shows them).",
    "steal": "Ask for dedicated processors, or measure while the host has little other load.",
    "device clock": "Cool the device, or raise its power limit (nvidia-smi -q -d PERFORMANCE,POWER shows the reason).",
    "interrupts": "Move device interrupts away from the measured cores (irqbalance, smp_affinity).",
    "oversubscribed": "Use at most as many threads as there are processors.",
    "bimodal": "Pin the threads, and check what alternates: page placement, clock, or another program.",
    "drift": "Wait until the temperature of the machine is steady, or measure longer.",
}
OF_HOST = ("steal", "core clock", "shared core", "shared memory")  # disturbances that the load of a host causes
_MESSAGES = {
    True: "Measure while the network and the other hosts have no other load.",
    False: "Stop other programs on this machine, which can take processors from the ranks, or space in their cache.",
}


def count(results: Iterable[Result]) -> Counter[str]:
    """Returns the number of disturbed results by their first cause."""
    return Counter(name(result) or UNNAMED for result in results if result.verdict.level == "DISTURBED")


def name(result: Result) -> str:
    """Returns the first cause of a disturbed result; "" for all other results."""
    return (name_disturbance(result.verdict) or "") if result.verdict.level == "DISTURBED" else ""


def suggest_remedy(kind: str, machine: Machine) -> str:
    """Returns how to avoid this kind of disturbance on this machine; "" for an unknown kind."""
    if machine.setting("hypervisor").value == WSL and kind in OF_HOST:
        return "Close the programs of Windows while you measure: Windows shares the processors and the memory."
    special = {
        "throttled": lambda: settings.suggest(machine, "processor quota") or "Remove the limit of the processor time.",
        "page faults": lambda: settings.suggest(machine, "swap", "numa balancing") or "Free some memory.",
        "core clock": lambda: settings.suggest_fixed_clock(machine),
        "shared core": lambda: settings.suggest_free_cores(machine),
        "shared memory": lambda: _suggest_free_memory(machine),
        "slow messages": lambda: _MESSAGES[len(machine.hosts) > 1],
    }
    return special[kind]() if kind in special else _REMEDIES.get(kind, "")


def _suggest_free_memory(machine: Machine) -> str:
    host = ", or use a dedicated host" if machine.is_virtual else ""
    return f"Measure while no other program uses the memory (--wait 30m waits at most 30 minutes for this){host}."
