"""Builds evaluations by hand: a machine, results whose costs are chosen, and a run around them."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from steelyard.judge.evaluation.judging import add_result_limits
from steelyard.measure.plan import catalogue
from steelyard.model import (
    Benchmark,
    Cache,
    Case,
    Check,
    Core,
    Evaluation,
    Evidence,
    Launch,
    Level,
    Limit,
    Machine,
    Metric,
    NumaNode,
    Plan,
    Record,
    Result,
    Run,
    Sampling,
    Scalar,
    Setting,
    Value,
    Verdict,
)
from steelyard.model.observed import Observed, remove_null_parts
from steelyard.model.plain import from_plain, to_plain
from steelyard.model.roles import Role
from steelyard.statistics.results.attempts import reduce_records
from steelyard.statistics.results.launch_medians import add_launch_times
from steelyard.statistics.results.result import select_believed
from steelyard.statistics.results.usable_samples import undisturbed
from steelyard.statistics.samples.launches import Spread, combine, widen_for_runs

CLOCK = 2.5e9


def machine(nodes: int = 1, cores: int = 4, l3: int = 8 << 20, **changed: Any) -> Machine:
    """Cores shared evenly by the nodes; an L3 for each node; 32 GiB; no limit known."""
    per = cores // nodes
    cpus = tuple(range(cores))
    of_node = [cpus[n * per : (n + 1) * per] for n in range(nodes)]
    fields: dict[str, Any] = {
        "system": "bench",
        "host": "bench",
        "processor": "Example processor",
        "vendor": "Example",
        "architecture": "x86_64",
        "cores": tuple(Core(c, c // per, c // per, (c,)) for c in cpus),
        "nodes": tuple(
            NumaNode(n, of_node[n], (32 << 30) // nodes, tuple(10 if n == m else 21 for m in range(nodes)))
            for n in range(nodes)
        ),
        "caches": (
            *(Cache(1, "data", 32 << 10, 64, (c,)) for c in cpus),
            *(Cache(2, "unified", 1 << 20, 64, (c,)) for c in cpus),
            *(Cache(3, "unified", l3, 64, of_node[n], True) for n in range(nodes)),
        ),
        "cpus": cpus,
        "cpu_quota": None,
        "memory": 32 << 30,
        "memory_available": 30 << 30,
        "modules": (),
        "fma_width": 4,
        "fma_units": 2,
        "settings": (
            Setting("transparent_huge_pages", "madvise", "/sys/kernel/mm/transparent_hugepage/enabled"),
            Setting("memory_limit", "none", "/proc/self/cgroup"),
        ),
        "compilers": (),
        "mpis": (),
        "limits": {},
    }
    return Machine(**{**fields, **changed})


def verdict_of(level: Level, *sentences: str) -> Verdict:
    """A verdict with evidence, told as 'steal: 0.3 s.'; of no kind where no word in small letters stands before a colon."""
    parts = [(sentence, *sentence.partition(": ")) for sentence in sentences]
    return Verdict(
        level,
        tuple(
            Evidence(kind, text) if colon and kind.islower() else Evidence("", sentence)
            for sentence, kind, colon, text in parts
        ),
    )


def seen(around: Mapping[str, Any] | Observed, **changed: Any) -> Observed:
    """What a record holds of its surroundings, from plain data or from those of another record, with parts that are `changed`."""
    given = around.given() if isinstance(around, Observed) else around
    return from_plain(Observed, remove_null_parts(to_plain({**given, **changed})))


def samples(seconds: float, seed: int = 1, count: int = 30, spread: float = 0.002) -> tuple[float, ...]:
    """So many times around `seconds`, normally spread."""
    chance = random.Random(seed)
    return tuple(seconds * (1 + chance.gauss(0, spread)) for _ in range(count))


def result(
    benchmark: str,
    kernel: str,
    parameters: Mapping[str, Scalar],
    seconds: float,
    work: Mapping[str, float],
    *,
    level: Level = "CLEAN",
    evidence: tuple[str, ...] = (),
    launches: int = 3,
    error: str | None = None,
    check: Check | None = None,
    clock: tuple[float, ...] = (CLOCK,),
    surroundings: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Value] | None = None,
    spread: float = 0.002,
) -> Result:
    """A case measured in several launches. `seconds` is the time of one operation that does `work`."""
    case = {"toolchain": "gcc-12.2.0", **parameters}
    verdict = verdict_of(level, *evidence)
    own = Verdict("CLEAN") if level == "UNSETTLED" else verdict  # too little is known of all launches together
    records = tuple(
        Record(
            benchmark=benchmark,
            kernel=kernel,
            parameters=case,
            launch=launch,
            case=0,
            attempt=1,
            samples=() if error else samples(seconds, seed=launch, spread=spread),
            operations=1,
            work=work,
            check=check or Check(error is None),
            verdict=own,
            surroundings=seen({"core_clock": {"before": list(clock), "after": list(clock)}, **(surroundings or {})}),
            error=error,
        )
        for launch in range(1, launches + 1)
    )
    told = {} if level == "INVALID" else dict(metrics or {})
    return measured(
        Result(benchmark=benchmark, kernel=kernel, parameters=case, records=records, metrics=told, verdict=verdict)
    )


def measured(of: Result, records: Iterable[Record] | None = None, **changed: Any) -> Result:
    """The result of these records (None: of its own), with all that follows from them but its metrics and its verdict."""
    found = tuple(of.records if records is None else records)
    used, _ = select_believed(found)
    spread = _spread(tuple(undisturbed(r) for r in used)) if used else None
    seconds = Value(spread.value, "s", spread.low, spread.high, "lower") if spread else None
    return add_launch_times(replace(of, records=found, attempts=reduce_records(found), seconds=seconds, **changed))


@lru_cache(maxsize=4096)
def _spread(launches: tuple[tuple[float, ...], ...]) -> Spread:
    """That of a case with these samples. The same samples come again in each step that builds a result, and in many tests."""
    return widen_for_runs(combine(launches))


def bandwidth(value: float, half_width: float = 0.01) -> Value:
    """A bandwidth with a symmetric interval (relative half-width)."""
    return Value(value, "B/s", value * (1 - half_width), value * (1 + half_width), "higher")


def triad(
    rate: float, threads: int = 1, elements: int = 16_000_000, half_width: float = 0.01, **changed: Any
) -> Result:
    """A Triad of so many bytes per second; other parameters, and arguments of `result`, by name."""
    own = {"level", "evidence", "launches", "error", "check", "clock", "surroundings", "spread"}
    arguments = {k: v for k, v in changed.items() if k in own}
    parameters: dict[str, Scalar] = {
        "elements": elements,
        "threads": threads,
        "pinning": "compact",
        "stores": "ordinary",
        "page_size": "default",
        "memory_policy": "local",
        **{k: v for k, v in changed.items() if k not in own},
    }
    moved = 24.0 if parameters["stores"] == "streaming" else 32.0
    work = {"bytes": 24.0 * elements, "bytes_moved": moved * elements, "flops": 2.0 * elements}
    told = {"bandwidth": bandwidth(rate, half_width)}
    return result("memory.stream", "triad", parameters, work["bytes"] / rate, work, metrics=told, **arguments)


def gather(seconds: float, L: int = 1, alpha: float = 1.0, **changed: Any) -> Result:  # noqa: N803
    """An APEX-MAP point with so many seconds an access, of all threads together; `elements` 64 Mi."""
    own = {"level", "evidence", "launches", "spread"}
    parameters: dict[str, Scalar] = {
        "L": L,
        "alpha": alpha,
        "accumulators": 1,
        "threads": 1,
        "elements": 64 << 20,
        "page_size": "default",
        "memory_policy": "local",
        **{k: v for k, v in changed.items() if k not in own},
    }
    work = {"accesses": 1024.0, "bytes": 8192.0}
    arguments = {k: v for k, v in changed.items() if k in own}
    return result("memory.apexmap", "gather", parameters, seconds * 1024, work, **arguments)


def chase(seconds: float, size: int = 512 << 20, chains: int = 1, **changed: Any) -> Result:
    """A pointer chase with so many seconds an access, of all chains and threads together."""
    own = {"level", "evidence", "launches", "spread"}
    parameters: dict[str, Scalar] = {
        "bytes": size,
        "chains": chains,
        "threads": 1,
        "page_size": "default",
        "memory_policy": "local",
        **{k: v for k, v in changed.items() if k not in own},
    }
    work = {"accesses": float(chains), "bytes": 64.0 * chains}
    arguments = {k: v for k, v in changed.items() if k in own}
    return result("memory.latency", "chase", parameters, seconds * chains, work, **arguments)


def message(seconds: float, size: int = 8, **changed: Any) -> Result:
    """A ping-pong of so many seconds one way between ranks 0 and 1 of `hosts`, rank r on processor r of `cpus`.

    Arguments of `result`, `benchmark`, `kernel`, `hosts`, `cpus`, `clock` (offset, uncertainty and residual of each rank),
    `crowded` and `colocated` by name, anything else is a parameter. Each rank takes as long as the whole.
    """
    own = {"level", "evidence", "launches", "error", "check", "spread"}
    told = {"benchmark", "kernel", "hosts", "cpus", "clock", "crowded", "colocated"}
    parameters: dict[str, Scalar] = {
        "message_bytes": size,
        "ranks": 2,
        "placement": "same cache",
        "transport": "default",
        "buffers": "reused",
        "mpi": "openmpi-4.1.4",
        **{k: v for k, v in changed.items() if k not in own | told},
    }
    arguments = {k: v for k, v in changed.items() if k in own}
    name, kernel = changed.get("benchmark", "network.pingpong"), changed.get("kernel", "pingpong")
    metrics = {"latency": Value(seconds, "s", 0.99 * seconds, 1.01 * seconds, "lower")}
    if size:
        metrics["bandwidth"] = bandwidth(size / seconds)
    found = result(
        name, kernel, parameters, 2 * seconds, {"messages": 2.0, "bytes": 2.0 * size}, metrics=metrics, **arguments
    )
    return measured(found, records=tuple(_of_ranks(r, changed) for r in found.records))


def _of_ranks(record: Record, told: Mapping[str, Any]) -> Record:
    hosts = told.get("hosts", ("bench", "bench"))
    offset, uncertainty, residual = told.get("clock", (2e-8, 1e-6, None))
    rest = len(hosts) - 1
    ranks = {
        "hosts": list(hosts),
        "cpus": list(told.get("cpus", range(len(hosts)))),
        "seconds": [list(record.samples)] * len(hosts),
        "late": 0,
        "colocated": told.get("colocated", False),
        "clock": {
            "offset": [0.0, *[offset] * rest],
            "uncertainty": [0.0, *[uncertainty] * rest],
            "residual": [None, *[residual] * rest],
        },
    }
    around = seen(record.surroundings, ranks=ranks, oversubscribed=told.get("crowded", False))
    return replace(record, surroundings=around)


def benchmark(name: str, limit: Limit | None = None) -> Benchmark:
    """A declaration that knows one metric, and that limit for it."""
    metric = Metric("bandwidth", "B/s", "higher", "Bandwidth", lambda s, r: r.work["bytes"] / s)
    return Benchmark(
        name=name,
        title=name,
        summary="",
        reading="",
        caution="",
        source="",
        sources=(),
        axes=lambda m, e: (),
        metrics=(metric,),
        limit=lambda m, r, where: limit,
        figures=lambda r, m: (),
        roles=roles(name),
    )


@cache
def known() -> Mapping[str, Benchmark]:
    """The package's own benchmarks."""
    return catalogue.find()


def roles(name: str) -> tuple[Role, ...]:
    """Those of the package's own benchmark of that name."""
    return known()[name].roles if name in known() else ()


def evaluation(results: Iterable[Result], where: Machine | None = None, first: int = 0, **changed: Any) -> Evaluation:
    """A finished run that holds these results; `changed` are fields of the Run."""
    # Each result is a case of its own in every launch; the first has the number `first`.
    numbered = enumerate(results, first)
    found = tuple(measured(r, (replace(record, case=i) for record in r.records)) for i, r in numbered)
    here = where or machine()
    names = sorted({r.benchmark for r in found})
    plan = Plan(
        "quick",
        1,
        tuple(
            Launch(i, n, "gcc-12.2.0", 1, (Case(n, "triad", {}, Sampling(0.02, 1.0)),)) for i, n in enumerate(names, 1)
        ),
        60.0,
    )
    fields: dict[str, Any] = {
        "id": "a",
        "path": "runs/a",
        "started": "2025-11-20T12:00:00+00:00",
        "machine": here,
        "plan": plan,
        "versions": {"steelyard": "0.1.0", "python": "3.11.9"},
        "records": tuple(record for r in found for record in r.records),
        "finished": True,
    }
    run = Run(**{**fields, **changed})
    declared = {n: benchmark(n, here.limits.get("memory_bandwidth")) for n in names}
    return with_limits(Evaluation(run=run, benchmarks=declared, results=found, findings=()))


def with_limits(of: Evaluation, benchmarks: Mapping[str, Benchmark] | None = None) -> Evaluation:
    """The evaluation with the limits that its benchmarks, or these, give its results."""
    given = {**of.benchmarks, **(benchmarks or {})}
    limited = tuple(add_result_limits(r, given, of.run.machine) for r in of.results)
    return replace(of, benchmarks=given, results=limited)
