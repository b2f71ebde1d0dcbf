"""A run of the node's kernels with power, made by hand: records with their times, and a board's readings meanwhile."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import builders
from steelyard.judge.evaluation import judging
from steelyard.model import Device, Evaluation, Machine, Record, Result, Value
from steelyard.model.sensor import Power, Sensor, Trace

SECOND = 10**9
START = 1_790_000_000
GPU = Device(0, "Mali-T604", "GPU", 2 << 30, True)
RAIL = Sensor("board/rail", "power", "BMC", window=0.1, update=0.1, resolution=0.01, error=0.02, scope="node")
IDLE = 5.3  # W, as the prototype of the third source
IDLE_SECONDS, CASE_SECONDS, PAUSE_SECONDS = 6.0, 4.0, 0.5

# Seconds of an iteration, and watts, by one thread, by both, by the device, and by both sides together.
KERNELS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "stencil": ((0.40, 7.8), (0.22, 9.5), (0.16, 8.8), (0.14, 11.0)),
    "vector": ((8.0e-3, 7.4), (5.5e-3, 8.6), (5.0e-3, 8.1), (4.9e-3, 10.2)),
    "matmul": ((2.0, 8.2), (1.02, 10.6), (0.25, 9.1), (0.21, 11.9)),
    "nbody": ((1.1, 8.0), (0.56, 10.1), (0.06, 9.0), (0.056, 11.4)),
    "histogram": ((0.05, 7.6), (0.03, 9.0), (0.09, 8.2), (0.018, 10.4)),
}
MODES = (("threads", 1), ("threads", 2), ("opencl", 1), ("mixed", 2))
WORK = {"bytes": 4e6, "flops": 1e7}


def machine() -> Machine:
    """Two cores and a GPU that shares their memory."""
    return builders.machine(cores=2, devices=(GPU,))


def results(kernels: Mapping[str, tuple[tuple[float, float], ...]] = KERNELS) -> list[Result]:
    """Each kernel in each mode, without energy and without the time of day."""
    found = []
    for name, modes in kernels.items():
        for (mode, threads), (seconds, _) in zip(MODES, modes, strict=False):
            case = {"mode": mode, "threads": threads, "pinning": "compact", "elements": 1 << 20}
            case |= {} if mode == "threads" else {"device": 0}
            time = {"time": Value(seconds, "s", 0.99 * seconds, 1.01 * seconds, "lower")}
            level = "DISTURBED" if (name, mode) == ("histogram", "opencl") else "CLEAN"
            why = ("competing load: in 9 of 30 samples a thread waited.",) if level == "DISTURBED" else ()
            found.append(
                builders.result(f"node.{name}", name, case, seconds, WORK, metrics=time, level=level, evidence=why)
            )
    return found


def _watts(record: Record, kernels: Mapping[str, tuple[tuple[float, float], ...]]) -> float:
    mode = (record.parameters["mode"], record.parameters["threads"])
    return kernels[record.kernel][MODES.index(mode)][1]


def evaluated(
    made: list[Result],
    kernels: Mapping[str, tuple[tuple[float, float], ...]] = KERNELS,
    sensor: Sensor = RAIL,
    seed: int = 7,
) -> Evaluation:
    """These, one launch after the other, with the readings of the sensor meanwhile; judged as a run is."""
    now, told, steps = START + IDLE_SECONDS, [], [(START, IDLE)]
    for launch in (1, 2, 3):
        for result in made:
            (record,) = (r for r in result.records if r.launch == launch)
            around = builders.seen(record.surroundings, began=now, ended=now + CASE_SECONDS)
            told.append(replace(record, surroundings=around))
            steps += [(now, _watts(record, kernels)), (now + CASE_SECONDS, IDLE + 1.0)]
            now += CASE_SECONDS + PAUSE_SECONDS
    at = START * SECOND + np.arange(1, round((now - START) * 10)) * (SECOND // 10)
    begins, levels = np.array([round(s[0] * 10) * (SECOND // 10) for s in steps]), np.array([s[1] for s in steps])
    watts = levels[np.searchsorted(begins, at - 1, side="right") - 1]
    watts = watts + np.random.default_rng(seed).normal(0, 0.05, len(at))
    idle = (START * SECOND + SECOND, round((START + IDLE_SECONDS - 1) * SECOND))
    run = replace(builders.evaluation(made, machine()).run, records=tuple(told))
    benchmarks = {r.benchmark: builders.known()[r.benchmark] for r in made}
    return judging.evaluate_run(run, benchmarks, Power({sensor.name: Trace(sensor, at, watts)}, idle))


def made() -> Evaluation:
    """The whole run."""
    return evaluated(results())


def judge_again(found: Evaluation, power: Power) -> Evaluation:
    """The same run with other readings."""
    benchmarks = {name: builders.known()[name] for name in found.benchmarks}
    return judging.evaluate_run(found.run, benchmarks, power)
