"""The disturbances of a replay: lost packets and system noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from steelyard.whatif import wording

MSS = 1448  # B: TCP's payload in an Ethernet frame of 1500 B, with time stamps
RTO = 0.2  # s: smallest time-out of TCP in Linux
PROBE = 0.002  # s that Linux adds to two round trips before it probes
MOST_LOSS = 0.5  # from here on, waits that double have no mean


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Lost packets (lost messages if `mss` is 0) with their probability, and how TCP sends them again."""

    probability: float = 0.0
    rto: float = RTO  # s: the first wait
    mss: int = MSS  # B
    backoff: bool = True  # the wait doubles with each further loss
    fast: bool = True  # fast retransmit: a loss before the last three packets costs a round trip
    probe: bool = False  # tail-loss probe: with several packets, the first wait is two round trips and 2 ms
    sack: bool = False  # the next packet of the connection reveals a loss; only in event mode
    once: bool = False  # each lost message, of any size, waits exactly one RTO; the probability may be 1
    tick: float = 0.0  # s: length of a tick of the kernel's timers

    def round_to_ticks(self, wait: float) -> float:
        """Returns the mean time in s of a timer set to `wait` s: it runs to the end of a tick and is never early.

        The timer also has a round trip, which adds one tick.
        """
        return wait if self.tick == 0 else self.tick * (math.floor(wait / self.tick * (1 + 1e-9)) + 1.5)


@dataclass(frozen=True)
class Noise:
    """Interruptions of `duration` s each `period` s, or before a share `probability` of the computations."""

    period: float = 0.0
    duration: float = 0.0
    probability: float = 0.0
    together: bool = False  # all ranks at the same moments
    recording: str = ""  # run or file with recorded noise, instead of period and duration

    @property
    def any(self) -> bool:
        """Returns whether there are interruptions."""
        return self.duration > 0 or bool(self.recording)


LOSS = {
    "probability": wording.SHARE,
    "rto": wording.TIME,
    "mss": wording.SIZE,
    "backoff": wording.SWITCH,
    "fast": wording.SWITCH,
    "probe": wording.SWITCH,
    "sack": wording.SWITCH,
    "once": wording.SWITCH,
    "tick": wording.TIME,
}
NOISE = {
    "period": wording.TIME,
    "duration": wording.TIME,
    "probability": wording.SHARE,
    "together": wording.SWITCH,
    "recording": wording.NAME,
}


def make_loss(values: Mapping[str, Any]) -> Loss:
    """Returns the loss of the keys in `LOSS`. ValueError if so many packets are lost that the waits have no mean."""
    made = Loss(**values)
    without = [name for name in ("backoff", "fast", "probe", "sack", "mss") if name in values]
    if made.once and without:
        raise ValueError(f"with once=on, each lost message waits one RTO, so '{without[0]}' has no meaning: omit it")
    if made.probability >= MOST_LOSS and not made.once:
        raise ValueError(
            f"a probability of {made.probability:g} is too high: expected less than {MOST_LOSS:g}, or once=on, so that "
            "each lost message waits exactly one RTO"
        )
    return made


def make_noise(values: Mapping[str, Any]) -> Noise:
    """Returns the noise of the keys in `NOISE`. ValueError if these contradict each other."""
    made = Noise(**values)
    if made.recording and len(values) > 1:
        raise ValueError(
            "a recording already contains the times of its interruptions: give either the recording or the other keys"
        )
    if made.probability and made.period:
        raise ValueError("name a period or a probability, not both")
    if (made.probability or made.period) and "duration" not in values:
        raise ValueError("interruptions need a duration: add it, for example duration=50us")
    if made.duration and not values.keys() & {"probability", "period"}:
        raise ValueError("it is unknown when interruptions come: add 'period' or 'probability', such as period=10ms")
    if not made.probability and made.period <= made.duration and made.period:
        raise ValueError("an interruption must be shorter than its period")
    return made if made.probability or made.period else replace(made, duration=0.0)
