"""Rule: whether threads and an OpenCL device together do a kernel faster than the better of both alone."""

from statistics import median
from typing import NamedTuple

from steelyard.model import Device, Evaluation, Finding, Machine, Result
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity
from steelyard.statistics.results.shared_work import sides
from steelyard.units import percent, quantity
from steelyard.words import in_words, plural

SMALLEST = 0.03  # less is chance: two starts differ by so much, and the share was chosen by single turns
LOSS = 1.10  # worth a notice: both alone were tried when the share was chosen, so that it should not lose at all
NAMED = 12  # kernels that are listed


class Observed(NamedTuple):
    """A kernel in mixed mode, by the threads alone, by the device alone; `seen` compares with the better of these."""

    mixed: Result
    threads: Result
    device: Result
    seen: Comparison

    @property
    def loses(self) -> bool:
        return self.seen.call == "SLOWER" and self.seen.ratio > LOSS

    @property
    def best(self) -> Result:
        return min((self.threads, self.device), key=messages.operation)


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding for each device and toolchain: the kernels that were measured in all three modes."""
    usable = [r for r in evaluation.results if "mode" in r.parameters and r.verdict.level != "INVALID"]
    groups: dict[Identity, list[tuple[Result, Result, Result]]] = {}
    for three in _threes([r for r in usable if messages.seconds(r)]):
        parameters = three[0].parameters
        groups.setdefault((parameters.get("device"), parameters.get("toolchain")), []).append(three)
    found = []
    for threes in groups.values():
        best = [min(three[1:], key=messages.operation) for three in threes]
        rows = [(messages.seconds(b), messages.seconds(three[0])) for b, three in zip(best, threes, strict=True)]
        compared = compare_all(rows, SMALLEST)
        found.append(_finding(evaluation.run.machine, [Observed(*t, c) for t, c in zip(threes, compared, strict=True)]))
    return found


def _threes(results: list[Result]) -> list[tuple[Result, Result, Result]]:
    """Mixed, threads and device: of the same case, the same threads, the same device."""
    return [(s.mixed, s.threads, s.device) for s in sides(results) if s.threads and s.device]


def _finding(machine: Machine, observed: list[Observed]) -> Finding:
    number = cases.number(observed[0].mixed, "device") or 0
    device = next((d for d in machine.devices if d.number == number), None)
    called = f"device {number:.0f} ({device.name})" if device else f"device {number:.0f}"
    pays, loses = [s for s in observed if s.seen.call == "FASTER"], [s for s in observed if s.loses]
    reported = [
        f"faster in {_listed(pays, len(observed))}" if pays else f"faster in none of {plural(len(observed), 'kernel')}"
    ]
    reported += [f"slower by more than {percent(LOSS - 1)} in {_listed(loses, len(observed))}"] if loses else []
    unsure = sum(s.seen.call == "UNCLEAR" for s in observed)
    rest = len(observed) - len(pays) - len(loses) - unsure
    reported += [f"{rest} without a difference that matters"] if rest else []
    reported += [f"{unsure} not sure"] if unsure else []
    ordered = sorted(observed, key=lambda s: (not s.loses, s.seen.ratio))
    return Finding(
        "mixed_mode",
        "notice" if loses else "good",
        f"Threads and {called} together, against the better of both alone: {'; '.join(reported)}.",
        tuple(_line(s) for s in ordered[:NAMED]),
        _cause(device, bool(pays), bool(loses)),
        _remedy(device, pays) if loses else "",
        effect=max(s.seen.ratio for s in loses) if loses else None,
        reach="program",
    )


def _listed(members: list[Observed], of: int) -> str:
    """'2 of 5 kernels (vector 0.71 times the time, spmv 0.80)'."""
    ordered = sorted(members, key=lambda s: -abs(s.seen.ratio - 1))[:NAMED]
    words = [f"{s.mixed.kernel} {s.seen.ratio:.2f}{' times the time' if n == 0 else ''}" for n, s in enumerate(ordered)]
    return f"{len(members)} of {plural(of, 'kernel')} ({', '.join(words)})"


def _cause(device: Device | None, pays: bool, loses: bool) -> str:
    if device and device.kind == "CPU":
        gain = "; where it is faster, one side's code alone does not use the cores fully" if pays else ""
        return (
            "The device is the machine's own processors: its threads and ours share the same cores, so that together they can "
            f"do no more work, and wait for each other{gain}."
        )
    if loses:
        return (
            "The two disturb each other: over the memory that they share, the link between them, or the processor that must "
            "also drive the device; or the machine changed after the share was chosen."
        )
    if pays:
        return "Both work at the same time, and each has as much as it finishes in the same time."
    return "One side is so much faster that what the other could take off it is less than handing it over costs."


def _remedy(device: Device | None, pays: list[Observed]) -> str:
    if device and device.kind == "CPU":
        return "Use the threads alone on these cores: --set mode=threads; a device of its own (a GPU) is what the mode is for."
    keep = f" Keep it for {', '.join(s.mixed.kernel for s in pays[:NAMED])}." if pays else ""
    return f"Use the better of both alone for these kernels, or leave a core free to drive the device (--set threads=…).{keep}"


def _line(observed: Observed) -> str:
    times = [quantity(messages.operation(r), "s") for r in (observed.mixed, observed.threads, observed.device)]
    threads = in_words("threads", observed.threads.parameters.get("threads"))
    best = "the threads" if observed.best is observed.threads else "the device"
    return (
        f"{observed.mixed.benchmark} {observed.mixed.kernel}: together {times[0]}, {threads} alone {times[1]}, the device alone "
        f"{times[2]}; {observed.seen.ratio:.2f} times ({observed.seen.low:.2f} to {observed.seen.high:.2f}) as "
        f"long as {best} alone; "
        f"{_share(observed.mixed)}.{cases.caution(observed.mixed, observed.best)}"
    )


def _share(result: Result) -> str:
    """Which share of the work the device had, as the kernel chose it: the median of the launches."""
    reported = ((r.surroundings.details or {}).get("share") for r in result.records)
    shares = [share for share in reported if isinstance(share, int | float)]
    if not shares:
        return "how the work was split is not known"
    share = median(shares)
    if share in (0, 1):
        return f"all was left to the {'device' if share else 'threads'}"
    return f"the device had {percent(share)} of the work"
