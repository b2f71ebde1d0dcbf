"""What disturbs a replay, in words: lost packets, and the system's noise."""

import math
from dataclasses import dataclass

from steelyard.errors import UsageError
from steelyard.whatif import wording

MSS = 1448  # B: TCP's payload in an Ethernet frame of 1500 B, with time stamps
RTO = 0.2  # s: the least time-out of Linux' TCP
PROBE = 0.002  # s: what Linux adds to two round trips before it probes
MOST_LOSS = 0.5  # from there on waits that double have no mean


@dataclass(frozen=True)
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


_LOSS = {
    "probability": wording.share,
    "rto": wording.time,
    "mss": wording.size,
    "backoff": wording.switch,
    "fast": wording.switch,
    "probe": wording.switch,
    "sack": wording.switch,
    "tick": wording.time,
}
_NOISE = {
    "period": wording.time,
    "duration": wording.time,
    "probability": wording.share,
    "together": wording.switch,
}


def losses(text: str) -> list[Loss]:
    """Those of 'probability=0.001,rto=200ms'."""
    found = [Loss(**values) for values in wording.settings(text, _LOSS, "--loss")]
    for loss in found:
        if loss.probability >= MOST_LOSS:
            raise UsageError(f"--loss: a probability of {loss.probability:g} is not below {MOST_LOSS:g}.")
    return found


def noises(text: str) -> list[Noise]:
    """Those of 'period=10ms,duration=50us', or of 'probability=0.01,duration=1ms'."""
    found = [Noise(**values) for values in wording.settings(text, _NOISE, "--noise")]
    for noise in found:
        if noise.probability and noise.period:
            raise UsageError("--noise: name a period or a probability, not both.")
        if noise.duration and not noise.probability and noise.duration >= noise.period:
            raise UsageError("--noise: an interruption must be shorter than its period.")
    return found
