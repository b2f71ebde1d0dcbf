"""Advice on the settings of the memory and on its modules."""

from steelyard.judge.findings.doctor.advice import Advice, report_unknown
from steelyard.measure.launch.scheduler import schedulers
from steelyard.measure.machine.files import natural
from steelyard.measure.machine.limits import bandwidth_unknown, limiting_memory
from steelyard.measure.machine.memory_modules import FOR_ROOT
from steelyard.model import Machine
from steelyard.model.units import binary_size

_HUGE_PAGE = 2 << 20


def transparent_huge_pages(machine: Machine) -> Advice:
    """Checks transparent huge pages, without which a case may measure the address translation instead of the memory."""
    why = (
        "With pages of 4 KiB, a large array needs more address translations than the processor can store (TLB). Accesses to "
        "distant addresses then measure the page tables, not the memory. They are two to four times slower at the worst "
        "corner."
    )
    policy = machine.setting("transparent_huge_pages")
    if policy.value is None:
        return report_unknown("transparent huge pages", policy, why)
    state = f"Transparent huge pages are set to '{policy.value}'."
    if policy.value != "never":
        return Advice("transparent huge pages", "fine", state, "Arrays get huge pages if a case asks for them.")
    remedy = "Allow huge pages for programs that ask for them. Nothing else changes."
    command = f"echo madvise | sudo tee {policy.source}"
    return Advice("transparent huge pages", "notice", state, why, remedy, command, root=True)


def reserved_huge_pages(machine: Machine) -> Advice:
    """Checks the reserved huge pages, which cases with explicit huge pages need."""
    why = (
        "The kernel may refuse transparent huge pages if memory is fragmented; reserved huge pages are certain. Steelyard "
        "leaves out cases with explicit huge pages if none are reserved."
    )
    reserve = machine.setting("huge_pages_2MiB")
    count = natural(reserve.value)
    if count is None:
        return report_unknown("reserved huge pages", reserve, why)
    gigantic = natural(machine.setting("huge_pages_1GiB").value)
    if count or gigantic:
        state = f"{count} huge pages of 2 MiB and {gigantic or 0} of 1 GiB are reserved."
        return Advice("reserved huge pages", "fine", state, why)
    # The advice takes at most a quarter of the memory, because other programs cannot use reserved pages.
    wanted = max(1, min(1024, machine.memory // 4 // _HUGE_PAGE))
    remedy = (
        f"Reserve some while you measure. {wanted} huge pages take {wanted * _HUGE_PAGE >> 20} MiB from other programs; "
        "write 0 to release them."
    )
    command = f"echo {wanted} | sudo tee {reserve.source}"
    return Advice("reserved huge pages", "notice", "No huge page is reserved.", why, remedy, command, root=True)


def numa_balancing(machine: Machine) -> Advice:
    """Checks automatic NUMA balancing, which moves pages during a measurement."""
    why = (
        "The kernel unmaps pages to find out which threads use them, and moves them to another memory node during a "
        "measurement. Remote memory becomes local, and page faults occur inside the samples."
    )
    balancing = machine.setting("numa_balancing")
    if not machine.nodes:
        return Advice("numa balancing", "unknown", "Unknown: no memory node could be read.", why)
    if len(machine.nodes) == 1:
        return Advice("numa balancing", "fine", "There is only one memory node.", why)
    if balancing.value is None:
        return report_unknown("numa balancing", balancing, why)
    if balancing.value == "off":
        return Advice("numa balancing", "fine", "Automatic NUMA balancing is off.", why)
    state = f"Automatic NUMA balancing is {balancing.value} on {len(machine.nodes)} memory nodes."
    remedy = "Switch it off while you measure. A restart switches it on again."
    command = "sudo sysctl kernel.numa_balancing=0"
    return Advice("numa balancing", "serious", state, why, remedy, command, root=True)


def memory_limit(machine: Machine) -> Advice:
    """Checks the memory limit of the control group, which makes arrays smaller or ends the process."""
    why = (
        "Steelyard keeps its arrays within the limit, so they may be too small for the rule of four times the caches. "
        "The kernel kills a process that uses more."
    )
    group_limit = machine.setting("memory_limit")
    limit = limiting_memory(machine)
    if group_limit.value is None:
        return report_unknown("memory limit", group_limit, why)
    if limit is None:
        return Advice("memory limit", "fine", "No control group limits the memory to less than there is.", why)
    state = f"A control group allows {binary_size(limit)} of memory."
    value = "-1" if group_limit.source.endswith("limit_in_bytes") else "max"
    words = "; ".join(f"{s.title}: {s.all_memory}" for s in schedulers().values() if s.all_memory)
    remedy = (
        "Remove the limit: start the container without --memory, or ask the batch system for more memory "
        f"(all memory of the node, {words})."
    )
    command = f"echo {value} | sudo tee {group_limit.source}"
    return Advice("memory limit", "notice", state, why, remedy, command, root=True)


def swap(machine: Machine) -> Advice:
    """Checks swap: a machine that swaps has too little free memory for a measurement."""
    why = "A page that is read from disk during a sample costs milliseconds instead of nanoseconds."
    used = machine.setting("swap_used")
    if used.value is None:
        return report_unknown("swap", used, why)
    if used.value == "none":
        return Advice("swap", "fine", "No memory is swapped out.", why)
    state = f"{used.value} of memory are swapped out to disk."
    remedy = "Free some memory, then read the swapped pages back."
    return Advice("swap", "notice", state, why, remedy, "sudo swapoff -a && sudo swapon -a", root=True)


def memory_channels(machine: Machine) -> Advice:
    """Checks the memory channels: empty or unequal channels cost bandwidth that no setting restores."""
    why = "Each channel adds bandwidth. With one filled channel, a desktop has half of its bandwidth and a server an eighth."
    modules, name = machine.modules, "memory channels"
    if not modules:
        state = bandwidth_unknown(machine)
        if machine.setting("memory_modules").value != FOR_ROOT:
            return Advice(name, "unknown", state, why)
        remedy = "Run this command once as root to read the firmware tables. No other check needs root rights."
        return Advice(name, "unknown", state, why, remedy, 'sudo "$(command -v steelyard)" doctor', root=True)
    sized = ", ".join(f"{module.slot}: {binary_size(module.size)} {module.kind}" for module in modules[:8])
    more = f" and {len(modules) - 8} more" if len(modules) > 8 else ""
    channels = {module.channel for module in modules}
    remedy = "Move or add modules so that each channel has the same amount. The manual of the board shows the slots."
    if len(modules) == 1 or (None not in channels and len(channels) == 1):
        state = f"All memory is on one channel ({sized}{more})."
        return Advice(name, "serious", state, why, remedy)
    if None not in channels:
        sizes = {sum(m.size for m in modules if m.channel == channel) for channel in channels}
        if len(sizes) > 1:
            state = f"The {len(channels)} memory channels hold different amounts ({sized}{more})."
            uneven = "Memory beyond the size of the smallest channel uses fewer channels and is slower."
            return Advice(name, "notice", state, uneven, remedy)
    counted = f"{len(modules)} modules" if None in channels else f"{len(modules)} modules on {len(channels)} channels"
    return Advice(name, "fine", f"{counted} ({sized}{more}).", why)
