"""The peak of the cores, the eight modules and their mixes, and known work on many ranks: formulas, counts, findings."""

import json
import platform
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import evaluation, machine, measured, message, result, seen
from native import linked
from steelyard.judge import findings
from steelyard.judge.findings.remedies import describe
from steelyard.measure import build
from steelyard.measure.benchmarks.cluster import flops as cluster
from steelyard.measure.benchmarks.cluster import flops_figures
from steelyard.measure.benchmarks.cluster.rates import rates_of_ranks
from steelyard.measure.benchmarks.core import flops as modules
from steelyard.measure.benchmarks.core import peak
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.model import Benchmark, Evaluation, Finding, Host, Limit, Machine, Result, Scalar, Value
from steelyard.statistics.models import flops_mix

CORE = Path(peak.__file__).parent
HOSTS = ("n0", "n1", "n2", "n3")


def found(rule: str, seen: Evaluation) -> list[Finding]:
    return findings.load_rule(rule).find(seen)


# --------------------------------------------------------------------------- what was measured


def burning(
    width: str, share: float = 0.99, clock: float = 2.5e9, threads: int = 1, issued: float = 5.0, **changed: Any
) -> Result:
    """Fused multiply-adds in double precision that reach `share` of threads × clock × lanes × 2 units × 2."""
    own = {"level", "evidence", "launches", "error"}
    lanes = 1 if width == "scalar" else int(width) // 64 if width.isdigit() else 8
    parameters: dict[str, Scalar] = {
        "vector_width": width,
        "precision": "double",
        "operation": "fma",
        "threads": threads,
        "pinning": "compact",
        **{k: v for k, v in changed.items() if k not in own},
    }
    flops = 4.0 * lanes * 1e6 * threads
    rate = share * threads * clock * lanes * 4
    around = {
        "details": {"bits": 64 * lanes, "lanes": lanes, "clock": [clock] * threads},
        "cpus": list(range(threads)),
        "samples": {"issued": [issued, None], "core_clock": [3e9, None]},
    }
    metrics = {"flops": Value(rate, "flop/s", 0.999 * rate, 1.001 * rate, "higher")}
    work = {"flops": flops, "bytes": 0.0}
    arguments = {k: v for k, v in changed.items() if k in own}
    return result(
        "core.peak",
        "peak",
        parameters,
        flops / rate,
        work,
        metrics=metrics,
        surroundings=around,
        clock=(3e9,),
        **arguments,
    )


def widths(*shares: float, wide: float = 2.5e9, narrow: float = 3e9, **changed: Any) -> list[Result]:
    """Scalars and vectors of 128 and 256 bits at one clock, 512 bits at another; each with its share of the limit."""
    clocks = (narrow, narrow, narrow, wide)
    return [
        burning(w, share, clock, **changed) for w, share, clock in zip(peak.WIDTHS[:4], shares, clocks, strict=True)
    ]


def known(**changed: Any) -> Machine:
    return machine(**{"fma_width": 8, "fma_units": 2, **changed})


FULL = (0.99,) * 4

SPEAKS: dict[str, Callable[[], Evaluation]] = {
    "peak": lambda: evaluation(widths(0.99, 0.99, 0.99, 0.9), known()),
    "vector_clock": lambda: evaluation(widths(*FULL), known()),
    "task_communication": lambda: evaluation([task(0.1)]),
}
SILENT: dict[str, Callable[[], Evaluation]] = {
    "peak": lambda: evaluation([burning("512", operation="add_mul")], known()),
    "vector_clock": lambda: evaluation([burning("512"), burning("scalar", threads=2)], known()),
    "task_communication": lambda: evaluation([working([1] * 4, HOSTS), task(0.1, ranks=1)]),
}
GOOD: dict[str, Callable[[], Evaluation]] = {
    "peak": lambda: evaluation([*widths(*FULL), *widths(*FULL, threads=4)], known()),
    "vector_clock": lambda: evaluation(widths(*FULL, wide=2.95e9), known()),
    "task_communication": lambda: evaluation([task(0.02)]),
}


def only(rule: str, seen: Evaluation) -> Finding:
    told = found(rule, seen)
    assert len(told) == 1, [f.seen for f in told]
    return told[0]


# --------------------------------------------------------------------------- the mixes


def test_the_mixes_of_a_published_system_come_out_of_its_modules() -> None:
    """HP 9000/730, from the table of flops.c 2.0: the modules' Mflop/s and the four mixes, to the printed digits."""
    modules_of_hp = (23.42, 28.61, 22.93, 21.72, 31.52, 37.08, 15.05, 36.25)
    seconds = {
        number: flops_mix.MODULES[number].total / (rate * 1e6) for number, rate in enumerate(modules_of_hp, start=1)
    }
    found_speeds = flops_mix.speeds(seconds)
    assert [found_speeds[mix] / 1e6 for mix in (1, 2, 3, 4)] == pytest.approx([26.47, 21.96, 27.26, 29.92], abs=0.006)


def test_the_mixes_have_the_operations_and_the_divisions_of_their_definition() -> None:
    assert [flops_mix.operations(mix) for mix in (1, 2, 3, 4)] == [52, 152, 146, 91]
    assert [round(100 * flops_mix.divisions(mix), 1) for mix in (1, 2, 3, 4)] == [9.6, 9.2, 3.4, 0.0]


def test_a_mix_without_one_of_its_modules_is_left_out() -> None:
    assert flops_mix.speeds({}) == {}
    assert flops_mix.speeds({2: 1e-9, 3: 1e-9}) == {1: pytest.approx(52 / 6e-9)}
    assert flops_mix.speeds({2: 1e-9, 3: 0.0}) == {}


# --------------------------------------------------------------------------- the kernels


@pytest.fixture(scope="module")
def arithmetic(here: Machine, benchmarks: dict[str, Benchmark]) -> dict[str, Path]:
    """The two programs of the cores alone."""
    mine = [benchmarks[name] for name in ("core.peak", "core.flops")]
    return build.build(mine, build.resolve(build.default(here), here))


def answers(program: Path, *lines: str) -> list[dict[str, Any]]:
    given = "".join(f"case={n} seconds=0.02 {line}\n" for n, line in enumerate(lines))
    told = subprocess.run([program], input=given, capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in told.stdout.splitlines()]


def test_kernel_and_statistics_count_the_same_operations(arithmetic: dict[str, Path]) -> None:
    told = answers(arithmetic["core.flops"], *(f"kernel=module{number}" for number in flops_mix.MODULES))
    counted = {number: a["work"]["flops"] / a["work"]["passes"] for number, a in enumerate(told, start=1)}
    assert counted == {number: operations.total for number, operations in flops_mix.MODULES.items()}


@pytest.mark.parametrize("intervals", [100, 101, 3000, 100_000])
def test_results_err_as_the_theory_of_the_trapezoidal_rule_says(arithmetic: dict[str, Path], intervals: int) -> None:
    told = answers(
        arithmetic["core.flops"], *(f"kernel=module{number} intervals={intervals}" for number in flops_mix.MODULES)
    )
    assert [a["check"]["detail"] for a in told if not a["check"]["passed"]] == []
    exact = [a["surroundings"]["details"]["exact"] for a in told]
    assert exact[1:] == pytest.approx(
        [3.141592653589793, 0.5, 0.8660254037844386, 0.6931471805599453, 0.25, -500.2, 7 / 24], rel=1e-15 * 4
    )
    assert 1 / exact[0] == pytest.approx(25.2, rel=1e-13)


def test_a_number_of_intervals_that_cannot_be_is_refused(arithmetic: dict[str, Path]) -> None:
    few, none = answers(arithmetic["core.flops"], "kernel=module1 intervals=99", "kernel=module4 intervals=3000000000")
    assert "intervals='99'" in few["error"]
    assert "intervals='3000000000'" in none["error"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86-64")
def test_a_compiler_that_was_told_of_no_wide_vectors_refuses_them_by_name(here: Machine) -> None:
    program = linked(here, CORE / "peak.cpp", "-O0", "-march=x86-64")
    wide, fused, scalar, widest = answers(
        program,
        "vector_width=256 operation=add_mul",
        "vector_width=128 operation=fma",
        "vector_width=scalar operation=add_mul precision=single",
        "operation=add_mul",
    )
    assert "vector_width='256'" in wide["error"]
    assert "-march=native" in wide["error"]
    assert "operation='fma'" in fused["error"]
    assert scalar["check"]["passed"], scalar["check"]
    assert widest["surroundings"]["details"]["bits"] == 128


def test_every_width_of_this_machine_computes_what_one_number_after_the_other_gives(
    arithmetic: dict[str, Path], here: Machine
) -> None:
    lines = [
        f"vector_width={width} precision={precision} operation={operation}"
        for width in peak.widths(here)
        for precision in peak.BITS
        for operation in ("fma", "add_mul")
    ]
    told = answers(arithmetic["core.peak"], *lines)
    assert [a.get("error") or a["check"]["detail"] for a in told if not a.get("check", {}).get("passed")] == []


# --------------------------------------------------------------------------- operations, counted by instructions

COUNTED = """
#include <cstdlib>
#include "integrals.h"
using namespace steelyard;
template <class M> [[gnu::noinline]] double compute(const Coefficients& c, std::size_t n) { return FlopModule<M>::compute(c, n); }
int main(int, char** words) {
  Coefficients c;
  asm volatile("" ::"r"(&c) : "memory");
  double (*const all[])(const Coefficients&, std::size_t) = {
      compute<Logarithm>, compute<Series>, compute<Sine>, compute<Cosine>, compute<Tangent>, compute<SineCosine>,
      compute<Fractions>, compute<SineCosineSquared>};
  volatile double result = all[std::atoi(words[1]) - 1](c, static_cast<std::size_t>(std::atol(words[2])));
  return result == 0;
}
"""
# Scalar SSE2 alone, neither vectorised nor fused: an operation is an instruction.
PLAIN = ["-std=c++20", "-O1", "-march=x86-64", "-fno-tree-vectorize", "-ffp-contract=off", "-no-pie"]


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of x86-64")
@pytest.mark.skipif(
    not all(map(shutil.which, ("valgrind", "objdump", "g++"))), reason="needs valgrind, objdump and g++"
)
def test_the_operations_of_the_mixes_are_the_instructions_executed(tmp_path: Path) -> None:
    """Executions of each arithmetic instruction by Callgrind; the difference of two lengths is free of all that comes once."""
    source, program = tmp_path / "counted.cpp", tmp_path / "counted"
    source.write_text(COUNTED)
    subprocess.run(["g++", *PLAIN, f"-I{CORE}", str(source), "-o", str(program)], check=True)
    names = _mnemonics(program)
    counted = {}
    for number, operations in flops_mix.MODULES.items():
        short, long = (_executed(program, names, tmp_path, number, length) for length in (1000, 3000))
        each = {name: (long[name] - short[name]) / 2000 for name in ("addsd", "subsd", "mulsd", "divsd")}
        wanted = (operations.add, operations.sub, operations.mul, operations.div)
        assert tuple(each.values()) == pytest.approx(wanted, abs=0.01), f"module {number}"
        counted[number] = sum(each.values())
    for mix, needed in flops_mix.MIXES.items():
        instructions = sum(counted[module] * times for module, times in needed.items())
        assert instructions == pytest.approx(flops_mix.operations(mix), rel=0.01)


def _mnemonics(program: Path) -> dict[int, str]:
    """The instruction at each address."""
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    )
    return {int(at, 16): name for at, name in re.findall(r"^\s*([0-9a-f]+):\t(\S+)", listing.stdout, re.MULTILINE)}


def _executed(program: Path, names: dict[int, str], folder: Path, number: int, length: int) -> Counter[str]:
    """How often each instruction was executed, by its name."""
    out = folder / f"callgrind.{number}.{length}"
    command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", f"--callgrind-out-file={out}"]
    subprocess.run([*command, program, str(number), str(length)], capture_output=True, check=True, timeout=120)
    executed: Counter[str] = Counter()
    called = False
    for line in out.read_text().splitlines():
        # The line after "calls=" is the cost of what was called, which is listed by itself.
        if line.startswith("0x") and not called:
            at, *_, times = line.split()
            executed[names.get(int(at, 16), "")] += int(times)
        called = line.startswith("calls=")
    return executed


# --------------------------------------------------------------------------- limits and axes


def test_bars_of_all_widths_stand_in_their_order_whatever_was_measured() -> None:
    fused, apart = widths(*FULL), burning("512", 0.5, operation="add_mul")
    by_width, threads, clocks = peak.figures((apart, *fused), known())
    assert [s.name for s in by_width.series] == ["add_mul", "fma"]
    assert all(s.x == ("scalar", "128", "256", "512") for s in by_width.series)
    assert by_width.series[0].y[:3] == (None, None, None)
    assert threads.marks[0].label.startswith("double: 1 core × 2.50 GHz")
    assert clocks.series == (), "these results were made without that metric"


def test_the_limit_of_a_case_is_its_own_cores_clock_vectors_and_pipes() -> None:
    limit = peak.limit("flops", burning("512", clock=2e9, threads=3), known())
    assert limit.value == pytest.approx(3 * 2e9 * 8 * 2 * 2)
    assert limit.source == "3 cores × 2.00 GHz true clock under this load × 8 numbers in each vector × 2 units × 2"
    single = peak.limit("flops", burning("512", clock=2e9, precision="single"), known())
    assert single.value == pytest.approx(2e9 * 16 * 2 * 2)
    cycle = peak.limit("flops_per_cycle", burning("scalar", threads=3), known())
    assert cycle.value == pytest.approx(4)


def test_there_is_no_limit_where_the_pipes_or_the_clock_are_unknown() -> None:
    one = burning("512")
    assert peak.limit("flops", one, known(fma_width=None, fma_units=None)) is None
    assert peak.limit("flops", one, known(fma_width=4)) is None, "no pipe is so wide"
    assert peak.limit("clock", one, known()) is None
    blind = measured(one, records=tuple(replace(r, surroundings=seen({})) for r in one.records))
    assert peak.limit("flops", blind, known()) is None


@pytest.mark.parametrize(
    ("width", "units", "doubles", "wanted"), [(8, 1, 8, 1), (8, 1, 4, 2), (4, 1, 2, 2), (4, 2, 1, 2), (2, 4, 8, None)]
)
def test_narrow_vectors_find_two_pipes_also_where_the_widest_find_one(
    width: int, units: int, doubles: int, wanted: int | None
) -> None:
    assert peak.pipes(known(fma_width=width, fma_units=units), doubles) == wanted


def test_pipes_of_arm_are_told_only_at_the_width_of_the_table() -> None:
    arm = known(architecture="aarch64", fma_width=2, fma_units=4)
    assert [peak.pipes(arm, doubles) for doubles in (1, 2)] == [4, 4]
    assert peak.pipes(known(architecture="aarch64", fma_width=4), 2) is None


def test_threads_that_share_cores_or_a_quota_have_no_more_cores_than_there_are() -> None:
    twins = replace(
        known(), cores=tuple(replace(c, cpus=(c.number, c.number + 4)) for c in known().cores), cpus=tuple(range(8))
    )
    both = burning("512", threads=8)
    assert peak.cores_of(both, twins) == 4
    assert peak.cores_of(both, replace(twins, cpu_quota=1.5)) == 1.5


def test_widths_that_the_processor_lacks_are_left_out() -> None:
    assert peak.widths(known()) == ("scalar", "128", "256", "512")
    assert peak.widths(known(fma_width=4)) == ("scalar", "128", "256")
    assert peak.widths(known(architecture="aarch64")) == ("scalar", "128")
    assert peak.widths(known(fma_width=None)) == ("scalar", "128", "widest")
    assert peak.widths(known(fma_width=None, architecture="riscv64")) == ("scalar", "widest")


def test_one_core_one_socket_and_the_node_are_all_measured(two_sockets: Machine) -> None:
    made = make({"core.peak": catalogue.find()["core.peak"]}, two_sockets, EFFORTS["quick"], {}, ["any"])
    threads = {c.parameters["threads"] for launch in made.launches for c in launch.cases}
    assert threads == {1, 2, 4}
    assert peak.socket_threads(two_sockets) == 2


def test_a_module_has_the_share_of_the_peak_that_its_cores_have() -> None:
    whole = known(limits={"flops": Limit(400e9, "flop/s", "4 cores × 3.12 GHz")})
    one = result("core.flops", "module1", {"threads": 1}, 1e-4, {"flops": 1.0}, surroundings={"cpus": [0]})
    limit = modules.limit("flops", one, whole)
    assert limit.value == pytest.approx(100e9)
    assert limit.source == "4 cores × 3.12 GHz, with threads on 1"


def test_the_figure_of_the_mixes_combines_the_modules() -> None:
    rate = 1e9

    def module(number: int) -> Result:
        value = Value(rate, "flop/s", 0.9 * rate, None if number == 7 else 1.1 * rate, "higher")
        return result("core.flops", f"module{number}", {"threads": 1}, 1e-4, {"flops": 1.0}, metrics={"flops": value})

    mixes = modules.figures(tuple(map(module, flops_mix.MODULES)), known())[0]
    (series,) = mixes.series
    assert series.y == pytest.approx((rate,) * 4)
    assert series.low == pytest.approx((0.9 * rate,) * 4)
    assert series.high == (pytest.approx(1.1 * rate), None, None, pytest.approx(1.1 * rate))
    assert series.x[0] == "1 (9.6 % divisions)"
    assert modules.figures((), known())[0].series == ()


# --------------------------------------------------------------------------- the findings


def test_the_peak_is_told_with_its_share_and_how_the_limit_was_derived() -> None:
    told = only("peak", GOOD["peak"]())
    assert "317 Gflop/s with 4 threads, 99 % of the limit; 79.2 Gflop/s with 1 thread, 99 % of the limit" in told.seen
    assert told.evidence[0] == (
        "The limit: 4 cores × 2.50 GHz true clock under this load × 8 numbers in each vector × 2 units × 2."
    )


@pytest.mark.parametrize(
    ("limit", "share"),
    [
        (384e9, "82 % of the node limit (4 cores)."),
        (100e9, "317 % of the node limit (4 cores): one of the two is wrong."),
    ],
)
def test_the_clock_under_load_stands_beside_the_limit_of_the_node(limit: float, share: str) -> None:
    whole = known(limits={"flops": Limit(limit, "flop/s", "4 cores")})
    told = only("peak", evaluation(widths(*FULL, threads=4), whole))
    assert f"The clock under this load is 2.50 GHz. The result is {share}" in told.evidence


@pytest.mark.parametrize(
    ("results", "cause"),
    [
        (widths(0.99, 0.99, 0.99, 0.5), "one execution unit of this width, not two"),
        (widths(0.99, 0.99, 0.99, 0.9), "Wide vectors reduce the clock more"),
        (widths(0.9, 0.9, 0.9, 0.9), "The clock changes"),
        (widths(0.6, 0.6, 0.6, 0.6, level="DISTURBED", evidence=("shared core: slow.",)), "disturbed: shared core"),
        (widths(0.9, 0.9, 0.9, 0.9, level="DISTURBED"), "The measurement was disturbed"),
    ],
)
def test_a_peak_that_is_missed_is_told_with_its_likely_cause(results: Sequence[Result], cause: str) -> None:
    told = only("peak", evaluation(results, known()))
    assert told.level == "notice"
    assert cause in told.cause
    assert told.remedy


def test_a_peak_of_unknown_pipes_asks_for_a_system_file() -> None:
    told = only("peak", evaluation([burning("widest")], known(fma_width=None, processor="X")))
    assert "cannot compute" in told.seen
    assert told.evidence == ("The execution units of the processor 'X' are unknown.",)
    blind = [replace(r, surroundings=seen({})) for r in burning("widest").records]
    told = only("peak", evaluation([measured(burning("widest"), records=tuple(blind))], known()))
    assert told.evidence == ("The clock under this load was not measured.",)
    assert "--system FILE.toml" in describe(told.remedy)


def test_the_drop_of_the_clock_is_told_with_both_clocks_and_what_width_still_gains() -> None:
    told = only("vector_clock", SPEAKS["vector_clock"]())
    assert (
        "Wide vectors reduce the clock by 17 %: 2.50 GHz with vectors of 512 bits, 3.00 GHz with scalars" in told.seen
    )
    assert "1.7 times as fast as vectors of 256 bits" in told.remedy
    assert told.evidence[0].startswith("1 thread: 3.00 GHz with scalars, 3.00 GHz with vectors of 128 bits")


def test_clocks_that_overlap_are_not_called_a_drop() -> None:
    moving = [burning("scalar", clock=hertz, precision=p) for p, hertz in (("double", 3e9), ("single", 2.4e9))]
    wide = [burning("512", clock=hertz, precision=p) for p, hertz in (("double", 2.9e9), ("single", 2.2e9))]
    told = only("vector_clock", evaluation([*moving, *wide], known()))
    assert "cannot decide" in told.seen


# --------------------------------------------------------------------------- known work on many ranks


def working(factors: Sequence[float], hosts: Sequence[str], launches: int = 3, spread: float = 0.002) -> Result:
    """cluster.flops on ranks that take 10 ms times their factor."""
    cpus = [list(hosts[:r]).count(host) for r, host in enumerate(hosts)]
    name: dict[str, Any] = {"benchmark": "cluster.flops", "kernel": "flops", "hosts": hosts, "ranks": len(hosts)}
    one = message(5e-3 * max(factors), 0, launches=launches, spread=spread, cpus=cpus, **name)
    parameters = {k: v for k, v in one.parameters.items() if k != "message_bytes"}
    records = []
    for record in one.records:
        pace = [
            [t * f / max(factors) * (1 + 0.001 * (r * 7 % 5 - 2)) for t in record.samples]
            for r, f in enumerate(factors)
        ]
        around = seen(record.surroundings, ranks={**record.surroundings.ranks.given(), "seconds": pace})
        records.append(replace(record, parameters=parameters, surroundings=around, work={"flops": 4.7e8, "bytes": 0.0}))
    speed = 4.7e8 / (1e-2 * max(factors))
    metrics = {"flops": Value(speed, "flop/s", speed, speed, "higher")}
    return measured(one, parameters=parameters, records=tuple(records), metrics=metrics)


def task(share: float, ranks: int = 4) -> Result:
    """The parallel task, whose communication takes this share of its 10 ms."""
    one = working([1] * ranks, HOSTS[:ranks])
    told = {
        "communication": Value(1e-2 * share, "s", None, None, "lower"),
        "communication_share": Value(share, "%", None, None, "lower"),
        "time": Value(1e-2, "s", None, None, "lower"),
    }
    records = tuple(replace(record, kernel="task") for record in one.records)
    return measured(one, kernel="task", records=records, metrics={**one.metrics, **told})


def test_a_task_that_is_faster_than_ranks_that_do_not_communicate_is_not_good() -> None:
    def told(times: float) -> Finding:
        alone = working([1] * 4, HOSTS)
        both = task(0.02)
        flops = replace(alone.metrics["flops"], value=alone.metrics["flops"].value * times)
        return only("task_communication", evaluation([alone, replace(both, metrics={**both.metrics, "flops": flops})]))

    assert (told(0.9).level, told(1.11).level) == ("good", "notice")
    assert "90 % of the speed of ranks" in told(0.9).seen
    assert "were slower than this task" in told(1.11).seen
    assert "111" not in told(1.11).seen


def test_a_node_that_computes_slowly_is_named() -> None:
    hosts = [f"n{i}" for i in range(8)]
    told = only("slow_node", evaluation([working([1, 1, 1, 1.3, 1, 1, 1, 1], hosts)]))
    assert told.level == "serious"
    assert "Node n3" in told.seen
    assert "1.3 times as long" in told.seen


def test_a_rank_that_computes_slowly_on_one_machine_is_named_with_its_processor() -> None:
    told = only("slow_node", evaluation([working([1, 1, 1.4, 1, 1, 1, 1, 1], ["a"] * 8)], machine(cores=8)))
    assert "Rank 2 (processor 2)" in told.seen


def test_nodes_that_compute_alike_are_told_to_be_well() -> None:
    told = only("slow_node", evaluation([working([1] * 8, [f"n{i}" for i in range(8)])]))
    assert told.level == "good"


def test_the_speed_of_a_node_is_the_sum_of_its_ranks() -> None:
    record = working([1, 1, 2, 2], ["a", "a", "b", "b"], spread=1e-9).records[0]
    nodes = flops_figures.rates_by_host(record)
    assert nodes["a"] == pytest.approx(2 * nodes["b"], rel=0.01)
    assert sum(nodes.values()) == pytest.approx(sum(rates_of_ranks(record, "flops")))


def test_the_cluster_is_drawn_beside_the_ideal_line_with_its_efficiency() -> None:
    def of(ranks: int, speed: float) -> Result:
        one = working([1] * ranks, [f"n{i}" for i in range(ranks)])
        return replace(one, metrics={"flops": Value(speed, "flop/s", None, None, "higher")})

    growth, efficiency, cost, nodes, table = cluster.figures((of(1, 1e9), of(2, 2e9), of(4, 3e9)), machine())
    assert [s.name for s in growth.series] == ["independent ranks", "ideal", "Core 2 Duo E4600"]
    assert cost.series == ()
    assert growth.series[1].y == (1e9, 4e9)
    assert efficiency.series[0].y == pytest.approx((1, 1, 0.75))
    assert nodes.series[0].x == ("n0", "n1", "n2", "n3")
    assert [row[0] for row in table.cells] == ["1", "2", "4"]
    assert all(not figure.series for figure in cluster.figures((), machine()))


def test_flops_are_measured_on_one_node_and_so_on_to_all_each_with_all_its_processors() -> None:
    def nodes(count: int, preset: str) -> list[int]:
        here = machine(hosts=tuple(Host(f"n{i}", 4) for i in range(count)))
        made = make(
            {"cluster.flops": catalogue.find()["cluster.flops"]}, here, EFFORTS[preset], {}, ["gcc"], mpis=["any"]
        )
        found = [c.parameters for launch in made.launches if launch.repetition == 1 for c in launch.cases]
        return sorted({int(p["ranks"]) // 4 for p in found if p.get("ranks_per_node") == 4})

    assert nodes(8, "standard") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert nodes(8, "quick") == [1, 8]
    assert nodes(40, "full") == [1, 2, 4, 8, 16, 32, 40]
    assert nodes(1, "full") == []


def test_the_table_over_nodes_has_the_time_the_clusters_speed_and_each_nodes() -> None:
    def on(nodes: int) -> Result:
        one = working([1] * (2 * nodes), [f"n{i // 2}" for i in range(2 * nodes)])
        told = {
            "flops": Value(nodes * 1e9, "flop/s", None, None, "higher"),
            "time": Value(8 / nodes, "s", 1, 9, "lower"),
        }
        parameters = {**one.parameters, "ranks_per_node": 2}
        return replace(one, metrics=told, parameters=parameters)

    *_, table = cluster.figures((on(1), on(2), on(4)), machine())
    assert table.headings == ("nodes", "calculation time", "cluster speed", "n0", "n1", "n2", "n3")
    assert [row[:3] for row in table.cells] == [
        ("1", "8.00 s", "1.00 Gflop/s"), ("2", "4.00 s", "2.00 Gflop/s"), ("4", "2.00 s", "4.00 Gflop/s"),
    ]  # fmt: skip
    assert table.cells[2][3:] == ("11.8 Gflop/s", "11.7 Gflop/s", "11.8 Gflop/s", "11.7 Gflop/s")
    assert table.cells[0][4:] == ("", "", "")
    by_name = {figure.name: figure for figure in cluster.figures((on(1), on(2), on(4)), machine())}
    growth = by_name["cluster-flops-speed-nodes"]
    assert growth.series[0].x == (1.0, 2.0, 4.0)
    published = [s for s in growth.series if s.published]
    assert [(s.name, s.x[-1], s.y[-1]) for s in published] == [("Celeron educational cluster", 8, 1086e6)]
