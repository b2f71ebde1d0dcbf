"""What the memory's settings and its modules do to a measurement."""

from steelyard.findings.doctor.advice import Advice, unknown
from steelyard.launch.scheduler import schedulers
from steelyard.machine.files import natural
from steelyard.machine.limits import bandwidth_unknown
from steelyard.machine.memory_modules import FOR_ROOT
from steelyard.machine.settings import setting
from steelyard.model import Machine
from steelyard.units import binary_size

_HUGE_PAGE = 2 << 20


def transparent_huge_pages(machine: Machine) -> Advice:
    """Without huge pages the address translation is measured instead of the memory."""
    why = (
        "With pages of 4 KiB a large array needs more translations than the processor can keep (TLB): "
        "accesses far apart then measure the page tables rather than the memory, two to four times slower "
        "at the worst corner."
    )
    known = setting(machine, "transparent_huge_pages")
    if known.value is None:
        return unknown("transparent huge pages", known, why)
    observed = f"Transparent huge pages are set to '{known.value}'."
    if known.value != "never":
        return Advice(
            "transparent huge pages", "fine", observed, "Arrays can get huge pages where a case asks for them."
        )
    remedy = "Let programs that ask for them have huge pages; nothing else changes."
    command = f"echo madvise | sudo tee {known.source}"
    return Advice("transparent huge pages", "notice", observed, why, remedy, command, root=True)


def reserved_huge_pages(machine: Machine) -> Advice:
    """Cases with explicit huge pages need a reserve."""
    why = (
        "Transparent huge pages are a wish that the kernel may refuse when memory is fragmented; reserved "
        "ones are certain. Cases that ask for explicit huge pages cannot run without a reserve, and are "
        "left out."
    )
    known = setting(machine, "huge_pages_2MiB")
    count = natural(known.value)
    if count is None:
        return unknown("reserved huge pages", known, why)
    gigantic = natural(setting(machine, "huge_pages_1GiB").value)
    if count or gigantic:
        observed = f"Reserved are {count} huge pages of 2 MiB and {gigantic or 0} of 1 GiB."
        return Advice("reserved huge pages", "fine", observed, why)
    # A quarter of the memory at most: what is reserved is lost to everything else.
    wanted = max(1, min(1024, machine.memory // 4 // _HUGE_PAGE))
    remedy = (
        f"Reserve some while you measure: {wanted} of them take {wanted * _HUGE_PAGE >> 20} MiB from "
        "everything else, and writing 0 gives them back."
    )
    command = f"echo {wanted} | sudo tee {known.source}"
    return Advice("reserved huge pages", "notice", "No huge page is reserved.", why, remedy, command, root=True)


def numa_balancing(machine: Machine) -> Advice:
    """Automatic balancing moves pages while we measure where they are."""
    why = (
        "The kernel unmaps pages to see who uses them, and moves them to another memory node in the "
        "middle of a measurement: remote memory turns local, and page faults appear inside of samples."
    )
    known = setting(machine, "numa_balancing")
    if not machine.nodes:
        return Advice("numa balancing", "unknown", "Not known: no memory node could be read.", why)
    if len(machine.nodes) == 1:
        return Advice("numa balancing", "fine", "There is one memory node: nothing to balance.", why)
    if known.value is None:
        return unknown("numa balancing", known, why)
    if known.value == "off":
        return Advice("numa balancing", "fine", "Automatic NUMA balancing is off.", why)
    observed = f"Automatic NUMA balancing is {known.value}, over {len(machine.nodes)} memory nodes."
    remedy = "Switch it off while you measure; a restart brings it back."
    command = "sudo sysctl kernel.numa_balancing=0"
    return Advice("numa balancing", "serious", observed, why, remedy, command, root=True)


def memory_limit(machine: Machine) -> Advice:
    """A control group's limit makes arrays smaller, or ends the process."""
    why = (
        "Arrays are sized within the limit: they may be too small for the rule of four times the caches. "
        "Memory beyond the limit is not refused: the process is killed."
    )
    known = setting(machine, "memory_limit")
    limit = natural((known.value or "").removesuffix(" B"))
    if known.value is None:
        return unknown("memory limit", known, why)
    if limit is None:
        return Advice("memory limit", "fine", "No control group limits the memory.", why)
    observed = f"A control group allows {binary_size(limit)} of memory."
    value = "-1" if known.source.endswith("limit_in_bytes") else "max"
    words = "; ".join(f"{s.title}: {s.all_memory}" for s in schedulers().values() if s.all_memory)
    remedy = (
        "Lift the limit: start the container without --memory; in a batch system ask for more memory "
        f"(all of the node, {words})."
    )
    command = f"echo {value} | sudo tee {known.source}"
    return Advice("memory limit", "notice", observed, why, remedy, command, root=True)


def swap(machine: Machine) -> Advice:
    """A machine that swaps has too little memory left to be measured."""
    why = "Pages that come back from the disk amid a sample cost milliseconds instead of nanoseconds."
    used = setting(machine, "swap_used")
    if used.value is None:
        return unknown("swap", used, why)
    if used.value == "none":
        return Advice("swap", "fine", "Nothing has been swapped out.", why)
    observed = f"{used.value} of memory have been swapped out to disk."
    remedy = "Free some memory, then fetch back what was swapped out."
    return Advice("swap", "notice", observed, why, remedy, "sudo swapoff -a && sudo swapon -a", root=True)


def memory_channels(machine: Machine) -> Advice:
    """Empty or unequal channels cost bandwidth that no setting brings back."""
    why = "Each channel adds its bandwidth: with one of them filled a desktop has half, a server an eighth."
    modules, name = machine.modules, "memory channels"
    if not modules:
        observed = bandwidth_unknown(machine)
        if setting(machine, "memory_modules").value != FOR_ROOT:
            return Advice(name, "unknown", observed, why)
        remedy = "Let root read the firmware's tables once; nothing else here needs root rights."
        return Advice(name, "unknown", observed, why, remedy, 'sudo "$(command -v steelyard)" doctor', root=True)
    sized = ", ".join(f"{module.slot}: {binary_size(module.size)} {module.kind}" for module in modules[:8])
    more = f" and {len(modules) - 8} more" if len(modules) > 8 else ""
    channels = {module.channel for module in modules}
    remedy = "Move or add modules so that each channel holds the same; the slots' order is in the board's manual."
    if len(modules) == 1 or (None not in channels and len(channels) == 1):
        observed = f"All memory is on one channel ({sized}{more})."
        return Advice(name, "serious", observed, why, remedy)
    if None not in channels:
        sizes = {sum(m.size for m in modules if m.channel == channel) for channel in channels}
        if len(sizes) > 1:
            observed = f"The {len(channels)} memory channels hold different amounts ({sized}{more})."
            uneven = "What exceeds the smallest channel is spread over fewer channels: that memory is slower."
            return Advice(name, "notice", observed, uneven, remedy)
    counted = f"{len(modules)} modules" if None in channels else f"{len(modules)} modules on {len(channels)} channels"
    return Advice(name, "fine", f"{counted} ({sized}{more}).", why)
