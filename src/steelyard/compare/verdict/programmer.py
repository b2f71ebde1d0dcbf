"""How programs use the system well: rules for a programmer."""

import math
from collections.abc import Iterator

from steelyard.compare.quantities import Reading, find_curve
from steelyard.compare.verdict.changes import suggest
from steelyard.compare.verdict.subject import FINDING, FINE, RANDOM, Sentence, Subject, count_in_words
from steelyard.model.units import binary_size, quantity, significant
from steelyard.model.words import plural
from steelyard.statistics.results.parameters import number

ENOUGH = 0.95  # of the bandwidth of all threads: further threads only share it
HIDDEN, EXPOSED = 1 / 1.5, 0.5  # of the ideal speed-up: threads hide the latency; they hide less than half of it
FAR = 1.5  # times the latency of the slowest reference system: threads then hide it, but it is no merit
# Networks for parallel programs deliver a short message in 1 to 2 µs; TCP over Ethernet takes 46 µs and more (published.csv).
FAST, SLOW = 5e-6, 25e-6  # seconds of a short message
SLOW_MESSAGE, SHORT = 100e-6, 64 << 10  # seconds and most bytes of another message
BESIDE = 9  # times a message's time: with so much work between two messages, they take a tenth of the time


def choose_threads(subject: Subject) -> Iterator[Sentence]:
    """Finds the number of threads from which on the bandwidth of the memory hardly grows."""
    triad = subject.get("triad")
    curve = find_curve(subject.cases, "triad")
    if not triad or len(curve) < 2:
        return
    most, best = max(curve), max(curve.values())
    fewest = min(threads for threads, bandwidth in curve.items() if bandwidth >= ENOUGH * best)
    share = curve[fewest] / curve[most]
    if fewest < most:
        text = (
            f"Load {fewest} of {most} cores with a memory-bound program: {plural(fewest, 'thread')} "
            f"{'reach' if fewest > 1 else 'reaches'} {significant(share, 2)} times the bandwidth of {most}."
        )
    else:
        first = min(curve)
        text = (
            f"Load all {most} cores with a memory-bound program: {plural(most, 'thread')} move "
            f"{significant(curve[most] / curve[first], 2)} times the bytes of {plural(first, 'thread')}."
        )
    yield Sentence(text=text, evidence=("triad",))


def choose_cores(subject: Subject) -> Iterator[Sentence]:
    """States how many cores of a node programs use well, by the finding "load"."""
    load = next((finding for finding in subject.findings if finding.rule == "load"), None)
    if load:
        yield Sentence(text=load.seen, evidence=(FINDING + load.rule,))


def state_intensity(subject: Subject) -> Iterator[Sentence]:
    """States from how many operations for each byte on the arithmetic is the limit of a loop."""
    triad, peak = subject.get("triad"), subject.get_peak()
    if triad and peak:
        yield Sentence(
            text=f"A loop waits for the memory below {significant(peak.number / triad.number, 2)} operations for each byte: "
            "reuse data in the caches.",
            evidence=(peak.quantity, "triad"),
        )


def judge_random_accesses(subject: Subject) -> Iterator[Sentence]:
    """Judges whether threads hide the latency of random accesses."""
    curve = find_curve(subject.cases, "random")
    if len(curve) < 2 or 1 not in curve:
        return
    most = max(curve)
    speedup = curve[1] / curve[most]
    efficiency = speedup / most
    start = f"{plural(most, 'thread')} make random accesses {significant(speedup)} times as fast as one thread"
    latency, others = subject.get("latency"), subject.others("latency")
    if latency and others and latency.number > FAR * others[-1][1].number:
        system, theirs = others[-1]
        start = f"{start}, but an access takes {latency.text} ({system}: {theirs.text})"
        yield Sentence(text=f"{start}.", evidence=("random", "latency"))
    elif efficiency >= HIDDEN:
        yield Sentence(text=f"{start}: use all of them.", evidence=("random",), good=(RANDOM,))
    elif efficiency < EXPOSED:
        yield Sentence(text=f"{start}: avoid programs that follow pointers.", evidence=("random",), weak=(RANDOM,))
    else:
        yield Sentence(text=f"{start}.", evidence=("random",))


def judge_messages(subject: Subject) -> Iterator[Sentence]:
    """Judges the time of a message against the arithmetic of a node, and states the work that should lie between two."""
    found = _message(subject)
    if found is None:
        return
    reading, what, seconds = found
    kind = f"{FINE} within the node" if reading.quantity == "inner_message" else FINE
    speed, of = _speed(subject)
    time = f"{what} takes {quantity(seconds, 's')}"
    cost = f"{time}, the time of {count_in_words(seconds * speed)} operations of {of}." if speed else f"{time}."
    short = reading.quantity != "pair"
    if seconds > (SLOW if short else SLOW_MESSAGE):
        yield Sentence(text=f"Do not run {kind}: {cost}", evidence=(reading.quantity,), weak=(kind,))
    elif short and seconds <= FAST:
        text = f"Run {kind}: {what} takes only {quantity(seconds, 's')}."
        yield Sentence(text=text, evidence=(reading.quantity,), good=(kind,))
    else:
        yield Sentence(text=f"{cost[0].upper()}{cost[1:]}", evidence=(reading.quantity,))
    yield Sentence(
        text=f"Compute at least {_round_up_time(BESIDE * seconds)} between two messages: then messages take at most 10 % "
        "of the time.",
        evidence=(reading.quantity,),
    )


def _message(subject: Subject) -> tuple[Reading, str, float] | None:
    """Returns the reading, what it is, and the seconds of one message; of a longer message without a short one."""
    if short := subject.get("message"):
        return short, "a short message", short.number
    pair = subject.get("pair")
    size = number(pair.parameters.get("message_bytes")) if pair else None
    if pair and size and size <= SHORT:
        return pair, f"a message of {binary_size(int(size))}", size / pair.number
    inner = subject.get("inner_message")
    return (inner, "a short message", inner.number) if inner else None


def _speed(subject: Subject) -> tuple[float, str]:
    """Returns the arithmetic speed of a node (flop/s) and its name; 0 if it is unknown."""
    if peak := subject.get_peak():
        return peak.number, "the node at peak speed"
    return (subject.growth.node_speed, "a node") if subject.growth else (0.0, "")


def place_memory(subject: Subject) -> Iterator[Sentence]:
    """Compares local memory with that of another socket."""
    local, remote = subject.get("local"), subject.get("remote")
    if local and remote and remote.number < local.number:
        yield Sentence(
            text=f"Keep data in the memory next to its threads: it gives {local.text}, the memory of another socket "
            f"{remote.text}.",
            evidence=("local", "remote"),
        )


def suggest_changes(subject: Subject) -> Iterator[Sentence]:
    """Suggests the changes of programs that findings name."""
    yield from suggest(subject.findings, "program")


def _round_up_time(seconds: float) -> str:
    """Returns the time with two digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return quantity(math.ceil(seconds / step * (1 - 1e-12)) * step, "s", 2)


RULES = (
    choose_threads,
    choose_cores,
    suggest_changes,
    judge_messages,
    judge_random_accesses,
    place_memory,
    state_intensity,
)
