"""What other programs measure on a GPU of NVIDIA, and the table beside Steelyard's figures with what must hold.

    python bench/device_peers.py               # measures, and prints figures as JSON
    python bench/device_peers.py --table OUT   # OUT/peers*.json beside OUT/runs: medians, ratios, pass or FAIL

Peers: CuPy (with cuBLAS), device_peer.cu, BabelStream and nvbandwidth, as far as they are on the machine. Each figure is the best
of several turns, as these tools state it. A peer that is missing is named on standard error.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

GIB = 1 << 30
TURNS = 20
SAME = 0.03  # two runs may differ by so much
Figure = tuple[str, str, str, dict[str, object]]
# Figure → benchmark, kernel, metric and parameters of Steelyard.
OURS: dict[str, Figure] = {
    "triad": ("device.stream", "triad", "bandwidth", {"precision": "double"}),
    "copy": ("device.stream", "copy", "bandwidth", {"precision": "double"}),
    "read": ("device.stream", "read", "bandwidth", {"precision": "double"}),
    "double": ("device.peak", "library", "flops", {"precision": "double"}),
    "single": ("device.peak", "library", "flops", {"precision": "single"}),
    "half": ("device.peak", "library", "flops", {"precision": "half"}),
    "double_units": ("device.peak", "matrix", "flops", {"precision": "double"}),
    "to_device": ("device.transfer", "to_device", "bandwidth", {"memory": "pinned"}),
    "from_device": ("device.transfer", "from_device", "bandwidth", {"memory": "pinned"}),
    "launch": ("device.launch", "queued", "time", {}),
    "waited": ("device.launch", "waited", "time", {}),
    "graph": ("device.launch", "graph", "time", {}),
    **{
        f"latency_{size}": ("device.latency", "chase", "latency", {"bytes": size})
        for size in (64 << 10, 8 << 20, 512 << 20)
    },
}
AS = {"double_units": "double"}  # a figure that is compared with another one of the peers
# What must hold of ours divided by the best peer: at least, at most.
BOUNDS = {
    **dict.fromkeys(("triad", "copy", "read"), (0.98, 9.0)),
    **dict.fromkeys(("double", "single", "half", "double_units"), (0.95, 9.0)),
    **dict.fromkeys(("to_device", "from_device"), (0.98, 1.02)),
    **dict.fromkeys(("launch", "waited", "graph"), (0.9, 1.1)),
    **dict.fromkeys((name for name in OURS if name.startswith("latency")), (0.95, 1.05)),
}
LEAST = {"triad": 4.2e12}  # B/s on an H200


def measure_cupy() -> Iterator[tuple[str, float]]:
    """Yields bandwidths (B/s) and speeds (flop/s). ImportError: there is no CuPy. Its launches take the time of Python."""
    import cupy as cp  # type: ignore[import-not-found, unused-ignore]

    yield from _measure_memory(cp)
    for name, kind in (("double", cp.float64), ("single", cp.float32), ("half", cp.float16)):
        factor = cp.ones((8192, 8192), dtype=kind)
        result = cp.empty_like(factor)
        yield name, 2 * 8192**3 / _find_fastest(cp, lambda f=factor, r=result: cp.matmul(f, f, out=r))  # type: ignore[misc]


def _measure_memory(cp: Any) -> Iterator[tuple[str, float]]:
    a, b, c = (cp.zeros(GIB // 8) for _ in range(3))
    triad = cp.ElementwiseKernel("float64 b, float64 c", "float64 a", "a = b + 3.0 * c", "triad")
    yield "triad", 3 * GIB / _find_fastest(cp, lambda: triad(b, c, a), 5)
    yield "copy", 2 * GIB / _find_fastest(cp, lambda: cp.copyto(a, b), 5)
    yield "read", GIB / _find_fastest(cp, b.sum, 5)
    block, pinned = cp.empty(1 << 28, dtype=cp.uint8), cp.cuda.alloc_pinned_memory(1 << 28)
    stream = cp.cuda.get_current_stream()
    yield (
        "to_device",
        (1 << 28) / _find_fastest(cp, lambda: block.data.copy_from_host_async(pinned.ptr, 1 << 28, stream)),
    )
    yield (
        "from_device",
        (1 << 28) / _find_fastest(cp, lambda: block.data.copy_to_host_async(pinned.ptr, 1 << 28, stream)),
    )


def _find_fastest(cp: Any, job: Callable[[], object], times: int = 1) -> float:
    """Returns the seconds of a job in the best of several turns of so many."""
    begin, end, best = cp.cuda.Event(), cp.cuda.Event(), float("inf")
    for _ in range(TURNS):
        begin.record()
        for _ in range(times):
            job()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(begin, end) * 1e-3 / times)
    return best


def measure_plain() -> Iterator[tuple[str, float]]:
    """Yields what device_peer.cu prints: `device_peer` in PATH."""
    for name, value in re.findall(r"^(\w+) (\S+)$", _ask("device_peer"), re.MULTILINE):
        yield name, float(value)


def measure_babelstream() -> Iterator[tuple[str, float]]:
    """Yields what BabelStream prints (MB/s, or GB/s if it says so): `cuda-stream` in PATH."""
    text = _ask("cuda-stream", "--arraysize", str(GIB // 8), "--numtimes", str(TURNS))
    unit = 1e9 if "GBytes/sec" in text else 1e6
    for name, rate in re.findall(r"^(Copy|Triad)\s+([\d.]+)", text, re.MULTILINE):
        yield name.lower(), float(rate) * unit


def measure_nvbandwidth() -> Iterator[tuple[str, float]]:
    """Yields what nvbandwidth prints (GB/s)."""
    for name, test in (("to_device", "host_to_device_memcpy_ce"), ("from_device", "device_to_host_memcpy_ce")):
        text = _ask("nvbandwidth", "-t", test)
        if found := re.search(r"SUM \S+ ([\d.]+)", text):
            yield name, float(found[1]) * 1e9


def _ask(*command: str) -> str:
    if not shutil.which(command[0]):
        raise FileNotFoundError(f"{command[0]} is not in PATH")
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def measure() -> dict[str, dict[str, float]]:
    """Returns the figures of each peer that is here. One that fails keeps the figures that it gave before."""
    found: dict[str, dict[str, float]] = {}
    for peer in (measure_cupy, measure_plain, measure_babelstream, measure_nvbandwidth):
        name = peer.__name__.removeprefix("measure_")
        try:
            for figure, value in peer():
                found.setdefault(name, {})[figure] = value
        except Exception as problem:  # CuPy has errors of its own, which cannot be named without it
            output = (getattr(problem, "stderr", "") or "").strip()[-300:]
            print(f"{name} ends here: {type(problem).__name__}: {problem} {output}", file=sys.stderr)
    return found


def read_ours(run: Path) -> dict[str, float]:
    """Returns the best value that each case of a run saw, as its peers state theirs."""
    import steelyard

    values: dict[str, list[float]] = {}
    rows = steelyard.open(run).rows()
    for figure, (benchmark, kernel, metric, parameters) in OURS.items():
        wanted = {"benchmark": benchmark, "kernel": kernel, "metric": metric, **parameters}
        alike = [row for row in rows if wanted.items() <= row.items() and row["verdict"] != "INVALID" and row["value"]]
        largest = max((_size(row) for row in alike), default=0)
        values[figure] = [row["best_seen"] or row["value"] for row in alike if _size(row) == largest]
    best = {figure: max if OURS[figure][2] in ("bandwidth", "flops") else min for figure in OURS}
    return {figure: best[figure](seen) for figure, seen in values.items() if seen}


def _size(row: dict[str, Any]) -> int:
    return row.get("elements") or row.get("bytes") or 0


def list_rows(
    ours: list[dict[str, float]], theirs: list[dict[str, dict[str, float]]], name: str
) -> Iterator[tuple[str, ...]]:
    """Yields figure, our median, the best peer with its median, the ratio, what must hold, and pass, FAIL or "-"."""
    for figure, (least, most) in BOUNDS.items():
        own = [values[figure] for values in ours if figure in values]
        other = {
            peer: median(
                [turn[peer][AS.get(figure, figure)] for turn in theirs if AS.get(figure, figure) in turn.get(peer, {})]
            )
            for peer in sorted({peer for turn in theirs for peer in turn})
            if any(AS.get(figure, figure) in turn.get(peer, {}) for turn in theirs)
        }
        choose = max if OURS[figure][2] in ("bandwidth", "flops") else min
        shown = f"{median(own):.4g}" if own else "missing"
        if other:
            best = choose(other, key=lambda peer: other[peer])
            ratio = median(own) / other[best] if own else 0.0
            held = f">= {least}" if most > 2 else f"{least} to {most}"
            yield (
                figure,
                shown,
                f"{best} {other[best]:.4g}",
                f"{ratio:.3f}",
                held,
                "pass" if least <= ratio <= most else "FAIL",
            )
        else:
            yield figure, shown, "no peer", "", "", "-" if own else "FAIL"
        if figure in LEAST and "H200" in name and own:
            held = "pass" if median(own) >= LEAST[figure] else "FAIL"
            yield figure, shown, "", "", f">= {LEAST[figure]:.3g}", held
        if len(own) > 1:
            apart = max(own) / min(own) - 1
            yield figure, "", "two runs", f"{apart:.2%}", f"<= {SAME:.0%}", "pass" if apart <= SAME else "FAIL"


def print_table(out: Path) -> int:
    """Prints the medians of both sides over all turns, and their ratio. Returns the number of rows that fail."""
    theirs = [json.loads(path.read_text() or "{}") for path in sorted(out.glob("peers*.json"))]
    ours = []
    for run in sorted((out / "runs").glob("*/")):
        try:
            ours.append(read_ours(run))
        except Exception as problem:
            print(f"{run.name} cannot be read: {problem}", file=sys.stderr)
    rows = [*list_rows(ours, theirs, _name(out))]
    for row in (("figure", "Steelyard", "best peer", "ratio", "must be", ""), *rows):
        print("{:<18} {:>10}  {:<20} {:>7}  {:<12} {}".format(*row).rstrip())
    failed = sum(row[-1] == "FAIL" for row in rows)
    print(f"{len(rows)} rows, {failed} fail")
    return failed


def _name(out: Path) -> str:
    text = out / "machine.txt"
    return text.read_text(errors="replace") if text.exists() else ""


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        sys.exit(print_table(Path(sys.argv[2])) > 0)
    print(json.dumps(measure()))
