"""Verdict on a case: CLEAN, DISTURBED or INVALID, with the evidence."""

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.model import Check, Evidence, Level, Record, Verdict
from steelyard.model.devices import on_device
from steelyard.model.evidence import noted
from steelyard.model.observed import Around, Observed, Pace, ProcessorSeconds, Samples
from steelyard.model.units import percent
from steelyard.statistics.samples.interval import Array, find_median, quantile_of
from steelyard.statistics.validity import pace
from steelyard.statistics.validity.disturbances import RULES, competing_load
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.observations import Measured, times

# Of a sample. Below 0.1 % the clock does not matter (the harness makes samples that long). Up to 1 % the
# figure is still right within half of the interval that is usually asked, and repeating would not help: it
# stays CLEAN, and says so. Beyond 1 % the clock was measured, not the kernel.
CLOCK_NOTED, CLOCK_INVALID = 0.001, 0.01
SAME_TIME = 0.02  # share of a sample by which the host's time may exceed that of the device's own clock
# In the sentences of earlier versions on time that was added over processors, but judged as if it were that of one.
OF_ONE_PROCESSOR = ("of the time of the case (", "cores of the machine busy", "page faults (about")
OF_PACE = {measure.cause for measure in MEASURES.values()}


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the places of the disturbed samples, which figures must not use.

    If too few samples would be left, none is left out, and the case is DISTURBED.
    """

    verdict: Verdict
    aside: tuple[int, ...] = ()


def judgement(
    samples: Sequence[float],
    surroundings: Observed,
    check: Check | None,
    error: str | None = None,
    bounds: pace.Bounds = pace.UNBOUNDED,
) -> Judgement:
    """Returns the verdict on one case of one launch, and the samples that are left out.

    `samples` are seconds per operation in the order of time. `surroundings` are the observations of the harness; missing
    ones are not judged. `check` is the kernel's own test of its result, `error` the reason why it failed, and `bounds` the
    best pace of the machine.

    INVALID: an error, a failed check, no samples, impossible times, or a clock that is too coarse for them. Few samples
    alone are not INVALID; they give no interval. DISTURBED: too few samples had undisturbed surroundings, or a rule of
    `disturbances` found something that can change their median. CLEAN: otherwise; its evidence then has the observations
    that did not matter.
    """
    if error is not None:
        return Judgement(Verdict("INVALID", (noted("error", error),)))
    return _judge_case(Measured(np.asarray(samples, dtype=np.float64), surroundings), check, bounds)


def _judge_case(case: Measured, check: Check | None, bounds: pace.Bounds) -> Judgement:
    row = case.row
    sound = bool(row.size) and bool(times(row).all())
    invalid = [*_list_wrong(row, sound, check), *_judge_resolution(case, CLOCK_INVALID)]
    if not sound:
        return Judgement(Verdict("INVALID", tuple(invalid)))
    choice = pace.choose(case, bounds)
    kept = case.only(~choice.aside) if choice.enough else case
    # A process that used the processor in many samples also changed the caches for the others.
    observations = [outcome for rule in RULES if (outcome := rule(case if rule is competing_load else kept))]
    disturbing = [observation.evidence for observation in observations if observation.disturbed]
    harmless = [observation.evidence for observation in observations if not observation.disturbed]
    if not choice.enough:
        disturbing = list(_select_first_of_each_kind([*choice.evidence, *disturbing]))
    elif choice.aside.any():
        harmless = [_set_aside(choice), *(h for h in harmless if h.kind != "competing load")]
    if invalid:
        return Judgement(Verdict("INVALID", (*invalid, *disturbing)))
    aside = tuple(int(i) for i in np.flatnonzero(choice.aside)) if choice.enough else ()
    if not choice.enough and not disturbing:
        disturbing = [_set_aside(choice)]
    level: Level = "DISTURBED" if disturbing else "CLEAN"
    if disturbing:
        disturbing += _note_range(case)
    return Judgement(Verdict(level, (*disturbing, *harmless, *_judge_resolution(case, CLOCK_NOTED))), aside)


def judge_again(record: Record, bounds: pace.Bounds, processors: int | None = None) -> Record:
    """Returns the record judged by these bounds; the same record if no bound concerned it before or does now.

    `processors` is the number of processors of the machine, which older records do not have. Their accounts were added over
    processors and judged as if they were of one.
    """
    around = _follow(record)
    untouched = not record.aside and not any(map(_depends, record.verdict.evidence)) and around is record.surroundings
    if around.machine_processors is None and processors:
        around = replace(around, machine_processors=processors)
    if untouched and record.samples and not pace.find_exceeded(around, bounds) and not pace.may_have_waited(around):
        return record
    return _replace_verdict(record, judgement(record.samples, around, record.check, record.error, bounds))


def _depends(evidence: Evidence) -> bool:
    """Returns whether evidence depends on the bounds, or is an account of an older record."""
    lacks_processors = "processors" not in evidence.numbers and any(
        words in evidence.text for words in OF_ONE_PROCESSOR
    )
    return evidence.kind in OF_PACE or lacks_processors


def judge_record(record: Record, bounds: pace.Bounds) -> Record:
    """Returns the record judged by these bounds, whatever its verdict was."""
    return _replace_verdict(record, judgement(record.samples, _follow(record), record.check, record.error, bounds))


def _follow(record: Record) -> Observed:
    """Returns the surroundings that the figure follows: a device with its own memory shares nothing with other processes."""
    around = record.surroundings
    if not on_device(record.parameters) or (around.details or {}).get("shares_memory") is True:
        return around
    samples = replace(around.samples, core_clock=None, issued=None, stream=None, chase=None)
    only_waited = Pace(waited=around.pace.waited)
    of_device = replace(around, samples=samples, pace=only_waited, core_clock=Around(), machine_other=None)
    if not _is_device_time_equal(record):
        return of_device
    return replace(
        of_device,
        samples=Samples(at=around.samples.at),
        processor_seconds=ProcessorSeconds(),
        interrupts=None,
        throttled=None,
        oversubscribed=None,
    )


def _is_device_time_equal(record: Record) -> bool:
    """Returns whether the samples are as long by the device's own clock, so that none waited for the host."""
    own = (record.surroundings.details or {}).get("device_seconds")
    if not isinstance(own, list | array) or not 0 < len(record.samples) <= len(own):
        return False
    by_device = np.asarray(own[-len(record.samples) :], dtype=np.float64)
    by_host = np.asarray(record.samples, dtype=np.float64)
    return bool((by_device > 0).all() and (by_host <= (1 + SAME_TIME) * by_device).all())


def _replace_verdict(record: Record, outcome: Judgement) -> Record:
    return replace(record, verdict=outcome.verdict, aside=outcome.aside)


def _select_first_of_each_kind(evidence: Sequence[Evidence]) -> Iterable[Evidence]:
    """Returns the first evidence of each kind."""
    first: dict[str, Evidence] = {}
    for one in evidence:
        first.setdefault(one.kind, one)
    return first.values()


def _set_aside(choice: pace.Choice) -> Evidence:
    causes = ", ".join(f"{cause} {count}" for cause, count in choice.causes.items())
    many, all_of_them = int(choice.aside.sum()), len(choice.aside)
    numbers = {"samples": many, "of": all_of_them, **choice.causes}
    if not choice.enough:
        text = f"{many} of {all_of_them} samples were disturbed ({causes}), and too few are left."
        return noted(next(iter(choice.causes)), text, **numbers)
    text = f"{many} of {all_of_them} samples were left out, because they were disturbed ({causes})."
    return noted("set aside", text, **numbers)


def _note_range(case: Measured) -> Iterator[Evidence]:
    """Yields the range of disturbed samples, which have no interval, since more samples would not narrow it."""
    if len(case.row) >= pace.LEAST_KEPT:
        ordered = np.sort(case.row)
        low, high = (quantile_of(ordered, share) / quantile_of(ordered, 0.5) for share in (0.05, 0.95))
        text = f"the middle 90 % of the samples took {low:.2f} to {high:.2f} times their median."
        yield noted("range", text, low=low, high=high)


def name_disturbance(verdict: Verdict) -> str | None:
    """Returns the kind of the first evidence ("competing load", "check" …); None for a CLEAN case or without a kind."""
    return (verdict.evidence[0].kind or None) if verdict.level != "CLEAN" and verdict.evidence else None


def _list_wrong(row: Array, sound: bool, check: Check | None) -> Iterator[Evidence]:
    if check is not None and not check.passed:
        yield noted("check", f"the result is wrong: {check.detail or 'the kernel gave no detail'}")
    if not row.size:
        yield noted("samples", "no sample was taken.", samples=0)
    elif not sound:
        wrong = int(np.count_nonzero(~times(row)))
        yield noted("samples", f"{wrong} of {row.size} samples have impossible times.", samples=wrong, of=row.size)


def _judge_resolution(case: Measured, share: float) -> Iterator[Evidence]:
    resolution = case.surroundings.clock.resolution
    if resolution is None or case.lengths is None:
        return
    length = find_median(case.lengths[~np.isnan(case.lengths)])
    if resolution > share * length:
        part = resolution / length if length > 0 else math.inf
        yield noted(
            "clock resolution",
            f"the clock step of {resolution:.2g} s is {percent(part, 2)} of a sample of {length:.2g} s. "
            f"At most {percent(CLOCK_NOTED, 1)} is expected.",
            resolution=resolution,
            length=length,
            share=part,
        )
