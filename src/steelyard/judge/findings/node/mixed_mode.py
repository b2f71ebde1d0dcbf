"""Rule: checks whether threads and an OpenCL device together run a kernel faster than the better of both alone."""

from statistics import median
from typing import NamedTuple

from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Device, Evaluation, Finding, Result
from steelyard.model.devices import find_device
from steelyard.model.units import percent, quantity
from steelyard.model.words import in_words, plural
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity
from steelyard.statistics.results.shared_work import sides

SMALLEST = 0.03  # two launches differ by this much, and single trials chose the share of the work
LOSS = 1.10  # a greater loss is a notice: mixed mode tried both sides alone, so it should never be slower
NAMED = 12  # kernels that are listed


class Modes(NamedTuple):
    """A kernel in mixed mode, with threads alone and with the device alone; `comparison` compares with the faster of the two."""

    mixed: Result
    threads: Result
    device: Result
    comparison: Comparison

    @property
    def loses(self) -> bool:
        return self.comparison.call == "SLOWER" and self.comparison.ratio > LOSS

    @property
    def best(self) -> Result:
        return min((self.threads, self.device), key=messages.operation)


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each device and toolchain on the kernels that were measured in all three modes."""
    usable = [r for r in evaluation.results if "mode" in r.parameters and r.verdict.level != "INVALID"]
    groups: dict[Identity, list[tuple[Result, Result, Result]]] = {}
    for three in _group_modes([r for r in usable if messages.launch_seconds(r)]):
        parameters = three[0].parameters
        groups.setdefault((parameters.get("device"), parameters.get("toolchain")), []).append(three)
    findings = []
    for threes in groups.values():
        best = [min(three[1:], key=messages.operation) for three in threes]
        rows = [(messages.seconds(b), messages.seconds(three[0])) for b, three in zip(best, threes, strict=True)]
        compared = compare_all(rows, SMALLEST)
        findings.append(_make_finding(evaluation, [Modes(*t, c) for t, c in zip(threes, compared, strict=True)]))
    return findings


def _group_modes(results: list[Result]) -> list[tuple[Result, Result, Result]]:
    """Returns mixed mode, threads alone and device alone of the same case, with the same threads and device."""
    return [(s.mixed, s.threads, s.device) for s in sides(results) if s.threads and s.device]


def _make_finding(evaluation: Evaluation, kernels: list[Modes]) -> Finding:
    number = cases.number(kernels[0].mixed, "device") or 0
    device = find_device(evaluation.run.machine, kernels[0].mixed.parameters)
    called = f"device {number:.0f} ({device.name})" if device else f"device {number:.0f}"
    pays, loses = [s for s in kernels if s.comparison.call == "FASTER"], [s for s in kernels if s.loses]
    parts = [
        f"faster in {_list(pays, len(kernels))}" if pays else f"faster in none of {plural(len(kernels), 'kernel')}"
    ]
    parts += [f"more than {percent(LOSS - 1)} slower in {_list(loses, len(kernels))}"] if loses else []
    unsure = sum(s.comparison.call == "UNCLEAR" for s in kernels)
    rest = len(kernels) - len(pays) - len(loses) - unsure
    parts += [f"as fast in {rest}"] if rest else []
    parts += [f"not certainly different in {unsure}"] if unsure else []
    ordered = sorted(kernels, key=lambda s: (not s.loses, s.comparison.ratio))
    lines = tuple(_describe_modes(s) for s in ordered[:NAMED])
    if not pays and not loses and unsure > rest:
        results = [r for s in kernels for r in (s.mixed, s.best)]
        again = measure_again(evaluation, cases.doubt(*results), *dict.fromkeys(r.benchmark for r in results))
        question = f"Steelyard cannot decide whether threads and {called} together are faster than one of them alone."
        return undecided("mixed_mode", question, lines, UNCERTAIN, again)
    return Finding(
        "mixed_mode",
        "notice" if loses else "good",
        f"Threads and {called} together are {'; '.join(parts)}, compared with the faster of both alone.",
        lines,
        _explain_cause(device, bool(pays), bool(loses)),
        _suggest_remedy(device, pays) if loses else "",
        effect=max(s.comparison.ratio for s in loses) if loses else None,
        reach="program",
    )


def _list(members: list[Modes], total: int) -> str:
    """Returns '2 of 5 kernels (vector 0.71 times the time, spmv 0.80)'."""
    ordered = sorted(members, key=lambda s: -abs(s.comparison.ratio - 1))[:NAMED]
    words = [
        f"{s.mixed.kernel} {s.comparison.ratio:.2f}{' times the time' if n == 0 else ''}" for n, s in enumerate(ordered)
    ]
    return f"{len(members)} of {plural(total, 'kernel')} ({', '.join(words)})"


def _explain_cause(device: Device | None, pays: bool, loses: bool) -> str:
    if device and device.kind == "CPU":
        gain = " Kernels are faster together if one side alone does not use the cores fully." if pays else ""
        return (
            "The device is the processor itself. Its threads and those of Steelyard share the cores, so together they can do no "
            f"more work and wait for each other.{gain}"
        )
    if loses:
        return (
            "Threads and device slow each other down: they share the memory or the link between them, or a core must also drive "
            "the device. Or the machine changed after the share was chosen."
        )
    if pays:
        return "Both work at the same time, and their shares of the work take equally long."
    return "One side is much faster: transferring work to the other side costs more time than it saves."


def _suggest_remedy(device: Device | None, pays: list[Modes]) -> str:
    if device and device.kind == "CPU":
        return (
            "Use threads alone on these cores: --set mode=threads. Mixed mode is for a separate device such as a GPU."
        )
    keep = f" Keep mixed mode for {', '.join(s.mixed.kernel for s in pays[:NAMED])}." if pays else ""
    return f"Use the faster of both alone for these kernels, or leave a core free to drive the device (--set threads=…).{keep}"


def _describe_modes(modes: Modes) -> str:
    times = [quantity(messages.operation(r), "s") for r in (modes.mixed, modes.threads, modes.device)]
    threads = in_words("threads", modes.threads.parameters.get("threads"))
    best = "the threads" if modes.best is modes.threads else "the device"
    return (
        f"{modes.mixed.benchmark} {modes.mixed.kernel}: together {times[0]}, {threads} alone {times[1]}, the device alone "
        f"{times[2]}; {modes.comparison.ratio:.2f} times ({modes.comparison.low:.2f} to {modes.comparison.high:.2f}) as "
        f"long as {best} alone; {_describe_device_share(modes.mixed)}.{cases.caution(modes.mixed, modes.best)}"
    )


def _describe_device_share(result: Result) -> str:
    """Returns a phrase on the device's share of the work, the median of the launches."""
    details = ((r.surroundings.details or {}).get("share") for r in result.attempts)
    shares = [share for share in details if isinstance(share, int | float)]
    if not shares:
        return "the share of the device is unknown"
    share = median(shares)
    if share in (0, 1):
        return f"the {'device' if share else 'threads'} did all the work"
    return f"the device did {percent(share)} of the work"
