"""The cause of slow cores or of a slow memory, as far as observations prove it.

Processes of this machine come first, then what only a hypervisor can explain. Without a proof, the text says what was observed.
"""

from enum import Enum

from steelyard.model.observed import Kind
from steelyard.model.proofs import WSL, Proofs, Slow
from steelyard.model.units import percent
from steelyard.model.words import plural
from steelyard.statistics.validity.measures import MEASURES

SOME_LOAD = 0.05  # share of the processors: idle machines have less
SOME_STEAL = 0.02  # share of the time of ready threads
EXPLAINED = 1 / 3  # share of the slow readings that a load must be able to explain, to be the cause
# A busy thread slows at most its own hardware thread and a sibling, which a guest may not know. One core takes up to an eighth
# of the bandwidth that all cores reach.
SLOWED_CORES, SLOWED_MEMORY = 2, 8


class Cause(Enum):
    """Why the cores, the memory or messages were slow. From `CLOCK` on, only the slow part is known and not its cause."""

    NONE = "nothing was slow"
    PROCESSES = "other processes of this machine"
    STEAL = "the hypervisor did not run ready threads"
    OTHER_GUEST = "another user of the cores outside this machine"
    CLOCK = "slow clock"
    CORES = "slow cores"
    MEMORY = "slow memory"
    MESSAGES = "slow messages"


def find_cause(proofs: Proofs) -> Cause:
    """Returns the cause that the observations prove; if they prove none, the part that was slow."""
    cores, memory = _max_share(proofs, "issued"), _max_share(proofs, "stream", "chase")
    clock, messages = _max_share(proofs, "core_clock"), _max_share(proofs, "exchange")
    worst = max(cores, memory, clock, messages)
    of_cores = cores > 0 and cores >= worst * EXPLAINED
    load = (proofs.others or 0.0) / max(1, proofs.processors)
    explained = min(1.0, load * (SLOWED_MEMORY if memory == worst and not of_cores else SLOWED_CORES))
    if load >= SOME_LOAD and explained >= EXPLAINED * worst:
        return Cause.PROCESSES
    if proofs.stolen >= SOME_STEAL:
        return Cause.STEAL
    if of_cores:
        idle = proofs.others is not None and explained < EXPLAINED * cores
        return Cause.OTHER_GUEST if idle and proofs.hypervisor not in (None, "none") else Cause.CORES
    if not worst:
        return Cause.NONE
    return {memory: Cause.MEMORY, clock: Cause.CLOCK}.get(worst, Cause.MESSAGES)


def explain(proofs: Proofs) -> str:
    """Returns one to three sentences on the cause, or on what was observed; "" if nothing was slow."""
    cause = find_cause(proofs)
    own = "" if proofs.others is None else f"{proofs.others:.1f} of {proofs.processors} processors."
    whole = f"Other processes of this machine used {own}" if own else ""
    if cause is Cause.PROCESSES and proofs.largest:
        first = f"{proofs.largest} used {proofs.largest_processors:.1f} of {proofs.processors} processors."
        total = f" With it, the processes of this machine used {own}"
        whole = first + (total if proofs.largest_processors < 0.9 * (proofs.others or 0.0) else "")
    elif cause is Cause.CORES and not own and proofs.load_average is not None:
        average = f"The load average of the last minute is {proofs.load_average:.2f} tasks"
        on = f" on {plural(proofs.processors, 'processor')}" if proofs.processors else ""
        whole = f"{average}{on}: check with top which programs run."
    other = "Another user of this host, probably another virtual machine,"
    user = "Windows or its programs" if proofs.hypervisor == WSL else other
    words = {
        Cause.NONE: "",
        Cause.PROCESSES: whole,
        Cause.STEAL: f"The hypervisor{_name_host(proofs)} did not run ready threads of this machine for {percent(proofs.stolen)} "
        "of their time (steal): other guests or the host used the processors.",
        Cause.OTHER_GUEST: f"{user} slowed the cores{_state(proofs, 'issued')}. {whole}",
        Cause.CLOCK: f"The clock of the cores was lower than {_state(proofs, 'core_clock', best=True)}.",
        Cause.CORES: f"The cores were slower than {_state(proofs, 'issued', best=True)}. {whole}",
        Cause.MEMORY: f"The memory was slower than {_state(proofs, 'chase', 'stream', best=True)}.",
        Cause.MESSAGES: "Messages between the ranks were slower than at best.",
    }
    return words[cause].strip()


def _state(proofs: Proofs, *kinds: Kind, best: bool = False) -> str:
    """Returns for example: in earlier runs since 2026-01-01: in 99 % of the readings, an access took 120 ns instead of 100."""
    kind = max(kinds, key=lambda kind: _max_share(proofs, kind))
    one = proofs.slow.get(kind, Slow(share=0.0))
    earlier = "in earlier runs" + (f" since {proofs.since[:10]}" if proofs.since else "")
    when = (earlier if one.steady else "at best") if best else ""
    if not one.typical or not one.best:
        return when
    measure = MEASURES[kind]
    slow = measure.words.format(measure.written(one.typical))
    return f"{when}: in {percent(one.share)} of the readings, {slow} instead of {measure.written(one.best)}"


def _name_host(proofs: Proofs) -> str:
    return "" if proofs.hypervisor in (None, "none", "unnamed") else f" ({proofs.hypervisor})"


def _max_share(proofs: Proofs, *kinds: Kind) -> float:
    return max((proofs.slow[kind].share for kind in kinds if kind in proofs.slow), default=0.0)
