"""What disturbs a replay, in words: lost packets, and the system's noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.whatif import wording

MSS = 1448  # B: TCP's payload in an Ethernet frame of 1500 B, with time stamps
RTO = 0.2  # s: the least time-out of Linux' TCP
PROBE = 0.002  # s: what Linux adds to two round trips before it probes
MOST_LOSS = 0.5  # from there on waits that double have no mean


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Each packet, or each message where `mss` is 0, is lost with `probability`, and sent again as TCP does it."""

    probability: float = 0.0
    rto: float = RTO  # s: the first wait
    mss: int = MSS  # B
    backoff: bool = True  # the wait doubles with each further loss
    fast: bool = True  # fast retransmit: what is lost before the last three packets costs a round trip
    probe: bool = False  # tail-loss probe: of several packets, the first wait is two round trips and 2 ms
    sack: bool = False  # what follows on the connection reveals a loss; in event mode
    tick: float = 0.0  # s: the kernel's timers count ticks of that length

    def counted(self, wait: float) -> float:
        """How long a timer set to `wait` s takes on average: it runs to the end of a tick, and never too short.

        Beyond `wait` lies a little more, a round trip, which makes it one tick more.
        """
        return wait if self.tick == 0 else self.tick * (math.floor(wait / self.tick * (1 + 1e-9)) + 1.5)


@dataclass(frozen=True)
class Noise:
    """Interruptions of `duration` s each `period` s; or of one computation in so many, where `probability` is above 0."""

    period: float = 0.0
    duration: float = 0.0
    probability: float = 0.0
    together: bool = False  # all ranks at the same moments
    recording: str = ""  # the name of what was recorded, instead of period and duration

    @property
    def any(self) -> bool:
        """Whether there is some."""
        return self.duration > 0 or bool(self.recording)


LOSS = {
    "probability": wording.SHARE,
    "rto": wording.TIME,
    "mss": wording.SIZE,
    "backoff": wording.SWITCH,
    "fast": wording.SWITCH,
    "probe": wording.SWITCH,
    "sack": wording.SWITCH,
    "tick": wording.TIME,
}
NOISE = {
    "period": wording.TIME,
    "duration": wording.TIME,
    "probability": wording.SHARE,
    "together": wording.SWITCH,
    "recording": wording.NAME,
}


def loss(values: Mapping[str, Any]) -> Loss:
    """Returns the loss of the keys in `LOSS`. ValueError if so many packets are lost that the waits have no mean."""
    made = Loss(**values)
    if made.probability >= MOST_LOSS:
        raise ValueError(f"a probability of {made.probability:g} is too high: expected less than {MOST_LOSS:g}")
    return made


def noise(values: Mapping[str, Any]) -> Noise:
    """Returns the noise of the keys in `NOISE`. ValueError if these contradict each other."""
    made = Noise(**values)
    if made.recording and len(values) > 1:
        raise ValueError("a recording has its own moments: name either the recording or the other keys")
    if made.probability and made.period:
        raise ValueError("name a period or a probability, not both")
    if made.duration and not made.probability and made.duration >= made.period:
        raise ValueError("an interruption must be shorter than its period")
    return made
