"""Devices behind the drivers of NVIDIA and AMD: by a driver that a test plants things in, and by the vendors' compilers."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import builders
import fake_cuda
from native import linked
from steelyard.judge.findings.device import slow_device
from steelyard.measure import build
from steelyard.measure.machine import device_facts, devices
from steelyard.measure.plan import catalogue
from steelyard.model import Device, Machine

STEELYARD = Path(sys.executable).with_name("steelyard")
SHORT = "threads=1 seconds=0.01 least=2 most=3"
# A small case of each kernel that all doors can compile: the program, and its parameters.
NODE = {
    "vector": "elements=20001", "reduction": "elements=20001", "nbody": "bodies=300", "mergesort": "elements=20001",
    "histogram": "elements=20001", "montecarlo": "chains=70 steps=200", "convolution": "elements=16384", "fft": "elements=4096",
    "stencil": "elements=32768", "spmv": "elements=4096", "matmul": "order=96",
}  # fmt: skip
DEVICE = [
    *(("device.stream", f"kernel={kernel} elements=20000 {precision}")
      for kernel in ("copy", "scale", "add", "triad", "write", "read")
      for precision in ("precision=double", "precision=single group=64 each=2")),
    ("device.latency", "kernel=chase bytes=65536 steps=500"),
    *(("device.launch", f"kernel={kernel}") for kernel in ("queued", "waited", "graph")),
    *(("device.transfer", f"kernel={kernel} bytes=100001 memory={memory}") for kernel in ("to_device", "from_device", "both_ways")
      for memory in ("pinned", "pageable")),
    ("device.transfer", "kernel=to_device bytes=100001 memory_policy=bind:0"),
    ("device.transfer", "kernel=between bytes=100001"),
    ("device.transfer", "kernel=between bytes=100001 peer=1"),
    ("device.transfer", "kernel=between_both_ways bytes=100001 device=1 peer=0"),
    ("device.transfer", "kernel=to_all bytes=100001"),
    ("device.transfer", "kernel=from_all bytes=100001"),
    ("device.collectives", "kernel=all_reduce message_bytes=40000"),
    ("device.collectives", "kernel=alltoall message_bytes=40000"),
    *(("device.peak", f"kernel=vector precision={precision} steps=64") for precision in ("double", "single")),
    ("device.peak", "kernel=library order=64"),
    ("device.peak", "kernel=library order=64 precision=fp8"),
]  # fmt: skip
SHORT_FORMATS = (
    "vector half",
    "vector bfloat16",
    "matrix double",
    "matrix tf32",
    "matrix half",
    "matrix bfloat16",
    "matrix fp8",
)
CALLS = (
    "cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetPCIBusId",
    "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "cuStreamCreate", "cuStreamSynchronize",
    "cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags", "cuGraphLaunch", "nvrtcCreateProgram", "nvrtcCompileProgram", "cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeerAsync", "cuDeviceCanAccessPeer", "cublasCreate_v2", "cublasSetStream_v2", "cublasGemmEx", "cublasLtCreate",
    "cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul",
    "rocblas_create_handle", "rocblas_set_stream", "rocblas_gemm_ex",
)  # fmt: skip
# A part of a call's name, and a case that makes this call. Others: the start of a kernel.
CALLING = {
    "Graph": ("device.launch", "kernel=graph"),
    "Capture": ("device.launch", "kernel=graph"),
    "HostAlloc": ("device.transfer", "bytes=1000"),
    "DtoD": ("device.transfer", "kernel=between bytes=1000"),
    "Peer": ("device.transfer", "kernel=between peer=1 bytes=1000"),
    "cublasLt": ("device.peak", "kernel=library precision=fp8 order=32"),
    "cublas": ("device.peak", "kernel=library order=32"),
    "rocblas": ("device.peak", "kernel=library order=32"),
}


@pytest.fixture(scope="module")
def programs(here: Machine) -> dict[str, Path]:
    """The programs of all kernels of nodes and devices."""
    wanted = [b for name, b in catalogue.find().items() if name.startswith(("node.", "device."))]
    return build.build(wanted, build.resolve(build.default(here), here))


def ask(program: Path, environment: dict[str, str], lines: Iterable[str]) -> list[dict[str, Any]]:
    given = "".join(f"{line} {SHORT}\n" for line in lines)
    words = {**os.environ, **environment}
    done = subprocess.run([program], input=given, env=words, capture_output=True, text=True, check=True, timeout=200)
    return [json.loads(line) for line in done.stdout.splitlines()]


# --------------------------------------------------------------------------- right results behind every door


@pytest.mark.sampled(6)
@pytest.mark.parametrize("door", ["cuda", "hip"])
@pytest.mark.parametrize("case", DEVICE, ids=str)
def test_a_kernel_of_a_device_is_right_and_its_check_finds_what_is_wrong(
    case: tuple[str, str], door: str, programs: dict[str, Path], tmp_path: Path
) -> None:
    name, words = case
    if door == "hip" and "fp8" in words:
        pytest.skip("rocBLAS has no product of 8 bits")
    lines = [f"{words} door={door}{plant}" for plant in ("", " plant=skip", " plant=wrong")]
    answers = ask(programs[name], fake_cuda.environment(tmp_path, door, devices=2), lines)
    assert [a.get("error") for a in answers] == [None] * 3
    assert [a["check"]["passed"] for a in answers] == [True, False, False]
    assert answers[0]["surroundings"]["details"]["device"] == "Fake H200"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", ["cuda", "hip"])
@pytest.mark.parametrize("kernel", NODE)
def test_one_text_of_a_node_kernel_is_right_behind_every_door(
    kernel: str, door: str, programs: dict[str, Path], tmp_path: Path
) -> None:
    modes = (f"mode={door}", f"mode={door} plant=skip", f"mode=mixed door={door}")
    lines = [f"{mode} {NODE[kernel]}" for mode in modes]
    answers = ask(programs[f"node.{kernel}"], fake_cuda.environment(tmp_path, door), lines)
    assert [a.get("error") for a in answers] == [None] * 3
    assert [a["check"]["passed"] for a in answers] == [True, False, True]


# --------------------------------------------------------------------------- planted times


# What is planted, and the figure that must come out: benchmark, words, metric, value. A kernel takes 0.3 ms, one of a graph 2 µs.
KERNEL, GRAPH, COPY = 3e-4, 2e-6, 4e9
ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3, "read": 1, "write": 1}
PLANTED = [
    *(
        ("device.stream", f"kernel={kernel} precision={precision} elements={n}", "bandwidth", arrays * size * n / KERNEL)
        for kernel, arrays in ARRAYS.items()
        for precision, size in (("double", 8), ("single", 4))
        for n in (20480, 131072)
    ),
    *(("device.latency", f"bytes={size} steps=512", "latency", KERNEL / 512) for size in (4096, 65536, 1 << 20)),
    *(
        ("device.peak", f"kernel=vector precision={precision} steps=64", "flops", 2 * 8 * 64 * 4 * 2048 / KERNEL)
        for precision in ("double", "single")
    ),
    ("device.peak", "kernel=library order=64", "flops", 2 * 64**3 / KERNEL),
    ("device.peak", "kernel=library order=64 precision=fp8", "flops", 2 * 64**3 / KERNEL),
    ("device.launch", "kernel=queued", "time", KERNEL),
    ("device.launch", "kernel=waited", "time", KERNEL),
    ("device.launch", "kernel=graph", "time", GRAPH),
    *(
        ("device.transfer", f"kernel={kernel} memory={memory} bytes=4000000", "bandwidth", factor * COPY)
        for kernel, factor in (("to_device", 1), ("from_device", 1), ("both_ways", 2))
        for memory in ("pinned", "pageable")
    ),
    ("device.transfer", "kernel=between bytes=4000000", "bandwidth", COPY),
    ("device.transfer", "kernel=between bytes=4000000 peer=1", "bandwidth", COPY),
    ("device.transfer", "kernel=between_both_ways bytes=4000000 peer=1", "bandwidth", 2 * COPY),
]  # fmt: skip


def test_planted_figures_come_out_by_the_clock_of_the_device(programs: dict[str, Path], tmp_path: Path) -> None:
    assert len(PLANTED) >= 40
    planted = fake_cuda.environment(tmp_path, skip=1, devices=2, kernel=KERNEL, graph=GRAPH, copy=COPY)
    benchmarks = catalogue.find()
    for name in sorted({name for name, *_ in PLANTED}):
        asked = [one[1:] for one in PLANTED if one[0] == name]
        answers = ask(programs[name], planted, [f"{words} door=cuda" for words, *_ in asked])
        for (words, metric, value), answer in zip(asked, answers, strict=True):
            own = answer["surroundings"]["details"]["device_seconds"][-len(answer["samples"]) :]
            (of_time,) = [m for m in benchmarks[name].metrics if m.name == metric]
            record = builders.result(name, "kernel", {}, median(own), answer["work"]).records[0]
            assert of_time.of(median(own), record) == pytest.approx(value, rel=1e-3), (name, words)
            # The host waits for the device: its time is no shorter, but for what it spends on the wait itself.
            assert median(answer["samples"]) > 0.99 * median(own), (name, words)


def test_the_slow_one_of_eight_devices_is_named_by_its_own_clock(programs: dict[str, Path], tmp_path: Path) -> None:
    planted = fake_cuda.environment(tmp_path, skip=1, devices=8, kernel=KERNEL, copy=COPY, slow="5:1.25")
    asked = {
        "device.stream": "kernel=triad elements=20480",
        "device.launch": "kernel=queued",
        "device.transfer": "kernel=to_device bytes=400000",
    }
    results = []
    for name, words in asked.items():
        answers = ask(programs[name], planted, [f"{words} door=cuda device={number}" for number in range(8)])
        for number, answer in enumerate(answers):
            own = median(answer["surroundings"]["details"]["device_seconds"][-len(answer["samples"]) :])
            kernel = words.split(maxsplit=1)[0].removeprefix("kernel=")
            results.append(builders.result(name, kernel, {"door": "cuda", "device": number}, own, answer["work"]))
    devices_here = tuple(Device(n, "Fake H200", "GPU", 1 << 32, False, door="cuda") for n in range(8))
    (finding,) = slow_device.find(builders.evaluation(results, builders.machine(devices=devices_here)))
    assert finding.seen.startswith(
        "GPU 5 (CUDA) is slower than the other devices of its kind: in 3 of 3 cases, by 25 %"
    )


# --------------------------------------------------------------------------- devices that fail


@pytest.mark.sampled(2)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_fails_ends_in_a_sentence_and_the_next_case_goes_on(
    call: str, programs: dict[str, Path], tmp_path: Path
) -> None:
    name, words = next((case for part, case in CALLING.items() if part in call), ("device.launch", "kernel=queued"))
    door = "hip" if call.startswith("rocblas") else "cuda"
    failing = fake_cuda.environment(tmp_path, door, fail=f"{call}:1:719", devices=2)
    answers = ask(programs[name], failing, [f"{words} door={door}"] * 2)
    said = r"failed to .*: a kernel failed \(error 719\)|failed to find the kernel|cannot compile this kernel"
    said += r"|failed: (cuBLAS|rocBLAS) returned the error 719"
    for answer in answers:
        assert re.match(f"the (CUDA|HIP) device '.*' ({said})", answer["error"]), answer["error"]


def test_collective_operations_end_in_a_sentence_and_count_as_nccl_tests_does(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    program, line = programs["device.collectives"], "kernel=all_reduce message_bytes=4000000 door=cuda"
    given = fake_cuda.environment(tmp_path, devices=4, collective=1e-3)
    (answer,) = ask(program, given, [line])
    assert answer["work"] == {"bytes": 4e6, "bus_bytes": 4e6 * 2 * 3 / 4}
    assert median(answer["samples"]) > 0.99e-3
    for call in ("ncclCommInitAll", "ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"):
        (failed,) = ask(program, {**given, "FAKE_FAIL": f"{call}:1:2"}, [line])
        assert failed["error"] == "NCCL failed: unhandled system error (error 2)"
    (lacking,) = ask(program, {**given, "STEELYARD_NCCL": "/nonexistent.so"}, [line])
    assert "steelyard device install nccl" in lacking["error"]
    (few, many) = ask(program, given, [f"{line} devices=1", f"{line} devices=5"])
    assert few["error"] == "devices='1' must be from 2 to 4, the devices of this machine"
    assert many["error"] == "devices='5' must be from 2 to 4, the devices of this machine"


def test_what_is_lacking_is_named_with_what_helps(programs: dict[str, Path], tmp_path: Path) -> None:
    given = fake_cuda.environment(tmp_path)
    program, line = programs["device.launch"], "kernel=queued door=cuda"
    (no_driver,) = ask(program, {**given, "STEELYARD_CUDA": "/nonexistent.so"}, [line])
    assert no_driver["error"].startswith("NVIDIA's driver is not on this machine")
    (no_compiler,) = ask(program, {**given, "STEELYARD_NVRTC": "/nonexistent.so"}, [line])
    assert "steelyard device install" in no_compiler["error"]
    (no_device,) = ask(program, given, [f"{line} device=3"])
    assert no_device["error"] == "device='3': this machine has 1 CUDA devices, and their numbers start at 0"
    (full,) = ask(
        programs["device.stream"], {**given, "FAKE_MEMORY": "1000000"}, ["kernel=copy elements=1000000 door=cuda"]
    )
    assert "has too little memory" in full["error"]
    (no_node,) = ask(programs["device.transfer"], given, ["bytes=1000 door=cuda memory_policy=bind:900"])
    assert no_node["error"].startswith("memory_policy='bind:900': the system rejects it")
    (unread,) = ask(programs["device.transfer"], given, ["bytes=1000 door=cuda page_size=huge"])
    assert "page_size" in unread["error"]


@pytest.mark.long
def test_a_device_that_hangs_costs_its_own_cases_only(tmp_path: Path) -> None:
    hanging = {**os.environ, **fake_cuda.environment(tmp_path, hang="cuStreamSynchronize")}
    words = [
        "run",
        "--only",
        "device.launch",
        "--only",
        "core.flops",
        "--budget",
        "240s",
        "--quiet",
        "--runs",
        tmp_path / "runs",
    ]
    done = subprocess.run([STEELYARD, *words], env=hanging, capture_output=True, text=True, timeout=900, check=False)
    shown = subprocess.run(
        [STEELYARD, "show", "--all", *(tmp_path / "runs").iterdir()], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1, 4), done.stderr  # 4: the waiting used up the budget
    assert "core.flops" in shown.stdout
    assert "3 of 3 cases of device.launch could not be measured: the program did not end" in " ".join(
        shown.stdout.split()
    )


# --------------------------------------------------------------------------- the machine


def found(monkeypatch: pytest.MonkeyPatch, **planted: str) -> tuple[Device, ...]:
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    return devices.find_devices.__wrapped__()


def test_devices_of_both_drivers_are_found_with_their_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = fake_cuda.environment(tmp_path, "cuda", "hip", devices=2, units=132, name="NVIDIA H200")
    made = found(monkeypatch, **given, STEELYARD_OPENCL="/nonexistent.so")
    assert [(d.door, d.number, d.name, d.bus) for d in made] == [
        (door, number, "NVIDIA H200", f"0000:01:00.{number}") for door in ("cuda", "hip") for number in (0, 1)
    ]
    first = made[0]
    assert first.limits["bandwidth"] == pytest.approx(2 * 3.201e9 * 6144 / 8)
    assert first.limits["flops"] == pytest.approx(132 * 64 * 2 * 1.98e9)  # 33.5 Tflop/s, as its data sheet says (34)
    assert first.limits["flops_single"] == pytest.approx(2 * first.limits["flops"])
    assert first.facts["capability"] == "9.0"
    assert first.facts["compiler"] == str(fake_cuda.built())


def test_a_device_of_nvidia_is_there_once_and_by_opencl_where_no_compiler_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = Device(0, "H200", "GPU", 1 << 37, False, door="cuda", bus="0000:01:00.0", limits={"flops": 3e13})
    same = Device(0, "NVIDIA H200", "GPU", 1 << 37, False, bus="0000:01:00.0")
    other = Device(1, "pthread", "CPU", 1 << 34, True)
    answers = {"cuda": [cuda], "opencl": [same, other]}
    monkeypatch.setattr(devices, "drivers", lambda: {"cuda": "libcuda.so.1"})
    monkeypatch.setattr(devices, "library", lambda: "libOpenCL.so.1")
    monkeypatch.setattr(devices, "_read_devices_in_child", lambda door, name: answers[door])
    with_compiler = found(monkeypatch, STEELYARD_NVRTC="libnvrtc.so.12", STEELYARD_CUBLAS="libcublas.so.12")
    assert [(d.door, d.name) for d in with_compiler] == [("cuda", "H200"), ("opencl", "pthread")]
    monkeypatch.setattr(devices, "find_of_nvidia", lambda variable, name: "")
    without = found(monkeypatch)
    assert [(d.door, d.name) for d in without] == [("opencl", "NVIDIA H200"), ("opencl", "pthread")]
    assert without[0].limits == {"flops": 3e13}
    answers["opencl"] = [other]
    assert [d.door for d in found(monkeypatch)] == ["cuda", "opencl"]  # known, with no way to measure it


def test_the_link_is_read_from_the_files_of_the_kernel(tmp_path: Path) -> None:
    folder = tmp_path / "0000:01:00.0"
    folder.mkdir()
    for name, text in (
        ("current_link_speed", "2.5 GT/s PCIe"), ("max_link_speed", "32.0 GT/s PCIe"), ("current_link_width", "8"),
        ("max_link_width", "16"), ("numa_node", "1"),
    ):  # fmt: skip
        (folder / name).write_text(text + "\n")
    facts = device_facts.bus_facts("0000:01:00.0", tmp_path)
    assert facts.pop("link") == pytest.approx(32e9 * 16 / 8 * 128 / 130)
    assert facts == {"link_speed": 2.5, "most_link_speed": 32.0, "link_width": 8, "most_link_width": 16, "node": 1}
    assert device_facts.bus_facts("0000:02:00.0", tmp_path) == {}


# --------------------------------------------------------------------------- the vendors' compilers


@pytest.mark.opencl
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_nvidias_compiler_accepts_every_kernel(capability: int, programs: dict[str, Path], tmp_path: Path) -> None:
    compiler = fake_cuda.nvrtc()
    if compiler is None:
        pytest.skip("NVIDIA's compiler could not be installed")
    real = fake_cuda.environment(tmp_path, capability=capability, kernel=1e-6) | {"STEELYARD_NVRTC": str(compiler)}
    asked = [(f"node.{kernel}", f"mode=cuda {words}") for kernel, words in NODE.items()]
    asked += [
        (name, f"{words} door=cuda")
        for name, words in DEVICE
        if "transfer" not in name and "collectives" not in name and "library" not in words
    ]
    short = [f"kernel={words.split()[0]} precision={words.split()[1]}" for words in SHORT_FORMATS]
    asked += [("device.peak", f"{words} door=cuda") for words in short if capability > 80 or "fp8" not in words]
    for name, words in asked:
        (answer,) = ask(programs[name], real, [words])
        assert "error" not in answer, (name, words, answer["error"])


@pytest.mark.opencl
def test_amds_compiler_accepts_every_kernel(programs: dict[str, Path], tmp_path: Path) -> None:
    given = fake_cuda.environment(tmp_path, "hip", kernel=1e-6, skip=1)
    for kernel, words in NODE.items():
        ask(programs[f"node.{kernel}"], given, [f"mode=hip {words}"])
    for name, words in DEVICE:
        if "library" not in words and name not in ("device.transfer", "device.collectives"):
            ask(programs[name], given, [f"{words} door=hip"])
    texts = {path.read_text() for path in tmp_path.glob("fake*.txt")}
    assert len(texts) > 20
    for text in texts:
        for word in ("-DNAME=walk1 -DReal=double -DWord=ulong -Dreal_of=as_double -Dword_of=as_ulong -Dfused=fma",):
            head = "".join(f"#define {w[2:].replace('=', ' ', 1)}\n" for w in word.split() if "NAME" in text)
            try:
                said = fake_cuda.compile_for_amd(head + text, "gfx90a")
            except OSError:
                pytest.skip("AMD's compiler is not on this machine")
            assert said == "", said


# --------------------------------------------------------------------------- races

OCLGRIND = Path("/usr/lib/oclgrind/liboclgrind-rt.so")
RACY = """
#include "accelerator.h"
#include <cstdio>
using namespace steelyard;
int main() {
  Params p("");
  auto device = accelerator::Device::open(p, "opencl");
  device->build("kernel void sum(GLOBAL uint* place) { place[0] += get_local_id(0); }");
  accelerator::Handle memory = device->give(4);
  device->run("sum", 0, 32, 32, memory);
  device->finish();
}
"""


def races(program: Path, line: str = "") -> str:
    """What Oclgrind, which executes each work item on its own, says of accesses that no barrier orders."""
    words = {**os.environ, "STEELYARD_OPENCL": str(OCLGRIND), "OCLGRIND_DATA_RACES": "1"}
    done = subprocess.run([program], input=line, env=words, capture_output=True, text=True, check=True, timeout=300)
    assert not line or json.loads(done.stdout)["check"]["passed"]
    return done.stderr


@pytest.mark.opencl
@pytest.mark.skipif(not OCLGRIND.exists(), reason="Oclgrind is not on this machine")
def test_no_kernel_of_a_device_has_a_race_with_any_size_of_its_groups(programs: dict[str, Path], here: Machine) -> None:
    assert "race" in races(linked(here, RACY))  # it finds one where there is one
    for group in (32, 128):
        for kernel in ("read", "triad"):
            line = f"kernel={kernel} elements=8192 group={group} each=2 door=opencl {SHORT}\n"
            assert races(programs["device.stream"], line) == ""
    assert races(programs["device.latency"], f"bytes=16384 steps=200 door=opencl {SHORT}\n") == ""
    assert races(programs["device.peak"], f"kernel=vector precision=single steps=64 door=opencl {SHORT}\n") == ""
