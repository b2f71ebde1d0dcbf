"""The power of a run beside the published power of another system: idle, and in each mode of the published kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.judge.evaluation.energy import measure_idle
from steelyard.measure.published import Published
from steelyard.measure.telemetry.watched import is_modelled, name_load
from steelyard.model import Evaluation, Level, Machine, Result, Value
from steelyard.model.account import Account
from steelyard.model.devices import find_device
from steelyard.model.scope import NODE
from steelyard.model.words import plural
from steelyard.statistics.results import cases
from steelyard.statistics.results.energy_metrics import POWER
from steelyard.statistics.results.shared_work import side_of
from steelyard.statistics.validity import trust

STENCIL = "node.stencil"  # the kernel of the publication
PRINTED = "power"  # the benchmark's name in the data


@dataclass(frozen=True)
class Drawn:
    """The power of this run, or None if it has none. `remark` names a condition that differs from the published one."""

    value: Value | None
    level: Level = "CLEAN"
    remark: str = ""


NONE = Drawn(None)


def find_ours(evaluation: Evaluation, entry: Published) -> Drawn:
    """Returns the power of the node in the run. A modelled power, or one of some parts, is not compared with it."""
    if evaluation.power is None or is_modelled(evaluation.power.traces):
        return NONE
    state = str(entry.parameters.get("state", ""))
    if state == "idle":
        return _idle(evaluation)
    machine = evaluation.run.machine
    if entry.metric == "power_max":
        every = [r for r in evaluation.results if r.benchmark.startswith("node.") and "mode" in r.parameters]
        return _choose(_in(every, state, machine), machine, state, greatest=True)
    results = _in([r for r in evaluation.results if r.benchmark == STENCIL and "mode" in r.parameters], state, machine)
    return _choose(cases.select_greatest(results, "elements"), machine, state)


def _idle(evaluation: Evaluation) -> Drawn:
    power, resting = evaluation.power, measure_idle(evaluation)
    if resting is None or resting[0].scope != (NODE,):
        return NONE
    counted, spent = resting
    load = Account.of(power.busy if power else None, evaluation.run.machine.processors, 1)
    remark = f"while other processes kept {load.cores:.1f} cores busy" if load and name_load(load) else ""
    low, high = spent.low / spent.seconds, spent.high / spent.seconds
    value = Value(spent.power, "W", low, high, "lower", scope=counted.scope)
    return Drawn(value, "DISTURBED" if remark else "CLEAN", remark)


def _in(results: Sequence[Result], state: str, machine: Machine) -> list[Result]:
    """Returns the results in that mode: one thread, all threads, a device (preferably a GPU), or both together."""
    usable = [
        r
        for r in results
        if POWER.name in r.metrics and r.metrics[POWER.name].scope == (NODE,) and r.verdict.level != "INVALID"
    ]
    sides = {"1 cpu": "threads", "2 cpu": "threads", "gpu": "device", "gpu+1 cpu": "mixed"}
    in_mode = [r for r in usable if (side_of(r) or "mixed") == sides.get(state) and "model" not in r.parameters]
    if state == "1 cpu":
        return cases.select(in_mode, threads=1)
    if state == "2 cpu":  # all that the node has
        return cases.select(in_mode, threads=len(machine.cpus))
    return [r for r in in_mode if (d := find_device(machine, r.parameters)) and d.kind == "GPU"] or in_mode


def _choose(results: Sequence[Result], machine: Machine, state: str, greatest: bool = False) -> Drawn:
    """Returns the power of the fastest of the most trusted results, or the greatest power."""
    used = trust.select_most_trusted(results)
    if not used:
        return NONE
    one = max(used, key=lambda r: r.metrics[POWER.name].value) if greatest else min(used, key=_seconds)
    return Drawn(one.metrics[POWER.name], cases.doubt(one), _remark(one, machine, state))


def _seconds(result: Result) -> float:
    time = result.metrics.get("time")
    return time.value if time else float("inf")


def _remark(result: Result, machine: Machine, state: str) -> str:
    words = []
    threads = int(cases.number(result, "threads") or 0)
    if (state == "2 cpu" and threads != 2) or (state == "gpu+1 cpu" and threads != 1):
        words.append(f"with {plural(threads, 'thread')} instead of '{state}'")
    device = find_device(machine, result.parameters)
    if device and device.kind != "GPU":
        words.append(f"with an OpenCL device that is a {device.kind} instead of a GPU")
    return ", ".join(words)
