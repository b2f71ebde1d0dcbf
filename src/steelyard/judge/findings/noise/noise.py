"""Rule: measures the time that the operating system takes from the ranks, its rhythm, and its cost for ranks that wait."""

from collections.abc import Sequence

from steelyard.judge.findings.noise._waiting_losses import Loss, find_thread_loss, rank_losses
from steelyard.measure.benchmarks.noise import series
from steelyard.model import Evaluation, Finding, Machine, Record, Result
from steelyard.model.units import quantity, significant
from steelyard.statistics.models.detours import Detours, expected_collective_slowdown
from steelyard.statistics.models.spectrum import Tone
from steelyard.statistics.results import cases
from steelyard.statistics.results.result import rests_on

BENCHMARK = "noise.quanta"
LOST, SLOWER = 0.01, 0.05  # shares of the time: smaller losses disappear in the differences between launches
BURSTS = (1e-4, 1e-3, 1e-2)  # seconds of computing between two synchronisations; the middle value is judged
MANY = 1024  # ranks for which the effect is also predicted on a small machine
FASTEST = 4.0  # quanta in a period: a rhythm with fewer may be an alias of another one
TICKS = (100.0, 250.0, 300.0, 1000.0)  # tick rates that Linux offers, in Hz

REMEDY = (
    "Leave one core of each node to the system. Keep daemons and interrupts off the other cores (isolcpus, nohz_full, "
    "irqbalance), and check which other programs run (top)."
)


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding from the fixed work quanta on the most processors, with the measured loss of collectives."""
    quanta = [r for r in evaluation.results if (r.benchmark, r.kernel) == (BENCHMARK, "fixed_work")]
    for result in cases.select_greatest(quanta, "threads"):
        for record in rests_on(result):
            detours = _read_median_detours(record)
            if detours:
                return [_make_finding(evaluation, result, record, detours)]
    return []


def _read_median_detours(record: Record) -> Detours | None:
    try:
        return series.median_detours(record)
    except (KeyError, TypeError, ValueError, AttributeError):  # details that another program wrote
        return None


def _make_finding(evaluation: Evaluation, result: Result, record: Record, detours: Detours) -> Finding:
    machine = evaluation.run.machine
    ranks = max(2, sum(host.slots for host in machine.hosts) or len(machine.cpus))
    slower = expected_collective_slowdown(detours, ranks, BURSTS[1]).slowdown
    claim = (
        f"The operating system takes {quantity(detours.lost, '%', 2)} of a processor's time{_describe_detours(detours)}. "
        f"{ranks} ranks that synchronise after every {quantity(BURSTS[1], 's', 1)} of computing should take "
        f"{quantity(slower, '%', 2)} longer.{cases.caution(result)}"
    )
    rhythms = _remove_multiples(series.tones(record), detours.base)
    threads = find_thread_loss(record, [s for _, s in series.threads_with_detours(record)], detours)
    evidence = (
        *map(_describe_rhythm, rhythms),
        *(_write_expected_line(detours, n) for n in sorted({ranks, max(MANY, ranks)})),
        *map(_describe_loss, [*([threads] if threads else []), *rank_losses(evaluation, detours)]),
    )
    if detours.lost <= LOST and slower <= SLOWER:
        return Finding(
            "noise",
            "good",
            claim,
            evidence,
            "The noise of the system is low enough for this number of ranks.",
            "",
            BENCHMARK,
        )
    cause, effect = _explain_cause(machine, result, rhythms), 1 + max(slower, detours.lost)
    brief = f"The operating system takes {quantity(detours.lost, '%', 2)} of a processor's time."
    act = "keep daemons and interrupts on one core: isolcpus, nohz_full, irqbalance"
    return Finding("noise", "notice", claim, evidence, cause, REMEDY, BENCHMARK, effect=effect, brief=brief, action=act)


def _describe_detours(detours: Detours) -> str:
    if detours.greatest is None:
        return ", without single detours"
    return (
        f", in {significant(detours.count / detours.seconds)} interruptions (detours) per second of up to "
        f"{quantity(detours.greatest, 's')}"
    )


def _remove_multiples(tones: Sequence[Tone], quantum: float) -> list[Tone]:
    """Removes the multiples of a slower frequency (one thread's tone may be another's overtone) and too fast tones."""
    kept: list[Tone] = []
    for tone in sorted((t for t in tones if t.period > FASTEST * quantum), key=lambda t: t.frequency):
        multiples = ((round(tone.frequency / f.frequency), f) for f in kept)
        if not any(n > 1 and abs(tone.frequency - n * f.frequency) <= 2 * n * f.resolution for n, f in multiples):
            kept.append(tone)
    return sorted(kept, key=lambda t: -t.strength)


def _is_tick(tone: Tone) -> bool:
    return any(abs(tone.frequency - t) <= 2 * tone.resolution for t in TICKS)


def _describe_rhythm(tone: Tone) -> str:
    what = ": the timer tick of the kernel" if _is_tick(tone) else ""
    return f"Detours come at {quantity(tone.frequency, 'Hz')}, every {quantity(tone.period, 's')}{what}."


def _write_expected_line(detours: Detours, ranks: int) -> str:
    slowdowns = (expected_collective_slowdown(detours, ranks, burst) for burst in BURSTS)
    parts = (f"{quantity(s.slowdown, '%', 2)} for {quantity(s.burst, 's', 1)}" for s in slowdowns)
    return (
        f"Expected slowdown of {ranks} ranks with this noise, by the computing time between synchronisations: "
        f"{', '.join(parts)}."
    )


def _describe_loss(loss: Loss) -> str:
    return (
        f"Measured: {loss.what} that synchronised after each {quantity(loss.burst, 's')} took "
        f"{quantity(loss.measured, '%', 2)} longer on average. The detours explain {quantity(loss.expected, '%', 2)}."
    )


def _explain_cause(machine: Machine, result: Result, rhythms: Sequence[Tone]) -> str:
    who = ["the timer tick of the kernel"] if any(map(_is_tick, rhythms)) else []
    who += ["other programs"] if result.verdict.level == "DISTURBED" else []
    who += ["daemons", "interrupts", *(["the hypervisor"] if machine.is_virtual else [])]
    return f"Likely causes: {', '.join(who)}. With more ranks, an interruption of one of them becomes more likely."
