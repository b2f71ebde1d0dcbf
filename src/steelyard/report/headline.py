"""The few figures that stand for a run, and the verdict in five sentences made from them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from steelyard import units
from steelyard.model import Evaluation, Finding, Result, Scalar, Value
from steelyard.report import values
from steelyard.report.reasons import kinds

# Above this share of its limit a memory is as good as full: STREAM reaches 80 to 90 % of the modules' rate on
# well-tuned machines, since refresh and bus turnarounds take the rest.
NEAR_THE_LIMIT = 0.75
# A node is called tolerant when n threads bring the cost of an operation to less than 1.5/n of one thread's.
TOLERANT = 1.5


@dataclass(frozen=True)
class Headline:
    """One of the main figures: what it is, under which conditions, and its value as it may be shown."""

    name: str
    title: str
    conditions: str
    shown: values.Shown
    value: Value | None
    result: Result

    @property
    def why(self) -> str:
        """Why the value is not CLEAN, in two or three words: 'competing load'; '' where it is."""
        told = kinds(self.shown.evidence) if self.shown.level != "CLEAN" else ()
        return told[0] if told else ""


@dataclass(frozen=True)
class _Choice:
    """Where a headline comes from: parameters at their least or most, and a metric recognised by its unit."""

    name: str
    title: str
    benchmark: str
    kernel: str | None
    unit: str
    least: tuple[str, ...]
    most: tuple[str, ...]
    usual: tuple[tuple[str, Scalar], ...] = ()  # values that are taken where they were measured


_SIZES = ("elements", "bytes", "working_set", "working_set_bytes", "size")
# A newcomer's own program meets these; the others are on the benchmark's page.
_USUAL: tuple[tuple[str, Scalar], ...] = (("page_size", "default"), ("memory_policy", "local"))
_PINNED: tuple[tuple[str, Scalar], ...] = (*_USUAL, ("pinning", "compact"))
_CHOICES = (
    _Choice("triad", "Triad bandwidth", "memory.stream", "triad", "B/s", (), ("threads", *_SIZES), _PINNED),
    _Choice("latency", "Latency at memory", "memory.latency", None, "s", ("threads", "chains"), _SIZES, _USUAL),
    _Choice(
        "G", "Worst locality (G)", "memory.apexmap", None, "cycle",
        ("threads", "accumulators", "L"), ("alpha", *_SIZES), _USUAL,
    ),
    _Choice(
        "L", "Best locality (L)", "memory.apexmap", None, "cycle",
        ("threads", "accumulators", "alpha"), ("L", *_SIZES), _USUAL,
    ),
    _Choice(
        "peak", "Peak of arithmetic", "core.peak", None, "flop/s",
        (), ("threads",), (("precision", "double"), ("operation", "fma")),
    ),
    _Choice(
        "message", "Shortest message, one way", "network.pingpong", None, "s",
        ("ranks", "message_bytes"), (), (("buffers", "reused"), ("transport", "default")),
    ),
)  # fmt: skip


def headlines(evaluation: Evaluation) -> tuple[Headline, ...]:
    """The main figures that this run has, in the order in which they are told."""
    found = (_headline(evaluation, choice) for choice in _CHOICES)
    return tuple(headline for headline in found if headline is not None)


def sentences(evaluation: Evaluation) -> tuple[str, ...]:
    """The verdict in at most five sentences, each only where there is data for it."""
    main = {headline.name: headline for headline in headlines(evaluation)}
    told = (
        _machine(evaluation),
        _memory(main),
        _locality(main, evaluation),
        _trust(evaluation),
        _advice(main, evaluation.findings),
    )
    return tuple(sentence for sentence in told if sentence)


def tolerance(evaluation: Evaluation, result: Result, metric: str) -> tuple[int, float] | None:
    """Threads, and the cost of an operation with them over its cost with one thread; None without both.

    The cost of an operation is the inverse of the rate of all threads together: the ratio is rate(1)/rate(n).
    """
    threads = result.parameters.get("threads")
    if not isinstance(threads, int) or threads < 2 or result.verdict.level != "CLEAN":
        return None
    for other in evaluation.results:
        alone = dict(other.parameters) == {**result.parameters, "threads": 1}
        if alone and (other.benchmark, other.kernel) == (result.benchmark, result.kernel):
            one, many = other.metrics.get(metric), result.metrics.get(metric)
            if one and many and many.value > 0 and other.verdict.level == "CLEAN":
                return threads, one.value / many.value
    return None


# --------------------------------------------------------------------------- choosing


def _headline(evaluation: Evaluation, choice: _Choice) -> Headline | None:
    mine = [r for r in evaluation.results if r.benchmark == choice.benchmark]
    kernel = [r for r in mine if choice.kernel is None or r.kernel == choice.kernel]
    candidates = kernel
    for names, pick in ((choice.least, min), (choice.most, max)):
        for name in names:
            candidates = _extreme(candidates, name, pick)
    for name, value in choice.usual:
        candidates = [r for r in candidates if r.parameters.get(name) == value] or candidates
    benchmark = evaluation.benchmarks.get(choice.benchmark)
    declared = [metric.name for metric in benchmark.metrics] if benchmark else []
    metric = _metric(candidates, declared, choice.unit)
    if metric is None:
        return None
    result = min(candidates, key=lambda r: _rank(r, metric))
    shown = values.shown(result, metric, benchmark, evaluation.run.machine)
    if shown is None:
        return None
    fixed = {"L", "alpha", *_SIZES}
    told = [name for name in values.varying(tuple(kernel)) if name not in fixed and name in result.parameters]
    conditions = ", ".join(values.phrase(name, result.parameters[name]) for name in told)
    return Headline(choice.name, choice.title, conditions, shown, result.metrics.get(metric), result)


def _extreme(results: list[Result], name: str, pick: Callable[[Iterable[float]], float]) -> list[Result]:
    numbers = [n for r in results if (n := values.number(r.parameters.get(name))) is not None]
    if not numbers:
        return results
    wanted = pick(numbers)
    return [r for r in results if values.number(r.parameters.get(name)) == wanted]


def _metric(results: list[Result], declared: list[str], unit: str) -> str | None:
    names = [*declared, *(name for r in results for name in r.metrics)]
    for name in names:
        if any(name in r.metrics and r.metrics[name].unit.split("/access")[0] == unit for r in results):
            return name
    return None


def _rank(result: Result, metric: str) -> tuple[int, float]:
    """Clean before disturbed before invalid; then the better value."""
    trust = ("CLEAN", "DISTURBED", "INVALID").index(values.level(result))
    value = result.metrics.get(metric)
    if value is None:
        return 3, 0.0
    return trust, value.value if value.better == "lower" else -value.value


# --------------------------------------------------------------------------- the sentences


def _machine(evaluation: Evaluation) -> str:
    machine = evaluation.run.machine
    sockets = len({core.socket for core in machine.cores})
    cores = _count(len(machine.cores), "core") if machine.cores else _count(len(machine.cpus), "processor")
    where = f"in {_count(sockets, 'socket')} and {_count(len(machine.nodes), 'NUMA node')}"
    size = f"{cores} {where}" if machine.nodes and sockets else cores
    quota = f", limited to {machine.cpu_quota:g} cores' worth of time" if machine.cpu_quota else ""
    memory = f", with {units.binary_size(machine.memory)} of memory" if machine.memory else ""
    processor = machine.processor or "an unnamed processor"
    return f"{machine.host} is a machine with {processor}: {size}{quota}{memory}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _memory(main: dict[str, Headline]) -> str:
    told = []
    if triad := main.get("triad"):
        text = f"Triad moves {triad.shown.marked}" if triad.shown.value else "The Triad bandwidth is INVALID"
        text += f" ({triad.conditions})" if triad.conditions else ""
        if triad.shown.share is not None:
            text += f", {values.percent(triad.shown.share)} of the limit of {triad.shown.limit}{_source(triad)}"
        told.append(text)
    if latency := main.get("latency"):
        told.append(
            f"one access that misses every cache takes {latency.shown.marked}"
            if latency.shown.value else "the latency of memory is INVALID"
        )  # fmt: skip
    sentence = ", and ".join(told)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _source(headline: Headline) -> str:
    return f" ({headline.shown.limit_source})" if headline.shown.limit_source else ""


def _locality(main: dict[str, Headline], evaluation: Evaluation) -> str:
    corners = []
    for name, place in (("G", "at the worst locality (G)"), ("L", "at the best (L)")):
        if name in main:
            corners.append(f"{main[name].shown.marked} {place}")
    told = [f"an access costs {' and '.join(corners)}"] if corners else []
    triad = main.get("triad")
    metric = next((n for n, v in triad.result.metrics.items() if v is triad.value), None) if triad else None
    found = tolerance(evaluation, triad.result, metric) if triad and metric else None
    if found:
        threads, ratio = found
        if ratio * threads < TOLERANT:
            judged = "tolerant: threads hide the latency"
        else:
            judged = "little tolerant: the threads wait for the same resource" if ratio > 0.8 else "partly tolerant"
        told.append(
            f"with {threads} threads a Triad operation costs {units.significant(ratio, 2)} of what it "
            "costs with one "
            f"({judged})"
        )
    sentence = "; ".join(told)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _trust(evaluation: Evaluation) -> str:
    total = len(evaluation.results)
    if not total:
        return "No result was measured in this run, so nothing can be said about its speed."
    counts = values.counts(evaluation.results)
    unfinished = "" if evaluation.run.finished else " The run is not finished."
    if counts["CLEAN"] == total:
        return f"All {total} results are CLEAN: nothing was seen that disturbed them.{unfinished}"
    bad = " and ".join(f"{counts[n]} {n}" for n in ("DISTURBED", "INVALID") if counts[n])
    return (
        f"Of {total} results {counts['CLEAN']} are CLEAN and can be relied on, {bad}: these are marked "
        "wherever they are "
        f"shown.{unfinished}"
    )


def _advice(main: dict[str, Headline], findings: tuple[Finding, ...]) -> str:
    triad = main.get("triad")
    limits = ""
    if triad and triad.shown.share is not None and triad.shown.level == "CLEAN":
        near = triad.shown.share >= NEAR_THE_LIMIT
        limits = "The memory itself is the limit" if near else "Something other than the memory's own rate is the limit"
    first = next((f for level in ("serious", "notice") for f in findings if f.level == level), None)
    if first is None:
        return f"{limits}; no finding asks for action." if limits else ""
    what = f"{_plain(first.seen)} – {_lower(_plain(first.remedy))}" if first.remedy else _plain(first.seen)
    return f"{limits}; look first at this: {what}." if limits else f"Look first at this: {what}."


def _plain(sentence: str) -> str:
    return sentence.strip().rstrip(".")


def _lower(sentence: str) -> str:
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
