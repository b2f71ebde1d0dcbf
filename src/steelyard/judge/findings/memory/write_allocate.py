"""Rule: measures the cost of ordinary stores, which read each cache line before they write it (write-allocate)."""

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import quantity
from steelyard.model.words import in_words
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, ratio

BENCHMARK = "memory.stream"
# Triad reads two vectors and writes one. With write-allocate it also reads the third: four transfers, not three.
EXPECTED = 4 / 3
SEEN = 1.08  # a quarter of the effect: other differences of the two loops explain less


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares ordinary with streaming stores at the largest size and the most threads."""
    triad = cases.select_greatest(cases.find(evaluation.results, BENCHMARK, "triad"), "elements")
    compared = [
        (a, b, r) for a, b in cases.pair(triad, "stores", "ordinary", "streaming") if (r := ratio(a, b)) is not None
    ]
    if not compared:
        return []
    ordinary, streaming, factor = max(compared, key=lambda c: cases.number(c[0], "threads") or 0)
    lines = tuple(_describe_pair(*c) for c in sorted(compared, key=lambda c: cases.number(c[0], "threads") or 0))
    caution = cases.caution(ordinary, streaming)
    claim = (
        f"With {in_words('threads', cases.value(ordinary, 'threads'))}, Triad takes {factor.value:.2f} "
        f"times as long with ordinary stores as with streaming stores.{caution}"
    )
    return _judge(claim, lines, factor, not caution)


def _judge(claim: str, lines: tuple[str, ...], factor: Ratio, certain: bool) -> list[Finding]:
    if factor.value > SEEN and factor.low > 1:
        cause = (
            "With ordinary stores, the processor reads each cache line before it writes it (write-allocate). Triad then moves "
            f"four vectors instead of three, which takes {EXPECTED:.2f} times as long if the memory is the limit."
        )
        remedy = advise(
            "Use streaming stores in loops that only write: -qopt-streaming-stores=always (Intel), "
            "__builtin_nontemporal_store (clang), _mm_stream_pd (gcc). Compare systems with the same kind of stores: ",
            f"run --only {BENCHMARK} --set stores=ordinary,streaming",
        )
        return [
            Finding(
                "write_allocate", "notice", claim, lines, cause, remedy, BENCHMARK, factor.value, "program",
                brief=f"Ordinary stores make Triad {factor.value:.2f} times slower than streaming stores.",
                action="gcc: _mm_stream_pd, clang: __builtin_nontemporal_store",
            )
        ]  # fmt: skip
    if factor.value < 1 / SEEN and factor.high < 1:
        cause = "Streaming stores wait for the few write-combining buffers. This costs more than the additional reads."
        remedy = advise("Use ordinary stores on this machine: ", f"run --only {BENCHMARK} --set stores=ordinary")
        return [
            Finding("write_allocate", "notice", claim, lines, cause, remedy, BENCHMARK, 1 / factor.value, "program")
        ]
    if factor.high < SEEN and factor.low > 1 / SEEN and certain:
        cause = (
            "The processor recognises lines that are written completely and does not read them first, or the memory is "
            "not the limit."
        )
        return [Finding("write_allocate", "good", claim, lines, cause, "", BENCHMARK)]
    return []


def _describe_pair(ordinary: Result, streaming: Result, factor: Ratio) -> str:
    bandwidths = []
    for result, word in ((ordinary, "ordinary"), (streaming, "streaming")):
        bandwidth = result.metrics.get("bandwidth")
        if bandwidth:
            bandwidths.append(f"{quantity(bandwidth.value, bandwidth.unit)} {word}")
    counted = f" ({', '.join(bandwidths)}, by STREAM's count)" if bandwidths else ""
    name = cases.describe(ordinary, but=("elements", "stores"))
    return f"{name}: a factor of {factor.value:.2f}, {factor.low:.2f} to {factor.high:.2f}{counted}."
