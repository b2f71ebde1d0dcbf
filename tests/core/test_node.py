"""The kernels of the node without OpenCL, with a device that fails or has a memory of its own; what is said of the modes."""

import ctypes.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fake_nvml
from builders import evaluation, machine, measured, result, seen
from native import linked
from side_fixture import against, beside
from steelyard.compare import modes as across
from steelyard.judge import findings
from steelyard.judge.findings.node import mixed_mode
from steelyard.measure import build
from steelyard.measure.benchmarks.node import modes
from steelyard.measure.machine.devices import find_devices
from steelyard.measure.plan import catalogue
from steelyard.measure.records import all_runs
from steelyard.model import Check, Device, Evaluation, Machine, Parameters, Result, Value
from steelyard.show.report import render
from steelyard.show.report.pages import node_kernels
from steelyard.statistics.validity.verdict import judgement

STEELYARD = Path(sys.executable).with_name("steelyard")
NATIVE = Path(build.__file__).parent / "native"
NODE = Path(modes.__file__).parent
OWN = ("vector", "nbody", "montecarlo", "mergesort")
SMALL = "elements=70001 bodies=600 chains=200 steps=500"
SHORT = "seconds=0.02 least=2 most=5"


def needs_opencl(test: Callable[..., None]) -> Callable[..., None]:
    """Of the target test-opencl."""
    skipped = pytest.mark.skipif(not find_devices(), reason="no OpenCL device is on this machine")
    marked: Callable[..., None] = pytest.mark.opencl(skipped(test))
    return marked


# A library before the machine's own: it says what the environment tells it of the device, and lets it fail.
SHIM = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static void *own(const char *name) {
  static void *library;
  if (!library) library = dlopen("@LIBRARY@", RTLD_NOW | RTLD_LOCAL);
  return dlsym(library, name);
}
int clGetDeviceInfo(void *device, unsigned what, size_t size, void *value, size_t *given) {
  int (*real)(void *, unsigned, size_t, void *, size_t *) = own("clGetDeviceInfo");
  int code = real(device, what, size, value, given);
  const char *largest = getenv("SHIM_LARGEST");
  if (value && what == 0x1035 && getenv("SHIM_OWN_MEMORY")) memset(value, 0, 4);
  if (value && what == 0x1010 && largest) *(uint64_t *)value = strtoull(largest, 0, 10);
  if (value && getenv("SHIM_NVIDIA")) { /* of the vendor NVIDIA, at the address 0000:01:00.0 */
    if (what == 0x1001) *(uint32_t *)value = 0x10DE;
    if (what == 0x4008 || what == 0x4009 || what == 0x400A) return *(uint32_t *)value = what == 0x4008, 0;
  }
  return code;
}
int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *size,
                           const size_t *group, unsigned waits, const void *wait, void *event) {
  static long calls;
  const char *most = getenv("SHIM_CALLS");
  if (most && ++calls > atol(most)) return -2;
  int (*real)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const void *,
              void *) = own("clEnqueueNDRangeKernel");
  return real(queue, kernel, dimensions, offset, size, group, waits, wait, event);
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library above; what it does not define itself is found in the one that it is linked with."""
    compiler, library = shutil.which("cc"), ctypes.util.find_library("OpenCL")
    if not compiler or not library:
        pytest.skip("no C compiler, or no OpenCL library, is on this machine")
    folder = tmp_path_factory.mktemp("shim")
    source, made = folder / "shim.c", folder / "libshim.so"
    source.write_text(SHIM.replace("@LIBRARY@", library))
    link = ["-Wl,--no-as-needed", f"-l:{library}", "-ldl"]
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, *link], check=True)
    return made


@pytest.fixture(scope="module")
def kernels(here: Machine) -> dict[str, Path]:
    """The programs of the kernels that these tests ask."""
    wanted = [b for name, b in catalogue.find().items() if name in {f"node.{kernel}" for kernel in OWN}]
    return build.build(wanted, build.resolve(build.default(here), here))


def ask(program: Path, *lines: str, **environment: str) -> list[dict[str, Any]]:
    """What a program answers to some cases, one after the other."""
    told = subprocess.run(
        [program],
        input="\n".join(f"{line} {SHORT}" for line in lines) + "\n",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return [json.loads(line) for line in told.stdout.splitlines()]


# --------------------------------------------------------------------------- without OpenCL, and with failing devices


@pytest.mark.long
def test_a_mode_that_needs_a_device_is_refused_before_the_run_without_one(tmp_path: Path) -> None:
    asked = ["--set", "mode=opencl,threads", "--set", "threads=1", "--set", "elements=65536", "--budget", "2s"]
    done = subprocess.run(
        [STEELYARD, "run", "--only", "node.vector", "--runs", tmp_path, "--quiet", *asked],
        env={**os.environ, "STEELYARD_OPENCL": "/nonexistent.so"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 2
    assert "has a case with mode 'opencl' (given by --set mode=)" in done.stderr
    assert "Known are: threads. Steelyard found no OpenCL device" in done.stderr
    assert not all_runs(tmp_path)


@needs_opencl
@pytest.mark.parametrize("mode", ["opencl", "mixed"])
def test_a_device_that_is_lost_in_the_middle_is_named_and_the_next_case_goes_on(
    mode: str, kernels: dict[str, Path], shim: Path
) -> None:
    threads = 2 if mode == "mixed" else 1
    lost, next_case = ask(
        kernels["node.vector"],
        f"mode={mode} threads={threads} elements=2000003",
        f"mode=threads threads={threads} elements=70001",
        STEELYARD_OPENCL=str(shim),
        SHIM_CALLS="1",
    )
    assert f"the OpenCL device '{find_devices()[0].name}' failed to start" in lost["error"]
    assert "the device is not available (OpenCL error -2)" in lost["error"]
    assert "samples" not in lost
    assert next_case["check"]["passed"], next_case


@needs_opencl
def test_a_buffer_that_the_device_cannot_hold_is_refused_with_need_and_limit(
    kernels: dict[str, Path], shim: Path
) -> None:
    environment = {"STEELYARD_OPENCL": str(shim), "SHIM_OWN_MEMORY": "1", "SHIM_LARGEST": str(1 << 20)}
    large, small = ask(
        kernels["node.vector"], "mode=opencl elements=1048576", "mode=opencl elements=4096", **environment
    )
    assert f"'{find_devices()[0].name}' has too little memory" in large["error"]
    assert "a buffer of 8 MiB is needed, but it allows at most 1 MiB" in large["error"]
    assert small["check"]["passed"], small


@needs_opencl
@pytest.mark.parametrize("mode", ["opencl", "mixed"])
def test_the_clock_of_a_device_of_nvidia_is_read_between_the_samples(
    mode: str, kernels: dict[str, Path], shim: Path, tmp_path: Path
) -> None:
    environment = fake_nvml.build(tmp_path, "-DFAIL=0", f"-DREASONS={fake_nvml.NEW}")
    line = f"mode={mode} threads={2 if mode == 'mixed' else 1} elements=1048576 sample_seconds=0.03"
    (answer,) = ask(kernels["node.vector"], line, STEELYARD_OPENCL=str(shim), SHIM_NVIDIA="1", **environment)
    around = answer["surroundings"]
    clock = around["details"]["clock"]
    assert len(clock["at"]) == len(clock["clock"]) == len(clock["reasons"]) > 2
    assert clock["reasons"][-1] == 4
    assert all(later - earlier >= 0.02 for earlier, later in zip(clock["at"][:-1], clock["at"][1:-1], strict=False))
    assert clock["at"][0] < around["ended"] <= clock["at"][-1]
    verdict = judgement(answer["samples"], seen(around), Check(True)).verdict
    assert "device clock" in {one.kind for one in verdict.evidence}


def parameters(kernel: str) -> str:
    """Of the small sizes above those that the kernel reads."""
    names = {"vector": ["elements"], "nbody": ["bodies"], "montecarlo": ["chains", "steps"], "mergesort": ["elements"]}
    return " ".join(word for word in SMALL.split() if word.partition("=")[0] in names[kernel])


@needs_opencl
@pytest.mark.parametrize("kernel", OWN)
def test_results_are_right_on_a_device_with_a_memory_of_its_own(
    kernel: str, kernels: dict[str, Path], shim: Path
) -> None:
    modes = ("mode=threads threads=2", "mode=opencl", "mode=mixed threads=2")
    lines = [f"{mode} {parameters(kernel)}{plant}" for mode in modes for plant in ("", " plant=skip")]
    answers = ask(kernels[f"node.{kernel}"], *lines, STEELYARD_OPENCL=str(shim), SHIM_OWN_MEMORY="1")
    assert [a.get("error") for a in answers] == [None] * len(lines)
    assert [a["check"]["passed"] for a in answers] == [True, False] * len(modes), [a["check"] for a in answers]
    alone = answers[2]["surroundings"]["details"]
    assert alone["shares_memory"] is False
    assert alone["share"] == 1


# A kernel with a share that is given, not chosen: which share is the best differs from run to run.
SHARED = r"""
#include <iostream>
#include "kernel.h"
#include "accelerator.h"
#define private public
#include "modes.h"
#undef private
#define main unused_main
#include "@SOURCE@"
#undef main
int main() {
  Team team(3, {});
  for (double share : {0.0, 0.02, 0.31, 0.5, 0.77, 0.99, 1.0}) {
    Params p("mode=mixed @PARAMETERS@");
    Modes<@NAME@> modes(p, team);
    modes.share_ = share;
    modes.kernel_->spoil_results(team);
    team.each([&](Worker w) { modes.run(w, 2); });
    Check check = modes.check();
    std::cout << share << (check.passed ? " passed " : " failed ") << check.detail << std::endl;
  }
}
"""


@needs_opencl
@pytest.mark.parametrize("kernel", sorted(path.stem for path in NODE.glob("*.cpp")))
def test_any_share_gives_the_right_results(kernel: str, here: Machine, shim: Path) -> None:
    source = NODE / f"{kernel}.cpp"
    name = re.search(r"kernel<Modes<(\w+)>>", source.read_text())
    assert name, "a kernel of the node has all modes"
    given = SMALL.replace("elements=70001", "elements=65536") + " order=96"
    text = SHARED.replace("@SOURCE@", str(source)).replace("@NAME@", name[1]).replace("@PARAMETERS@", given)
    flags = ("-O1", "-march=native", "-w", "-iquote", str(NODE))
    program = linked(here, text, *flags)
    own = {"STEELYARD_OPENCL": str(shim), "SHIM_OWN_MEMORY": "1"}
    for more in ({}, own):
        done = subprocess.run(
            [program], env={**os.environ, **more}, capture_output=True, text=True, timeout=100, check=False
        )
        lines = done.stdout.splitlines()
        assert len(lines) == 7, done.stderr
        assert all(line.split()[1] == "passed" for line in lines), (more, lines)


# --------------------------------------------------------------------------- the finding

GPU = Device(0, "Example GPU", "GPU", 8 << 30, False)
CPU = Device(0, "Example processor", "CPU", 8 << 30, True)


def in_modes(
    kernel: str, threads: float, device: float, mixed: float, share: float = 0.4, one: float | None = None, **more: Any
) -> list[Result]:
    """A kernel in all modes: seconds by four threads, by the device, by both; and by one thread where that is given."""
    cases: list[tuple[str, int, float]] = [("threads", 4, threads), ("opencl", 1, device), ("mixed", 4, mixed)]
    if one is not None:
        cases.append(("threads", 1, one))
    return [
        result(
            f"node.{kernel}",
            kernel,
            {"mode": mode, "threads": count, "device": 0, "elements": 4096, "pinning": "compact"},
            seconds,
            {"items": 4096.0},
            surroundings={"details": {"share": share} if mode == "mixed" else None},
            metrics={"time": Value(seconds, "s", 0.99 * seconds, 1.01 * seconds, "lower")},
            **more,
        )
        for mode, count, seconds in cases
    ]


def with_device(results: list[Result], device: Device = GPU) -> Evaluation:
    return evaluation(results, machine(devices=(device,)))


SPEAKS: dict[str, Callable[[], Evaluation]] = {
    "mixed_mode": lambda: with_device(in_modes("vector", 1e-3, 2e-3, 1.3e-3)),
}
SILENT: dict[str, Callable[[], Evaluation]] = {
    "mixed_mode": lambda: with_device(in_modes("vector", 1e-3, 2e-3, 1e-3)[:2]),
}
GOOD: dict[str, Callable[[], Evaluation]] = {
    "mixed_mode": lambda: with_device(in_modes("vector", 1e-3, 2e-3, 0.7e-3)),
}


def test_mixed_mode_that_pays_is_told_with_kernel_factor_and_share() -> None:
    (told,) = mixed_mode.find(GOOD["mixed_mode"]())
    assert told.level == "good"
    assert "faster in 1 of 1 kernel (vector 0.70 times the time)" in told.seen
    assert "Example GPU" in told.seen
    assert "the device did 40 % of the work" in told.evidence[0]
    assert "0.70 times" in told.evidence[0]
    assert "as long as the threads alone" in told.evidence[0]


def test_mixed_mode_that_loses_is_a_notice_and_compares_with_the_better_of_both() -> None:
    (told,) = mixed_mode.find(with_device(in_modes("vector", 3e-3, 2e-3, 2.4e-3) + in_modes("nbody", 3e-3, 2e-3, 1e-3)))
    assert told.level == "notice"
    assert "faster in 1 of 2 kernels (nbody 0.50 times the time)" in told.seen
    assert "more than 10 % slower in 1 of 2 kernels (vector 1.20 times the time)" in told.seen
    assert "as long as the device alone" in told.evidence[0]
    assert "Keep mixed mode for nbody" in told.remedy


def test_a_small_loss_is_no_notice() -> None:
    (told,) = mixed_mode.find(with_device(in_modes("vector", 1e-3, 2e-3, 1.06e-3, share=0)))
    assert told.level == "good"
    assert "faster in none of 1 kernel" in told.seen
    assert "the threads did all the work" in told.evidence[0]


def test_a_device_that_shares_the_cores_is_told_to_do_so() -> None:
    (told,) = mixed_mode.find(with_device(in_modes("vector", 1e-3, 2e-3, 1.3e-3), CPU))
    assert "share the cores" in told.cause
    (other,) = mixed_mode.find(with_device(in_modes("vector", 1e-3, 2e-3, 1.3e-3), GPU))
    assert "share the cores" not in other.cause


def test_a_difference_that_is_not_sure_is_not_called_one() -> None:
    (told,) = mixed_mode.find(with_device(in_modes("vector", 1e-3, 2e-3, 1.1e-3, launches=2, spread=0.3)))
    assert told.level == "undecided"
    assert "cannot decide" in told.seen


def test_other_threads_or_sizes_are_not_compared() -> None:
    mixed = in_modes("vector", 1e-3, 2e-3, 1e-3)[2]
    fewer = [r for r in in_modes("vector", 1e-3, 2e-3, 1e-3, one=4e-3) if r.parameters["threads"] == 1]
    assert mixed_mode.find(with_device([mixed, *fewer])) == []


def on_openmp(kernel: str, ours: float, theirs: float, policy: str = "default") -> list[Result]:
    """A kernel by four threads of our own, and by four of OpenMP's."""
    own = in_modes(kernel, ours, 1.0, 1.0)[0]
    other = in_modes(kernel, theirs, 1.0, 1.0)[0]
    parameters = {**other.parameters, "model": "openmp", "wait_policy": policy}
    records = tuple(replace(r, parameters=parameters) for r in other.records)
    return [own, measured(other, parameters=parameters, records=records)]


@pytest.mark.wings
def test_openmps_threads_are_compared_with_our_own() -> None:
    (found,) = findings.load_rule("openmp").find(
        with_device(on_openmp("vector", 1e-3, 2e-3) + on_openmp("nbody", 1e-3, 1e-3))
    )
    assert "OpenMP threads are only 0.50 (" in found.seen
    assert "certainly slower in 1 of 2 cases" in found.seen
    assert found.evidence[0].startswith("node.vector (4 threads, ")
    (alike,) = findings.load_rule("openmp").find(with_device(on_openmp("nbody", 1e-3, 1e-3)))
    assert alike.level == "good"
    assert findings.load_rule("openmp").find(with_device(in_modes("vector", 1e-3, 2e-3, 1e-3))) == []


# --------------------------------------------------------------------------- the page


def test_openmps_threads_have_a_column_beside_our_own_and_stand_for_neither_in_comparisons() -> None:
    both = on_openmp("vector", 1e-3, 2e-3) + on_openmp("nbody", 1e-3, 1e-3)
    page = node_kernels.data(with_device(both))
    assert page
    assert page.reference == "4 threads"
    rows = [tuple(map(str, row)) for row in page.parts[0].figure.rows]
    assert [row[:3] for row in rows if "OpenMP" in row[0]] == [
        ("4 OpenMP threads", "nbody", "1.00"),
        ("4 OpenMP threads", "vector", "2.00"),
    ]
    waiting = node_kernels.data(with_device([*both, *on_openmp("vector", 1e-3, 3e-3, "active")[1:]]))
    assert waiting
    assert len(waiting.parts[0].figure.rows) == len(rows)
    a, b = with_device(both), with_device([r for r in both if "model" not in r.parameters])
    (found,) = across.pair_modes(*map(across.select_node, (a, b)))
    assert found.modes == ("4 threads",)
    assert {pair[0].parameters.get("model") for k in found.kernels for pair in k.modes.values()} == {None}


def test_the_page_sets_every_mode_against_all_threads() -> None:
    both = in_modes("vector", 1e-3, 2e-3, 0.5e-3, one=4e-3) + in_modes("nbody", 3e-3, 1.5e-3, 1e-3, one=3e-3)
    page = node_kernels.data(with_device(both))
    assert page.reference == "4 threads"
    (part,) = page.parts
    assert part.modes == ("1 thread", "4 threads", "GPU 0 (OpenCL)", "4 threads and GPU 0 (OpenCL)")
    assert [row.name for row in part.rows] == ["nbody", "vector"]
    vector = part.rows[1].cells
    assert [float(c.ratio) for c in vector if c] == pytest.approx([4, 1, 2, 0.5], rel=0.01)
    # Ratios 4 and 1, times 4 + 3 ms against 1 + 3 ms.
    assert float(part.means[0]) == pytest.approx(2, rel=0.01)
    assert part.sums[0].startswith("7.00 ms (1.75 times")
    assert part.sums[1] == "4.00 ms"


def test_a_mode_that_not_all_kernels_have_is_summed_over_those_that_have_it() -> None:
    both = in_modes("vector", 1e-3, 2e-3, 0.5e-3) + in_modes("nbody", 3e-3, 1.5e-3, 1e-3)[:1]
    page = node_kernels.data(with_device(both))
    assert page.parts[0].sums[1] == "2.00 ms (2.00 times, 1 of 2 kernels)"
    assert page.parts[0].means[1].endswith("(1 of 2 kernels)")
    assert page.parts[0].rows[0].cells[1] is None


def test_one_kernel_alone_has_no_page_of_its_own() -> None:
    assert node_kernels.data(with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3))) is None
    assert node_kernels.data(evaluation([])) is None


def test_invalid_results_are_counted_and_disturbed_ones_marked() -> None:
    both = in_modes("vector", 1e-3, 2e-3, 0.5e-3, level="DISTURBED", evidence=("competing load: some.",))
    both += in_modes("nbody", 3e-3, 1.5e-3, 1e-3)[:2]
    both += in_modes("nbody", 3e-3, 1.5e-3, 1e-3, level="UNSETTLED")[2:]
    both += in_modes("stencil", 3e-3, 1.5e-3, 1e-3, level="INVALID")[:1]
    page = node_kernels.data(with_device(both))
    assert page.left_out == "1 INVALID result is left out."
    unsettled, disturbed = page.parts[0].figure.notes
    assert disturbed == "2 of 4 ratios are DISTURBED. Hatched bars show them."
    assert unsettled == "1 of 4 ratios is UNSETTLED. Dotted bars show it."
    assert [c.level for c in page.parts[0].rows[1].cells if c] == ["DISTURBED"] * 3


def test_the_report_shows_the_page_and_links_to_it() -> None:
    text = render(with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3) + in_modes("nbody", 3e-3, 1.5e-3, 1e-3)))
    assert 'id="node-kernels"' in text
    assert "Geometric mean of the ratios" in text
    assert 'id="node-kernels"' not in render(with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3)))


# --------------------------------------------------------------------------- against another system


def elsewhere(results: list[Result]) -> Evaluation:
    """A run on another system with 16 processors and a GPU that has another number there."""
    here = machine(cores=16, system="other", processor="Other processor", devices=(CPU, replace(GPU, number=1)))
    found = evaluation(results, here)
    return replace(found, run=replace(found.run, id="there"))


def moved(results: list[Result], **changed: Any) -> list[Result]:
    """The results with other parameters, in their records, too."""

    def other(parameters: Parameters) -> Parameters:
        return {**parameters, **changed}

    return [
        replace(
            r,
            parameters=other(r.parameters),
            records=tuple(replace(x, parameters=other(x.parameters)) for x in r.records),
        )
        for r in results
    ]


def threads_of(results: list[Result], count: int) -> list[Result]:
    """Those that all processors take part in, with so many of them."""
    return [r if r.parameters["threads"] == 1 else moved([r], threads=count)[0] for r in results]


def there(kernel: str, threads: float, device: float, mixed: float, one: float, **more: Any) -> list[Result]:
    return moved(threads_of(in_modes(kernel, threads, device, mixed, one=one, **more), 16), device=1)


def test_kernels_stand_against_the_same_mode_of_another_system() -> None:
    mine = with_device(
        in_modes("vector", 1e-3, 2e-3, 0.5e-3, one=4e-3) + in_modes("nbody", 3e-3, 1.5e-3, 1e-3, one=9e-3)
    )
    base = elsewhere(there("vector", 0.5e-3, 8e-3, 0.5e-3, one=8e-3) + there("nbody", 1.5e-3, 1.5e-3, 1e-3, one=9e-3))
    page = against(mine, base)
    assert (page.base, page.about) == ("other", "Other processor, run there")
    (part,) = page.parts
    assert part.modes == (
        "1 thread", "all threads (4 against 16)", "GPU (OpenCL)", "all threads (4 against 16) and GPU (OpenCL)",
    )  # fmt: skip
    assert [row.name for row in part.rows] == ["nbody", "vector"]
    assert [float(c.ratio) for c in part.rows[1].cells if c] == pytest.approx([0.5, 2, 0.25, 1], rel=0.01)
    low, high = (float(end) for end in part.rows[1].cells[0].interval.split(" – "))
    assert low < 0.5 < high
    # Ratios 2 and 2; times 3 + 1 ms over 1.5 + 0.5 ms.
    assert float(part.means[1]) == pytest.approx(2, rel=0.01)
    assert part.sums[1].startswith("4.00 ms (2.00 times)")


def test_the_bars_against_another_system_stand_on_one_between_powers_of_two() -> None:
    mine = with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3, one=4e-3))
    page = against(mine, elsewhere(there("vector", 0.5e-3, 8e-3, 0.5e-3, one=8e-3)))
    plot = json.loads(page.parts[0].figure.plot)
    axis = plot["layout"]["yaxis"]
    assert axis["type"] == "log"
    assert set(axis["ticktext"]) >= {"0.25", "0.5", "1", "2"}
    assert all(math.log2(tick).is_integer() for tick in axis["tickvals"])
    assert [bar["base"] for bar in plot["data"]] == [1] * 4
    assert [1 + bar["y"][0] for bar in plot["data"]] == pytest.approx([0.5, 2, 0.25, 1], rel=0.01)
    assert all(bar["error_y"]["array"][0] > 0 for bar in plot["data"])
    assert [s["y0"] for s in plot["layout"]["shapes"]] == [1]


def test_systems_with_as_many_processors_have_their_modes_once() -> None:
    mine = with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3, one=4e-3))
    base = with_device(in_modes("vector", 2e-3, 2e-3, 0.5e-3, one=4e-3))
    page = against(mine, base)
    assert page.parts[0].modes == ("1 thread", "4 threads", "GPU (OpenCL)", "4 threads and GPU (OpenCL)")
    assert page.base == f"run {base.run.id}", "both systems have one name"


def test_one_thread_may_be_all_of_the_other_system() -> None:
    mine = with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3, one=4e-3))
    (only,) = moved(in_modes("vector", 2e-3, 2e-3, 2e-3)[:1], threads=1)
    (part,) = against(mine, evaluation([only], machine(cores=1, system="old"))).parts
    assert part.modes[:2] == ("1 thread", "all threads (4 against 1)")
    assert part.modes[2:] == ("GPU (OpenCL) against 1 thread", "4 threads and GPU (OpenCL) against 1 thread")
    assert [float(c.ratio) for c in part.rows[0].cells if c] == pytest.approx([2, 0.5, 1, 0.25], rel=0.01)


def with_energy(results: list[Result], watts: float) -> list[Result]:
    """The results with an energy of so many watts."""

    def joules(r: Result) -> Value:
        spent = r.metrics["time"].value * watts
        return Value(spent, "J", 0.99 * spent, 1.01 * spent, "lower")

    return [replace(r, metrics={**r.metrics, "energy": joules(r)}) for r in results]


def test_figure_6_compares_devices_that_one_system_lacks_with_all_threads_of_the_other() -> None:
    """The third source: a core 4.3 times slower; a node 18, 14 and 9 times with +7, −10 and −40 % energy."""
    ratios = {"1 thread": 4.3, "threads": 18.0, "opencl": 14.0, "mixed": 9.0}
    energies = {"threads": 1.07, "opencl": 0.9, "mixed": 0.6}
    spread = {"vector": 0.5, "nbody": 0.8, "stencil": 1.0, "matmul": 1.25, "histogram": 2.0}
    mine: list[Result] = []
    base: list[Result] = []
    for name, factor in spread.items():
        node, core = 1e-3, 12e-3
        base += with_energy(threads_of(in_modes(name, node, 1.0, 1.0, one=core), 16), 100.0)
        *planted, one = in_modes(
            name, node * 18 * factor, node * 14 * factor, node * 9 * factor, one=core * ratios["1 thread"] * factor
        )
        mine += with_energy([one], 1.0)
        for one_mode, mode in zip(planted, energies, strict=True):
            mine += with_energy([one_mode], 100.0 * energies[mode] / ratios[mode])
    here = evaluation([r if r.parameters["threads"] == 1 else moved([r], threads=2)[0] for r in mine], machine(
        cores=2, system="Mont-Blanc node", devices=(GPU,)
    ))  # fmt: skip
    there_ = evaluation(
        [r for r in base if r.parameters["mode"] == "threads"], machine(cores=16, system="MareNostrum III")
    )
    page = against(here, there_)
    assert page.parts[0].modes == (
        "1 thread",
        "all threads (2 against 16)",
        "GPU (OpenCL) against 16 threads",
        "2 threads and GPU (OpenCL) against 16 threads",
    )
    assert [float(mean) for mean in page.parts[0].means] == pytest.approx([4.3, 18, 14, 9], rel=0.01)
    assert [float(mean) for mean in page.energies[0].means[1:]] == pytest.approx([1.07, 0.9, 0.6], abs=0.005)
    turned = against(there_, here)
    assert turned.parts[0].modes[2:] == (
        "16 threads against GPU (OpenCL)",
        "16 threads against 2 threads and GPU (OpenCL)",
    )


def test_other_sizes_and_invalid_results_are_not_set_against_each_other() -> None:
    mine = in_modes("vector", 1e-3, 2e-3, 0.5e-3) + in_modes("nbody", 3e-3, 1.5e-3, 1e-3)
    mine += in_modes("stencil", 3e-3, 1.5e-3, 1e-3, level="INVALID")
    base = in_modes("vector", 1e-3, 2e-3, 0.5e-3) + moved(in_modes("nbody", 3e-3, 1.5e-3, 1e-3), elements=8)
    page = against(with_device(mine), with_device(base + in_modes("stencil", 3e-3, 1.5e-3, 1e-3)))
    assert [row.name for row in page.parts[0].rows] == ["vector"]
    assert (
        page.left_out == "These kernels were measured in only one of the runs, or with different sizes: nbody, stencil."
    )


def test_a_disturbed_time_of_the_other_system_is_told() -> None:
    mine = with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3))
    base = in_modes("vector", 1e-3, 2e-3, 0.5e-3, level="DISTURBED", evidence=("competing load: some.",))
    (part,) = against(mine, with_device(base)).parts
    assert "All 3 ratios are DISTURBED" in part.figure.notes[0]
    assert all("reference was DISTURBED" in c.interval for c in part.rows[0].cells if c)
    assert [c.level for c in part.rows[0].cells if c] == ["CLEAN"] * 3


def test_toolchains_that_both_have_are_set_against_themselves() -> None:
    mine = in_modes("vector", 1e-3, 2e-3, 0.5e-3)
    other = moved(mine, toolchain="clang-14")
    both = against(with_device(mine + other), with_device(mine + other))
    assert [part.title for part in both.parts] == ["gcc-12.2.0", "clang-14"]
    one = against(with_device(mine), with_device(other))
    assert "Compiled with gcc-12.2.0 here and with clang-14 there." in one.parts[0].figure.caption


def test_runs_without_a_common_kernel_have_no_such_page() -> None:
    mine = with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3))
    assert against(mine, with_device(in_modes("nbody", 1e-3, 2e-3, 0.5e-3))) is None


def test_the_report_has_the_page_where_another_system_is_given() -> None:
    mine = with_device(in_modes("vector", 1e-3, 2e-3, 0.5e-3, one=4e-3))
    base = elsewhere(there("vector", 0.5e-3, 8e-3, 0.5e-3, one=8e-3))
    text = render(mine, beside(mine, base))
    assert '<section class="page" id="node-against">' in text
    assert "Node kernels against other</a>" in text
    assert 'id="node-against"' not in render(mine)
