"""The physical limits of a machine: memory bandwidth from its modules, flop/s from its pipes."""

from collections.abc import Mapping

from steelyard.measure.machine.files import natural
from steelyard.measure.machine.memory_modules import FOR_ROOT
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Limit, Machine, MemoryModule
from steelyard.model.cores import known_cores, usable_cores
from steelyard.model.units import quantity

_CHANNEL_BYTES = 8  # JEDEC: a DDR to DDR5 channel moves 64 bits of data a transfer (DDR5: as two halves of 32)
_WITH_64_BIT_CHANNELS = ("DDR", "DDR2", "DDR2 FB-DIMM", "DDR3", "DDR4", "DDR5")


def limits(machine: Machine, true_clock: float | None) -> dict[str, Limit]:
    """Returns the limits of `machine`: "memory_bandwidth", "memory_bandwidth_node" (B/s) and "flops" (flop/s).

    A limit that the machine already has (from a system file) stays. `true_clock` is the measured core clock under load in hertz;
    without it there are no flops. Unknown limits are absent.
    """
    ceilings = dict(machine.limits)
    if "memory_bandwidth" not in ceilings:
        bandwidth, _ = bandwidth_limit(machine.modules)
        if bandwidth:
            ceilings["memory_bandwidth"] = bandwidth
    whole = ceilings.get("memory_bandwidth")
    with_memory = len(main_nodes(machine.nodes))
    if whole and with_memory and "memory_bandwidth_node" not in ceilings:
        share = f", divided evenly by {with_memory} memory nodes" if with_memory > 1 else ""
        ceilings["memory_bandwidth_node"] = Limit(whole.value / with_memory, "B/s", whole.source + share)
    if "flops" not in ceilings and true_clock and machine.fma_width and machine.fma_units:
        ceilings["flops"] = _limit_flops(machine, true_clock, machine.fma_width * machine.fma_units)
    return ceilings


def _limit_flops(machine: Machine, true_clock: float, doubles: int) -> Limit:
    """Returns cores × true clock × doubles per instruction × pipes × 2 (a multiplication and an addition)."""
    cores = usable_cores(machine)
    quota = " (a control group's quota)" if cores < known_cores(machine) else ""
    source = (
        f"{cores:g} cores{quota} × {quantity(true_clock, 'Hz')} true clock × "
        f"{machine.fma_width} doubles × {machine.fma_units} fused multiply-add units × 2"
    )
    return Limit(cores * true_clock * doubles * 2, "flop/s", source)


def limiting_quota(machine: Machine) -> float | None:
    """Returns the quota of processor time, in cores; None also if it is enough for all processors."""
    quota = machine.cpu_quota
    return None if quota is None or quota >= len(machine.cpus) > 0 else quota


def limiting_memory(machine: Machine) -> int | None:
    """Returns the memory limit of the control groups, in bytes; None also if it is not below the memory."""
    limit = natural((machine.setting("memory_limit").value or "").removesuffix(" B"))
    installed = sum(node.memory for node in machine.nodes)
    return None if limit is None or limit > machine.memory > 0 or limit >= installed > 0 else limit


def bandwidth_limit(modules: tuple[MemoryModule, ...]) -> tuple[Limit | None, str]:
    """Returns channels × transfers per second × 8 B and "", or None and the reason why it cannot be derived."""
    usable = [module for module in modules if module.kind in _WITH_64_BIT_CHANNELS]
    if not modules:
        return None, "no memory module is described"
    if not usable:
        kinds = ", ".join(sorted({module.kind for module in modules}))
        return None, f"the width of a channel is unknown for '{kinds}' memory"
    rates: dict[str, float] = {}
    named = all(module.channel for module in usable)
    for module in usable:
        if module.rate is None:
            return None, f"the firmware does not report the rate of the module in {module.slot}"
        # The modules of a channel run at the rate of its slowest.
        name = (module.channel if named else None) or module.slot
        rates[name] = min(module.rate, rates.get(name, module.rate))
    count = f"{len(rates)} channels" if named else f"{len(rates)} populated modules, each counted as one channel,"
    caution = "" if named else "; this limit is too high if modules share a channel"
    speeds = sorted({round(rate / 1e6) for rate in rates.values()})
    speed = " and ".join(str(rate) for rate in speeds)
    source = f"{count} × {speed} MT/s × {_CHANNEL_BYTES} B (SMBIOS){caution}"
    return Limit(sum(rates.values()) * _CHANNEL_BYTES, "B/s", source), ""


def bandwidth_unknown(machine: Machine) -> str:
    """Returns a sentence on why the limit of the memory bandwidth cannot be derived."""
    if machine.modules:
        _, reason = bandwidth_limit(machine.modules)
        return f"The limit of the memory bandwidth is unknown: {reason}."
    modules = machine.setting("memory_modules")
    if modules.value == FOR_ROOT:
        return f"Only root may read the description of the memory modules ({modules.source})."
    return f"No memory module is described{f': {modules.reason}' if modules.reason else ''}."


def explain_absent(ceilings: Mapping[str, Limit], machine: Machine) -> list[str]:
    """Returns a note if the limit of the memory bandwidth is unknown although modules are described."""
    if "memory_bandwidth" in ceilings or not machine.modules:
        return []
    return [f"{bandwidth_unknown(machine)} You can give it in a system file."]
