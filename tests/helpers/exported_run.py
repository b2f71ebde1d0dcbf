"""A run with results that other tools measure, too: messages, collective operations, and a Triad."""

from dataclasses import replace

import builders
from steelyard.model import Evaluation, Result, Value

SIZES = (0, 8, 4096, 1 << 20)
WORK = {"messages": 64.0, "bytes": 64.0 * 8}


def evaluation() -> Evaluation:
    """Returns ping-pongs with both kinds of buffers, windows of one and four pairs, an allreduce, a Triad."""
    pingpong = [
        builders.message((1 + size / 4096) * 0.4123456e-6, size, buffers=buffers, level=level)
        for buffers, level in (("reused", "CLEAN"), ("fresh", "UNSETTLED"))
        for size in SIZES
    ]
    wrong = builders.message(1e-6, 16, level="INVALID", evidence=("The message | arrived\ntwice.",))
    rate = [_rate(pairs, size) for pairs in (1, 4) for size in SIZES[1:3]]
    lost = {"lost": Value(0.0123, "%", 0.012, 0.013, "lower")}
    noise = builders.result("noise.quanta", "quanta", {"threads": 2}, 1e-3, WORK, metrics=lost)
    triad = builders.triad(12.3456789e9, threads=2)
    results = [*pingpong, wrong, *rate, *map(_allreduce, SIZES[1:3]), triad, noise]
    made = builders.evaluation(results, started="2026-11-20T10:15:00+01:00", job="slurm 4711")
    return replace(made, benchmarks=builders.known())


def _rate(pairs: int, size: int) -> Result:
    seconds = 64e-6 * (1 + size / 1000)
    value, messages = 64 * size * pairs / seconds, 64 * pairs / seconds
    metrics = {
        "message_rate": Value(messages, "message/s", 0.99 * messages, 1.01 * messages, "higher"),
        "bandwidth": builders.bandwidth(value),
    }
    given = {"ranks": 2 * pairs, "pairs": pairs, "window": 64, "buffers": "reused", "message_bytes": size}
    return builders.result("network.rate", "one_way", given, seconds, WORK, metrics=metrics)


def _allreduce(size: int) -> Result:
    seconds = 5.43e-6 + size * 1e-9
    metrics = {"time": Value(seconds, "s", 0.98 * seconds, 1.02 * seconds, "lower")}
    given = {"ranks": 4, "message_bytes": size, "mpi": "openmpi-4.1.4"}
    return builders.result("network.collectives", "allreduce", given, seconds, WORK, metrics=metrics, spread=0.0)
