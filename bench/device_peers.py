"""What other tools measure on a GPU of NVIDIA: CuPy, and BabelStream and nvbandwidth if they are on the machine.

    python bench/device_peers.py               # measures, and prints figures as JSON
    python bench/device_peers.py --table OUT   # OUT/peers*.json beside OUT/runs: medians and ratios

Each figure is the best of several turns, as these tools state it. A peer that is missing is named on standard error.
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
# Figure → benchmark, kernel, metric and parameters of Steelyard.
OURS: dict[str, tuple[str, str, str, dict[str, object]]] = {
    "triad": ("device.stream", "triad", "bandwidth", {"precision": "double"}),
    "copy": ("device.stream", "copy", "bandwidth", {"precision": "double"}),
    "read": ("device.stream", "read", "bandwidth", {"precision": "double"}),
    "double": ("device.peak", "library", "flops", {"precision": "double"}),
    "single": ("device.peak", "library", "flops", {"precision": "single"}),
    "half": ("device.peak", "library", "flops", {"precision": "half"}),
    "to_device": ("device.transfer", "to_device", "bandwidth", {"memory": "pinned"}),
    "from_device": ("device.transfer", "from_device", "bandwidth", {"memory": "pinned"}),
    "launch": ("device.launch", "queued", "time", {}),
}


def measure_cupy() -> Iterator[tuple[str, float]]:
    """Yields bandwidths (B/s), speeds (flop/s) and the time of a launch (s). ImportError: there is no CuPy."""
    import cupy as cp  # type: ignore[import-not-found, unused-ignore]

    def fastest(job: Callable[[], object], times: int = 1) -> float:
        begin, end, best = cp.cuda.Event(), cp.cuda.Event(), float("inf")
        for _ in range(TURNS):
            begin.record()
            for _ in range(times):
                job()
            end.record()
            end.synchronize()
            best = min(best, cp.cuda.get_elapsed_time(begin, end) * 1e-3 / times)
        return best

    elements = GIB // 8
    a, b, c = (cp.zeros(elements) for _ in range(3))
    triad = cp.ElementwiseKernel("float64 b, float64 c", "float64 a", "a = b + 3.0 * c", "triad")
    yield "triad", 3 * GIB / fastest(lambda: triad(b, c, a))
    yield "copy", 2 * GIB / fastest(lambda: cp.copyto(a, b))
    yield "read", GIB / fastest(b.sum)
    for name, kind in (("double", cp.float64), ("single", cp.float32), ("half", cp.float16)):
        factor = cp.ones((8192, 8192), dtype=kind)
        result = cp.empty_like(factor)
        yield name, 2 * 8192**3 / fastest(lambda f=factor, r=result: cp.matmul(f, f, out=r))  # type: ignore[misc]
    block, pinned = cp.empty(1 << 28, dtype=cp.uint8), cp.cuda.alloc_pinned_memory(1 << 28)
    stream = cp.cuda.get_current_stream()
    yield "to_device", (1 << 28) / fastest(lambda: block.data.copy_from_host_async(pinned.ptr, 1 << 28, stream))
    yield "from_device", (1 << 28) / fastest(lambda: block.data.copy_to_host_async(pinned.ptr, 1 << 28, stream))
    empty = cp.RawKernel('extern "C" __global__ void empty(unsigned* c) { if (!threadIdx.x) c[0] += 1; }', "empty")
    counter = cp.zeros(1, dtype=cp.uint32)
    yield "launch", fastest(lambda: empty((1,), (32,), (counter,)), 1000)


def measure_babelstream() -> Iterator[tuple[str, float]]:
    """Yields what BabelStream prints (MB/s): `cuda-stream` in PATH."""
    text = _ask("cuda-stream", "--arraysize", str(GIB // 8), "--numtimes", str(TURNS))
    for name, rate in re.findall(r"^(Copy|Triad)\s+([\d.]+)", text, re.MULTILINE):
        yield name.lower(), float(rate) * 1e6


def measure_nvbandwidth() -> Iterator[tuple[str, float]]:
    """Yields what nvbandwidth prints (GB/s)."""
    for name, test in (("to_device", "host_to_device_memcpy_ce"), ("from_device", "device_to_host_memcpy_ce")):
        text = _ask("nvbandwidth", "-t", test)
        if found := re.search(r"SUM \S+ ([\d.]+)", text):
            yield name, float(found[1]) * 1e9


def _ask(*command: str) -> str:
    if not shutil.which(command[0]):
        raise FileNotFoundError(f"{command[0]} is not in PATH")
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def measure() -> dict[str, dict[str, float]]:
    """Returns the figures of each peer that is here."""
    found = {}
    for peer in (measure_cupy, measure_babelstream, measure_nvbandwidth):
        name = peer.__name__.removeprefix("measure_")
        try:
            found[name] = dict(peer())
        except (ImportError, OSError, subprocess.SubprocessError) as problem:
            print(f"{name} is left out: {problem}", file=sys.stderr)
    return found


def read_ours(run: Path) -> dict[str, float]:
    """Returns the best value that each case of a run saw, as its peers state theirs."""
    import steelyard

    values: dict[str, list[float]] = {}
    rows = steelyard.open(run).rows()
    for figure, (benchmark, kernel, metric, parameters) in OURS.items():
        wanted = {"benchmark": benchmark, "kernel": kernel, "metric": metric, **parameters}
        alike = [row for row in rows if wanted.items() <= row.items() and row["verdict"] != "INVALID"]
        largest = max((_size(row) for row in alike), default=0)
        values[figure] = [row["best_seen"] or row["value"] for row in alike if _size(row) == largest]
    best = {figure: min if OURS[figure][2] == "time" else max for figure in OURS}
    return {figure: best[figure](seen) for figure, seen in values.items() if seen}


def _size(row: dict[str, Any]) -> int:
    return row.get("elements") or row.get("bytes") or 0


def print_table(out: Path) -> None:
    """Prints the medians of both sides over all turns, and their ratio."""
    theirs = [json.loads(path.read_text()) for path in sorted(out.glob("peers*.json"))]
    ours = [read_ours(run) for run in sorted((out / "runs").iterdir()) if run.is_dir()]
    print(f"{'figure':<12} {'Steelyard':>12}   peer")
    for figure in OURS:
        own = [values[figure] for values in ours if figure in values]
        for peer in sorted({name for turn in theirs for name in turn}):
            other = [turn[peer][figure] for turn in theirs if figure in turn.get(peer, {})]
            if own and other:
                ratio = median(own) / median(other)
                print(f"{figure:<12} {median(own):12.4g}   {peer} {median(other):.4g}, ours/it {ratio:.3f}")
        if own and not any(figure in turn.get(peer, {}) for turn in theirs for peer in turn):
            print(f"{figure:<12} {median(own):12.4g}   no peer")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        print_table(Path(sys.argv[2]))
    else:
        print(json.dumps(measure()))
