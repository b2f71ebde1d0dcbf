"""Facts of an accelerator: its peaks by its data, its link by the kernel's files, its state by NVML."""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from steelyard.model import Scalar

# From cuda.h: attributes of a device. Clocks are in kHz, the width of the memory's bus in bits, caches in bytes.
UNITS, CLOCK, MEMORY_CLOCK, BUS_WIDTH, LAST_CACHE, ECC, INTEGRATED, MAJOR, MINOR = 16, 13, 36, 37, 38, 32, 18, 75, 76
ATTRIBUTES = (UNITS, CLOCK, MEMORY_CLOCK, BUS_WIDTH, LAST_CACHE, ECC, INTEGRATED, MAJOR, MINOR)
# The same in hip_runtime_api.h. What it calls a capability says nothing of peaks.
OF_HIP = {UNITS: 63, CLOCK: 5, MEMORY_CLOCK: 60, BUS_WIDTH: 59, LAST_CACHE: 19, ECC: 0, INTEGRATED: 16}
# Fused operations of a multiprocessor each cycle: double, single precision. Source: NVIDIA, CUDA C++ Programming Guide,
# section on arithmetic instructions, throughput of native arithmetic instructions.
_LANES = {
    (6, 0): (32, 64), (6, 1): (4, 128), (7, 0): (32, 64), (7, 5): (2, 64), (8, 0): (32, 64), (8, 6): (2, 128), (8, 7): (2, 128),
    (8, 9): (2, 128), (9, 0): (64, 128), (10, 0): (64, 128), (10, 3): (2, 128), (12, 0): (2, 128), (12, 1): (2, 128),
}  # fmt: skip
# Useful bits of the bits that PCI Express sends, by the speed of a lane in GT/s.
_ENCODINGS = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 242 / 256}
_DRIVER_TEXT = 80  # bytes: NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
_TOO_SMALL = 7  # nvml.h: NVML_ERROR_INSUFFICIENT_SIZE, the answer to a question for the count alone


def peaks(of: Mapping[int, int]) -> dict[str, float]:
    """Returns "bandwidth" (B/s), "flops" and "flops_single" (flop/s) by the clocks of a device's data; what is unknown lacks."""
    limits: dict[str, float] = {}
    if of[MEMORY_CLOCK] and of[BUS_WIDTH]:
        limits["bandwidth"] = 2 * 1e3 * of[MEMORY_CLOCK] * of[BUS_WIDTH] / 8  # two transfers each cycle
    if (lanes := _LANES.get((of[MAJOR], of[MINOR]))) and of[CLOCK]:
        double, single = (2 * 1e3 * of[CLOCK] * of[UNITS] * each for each in lanes)
        limits |= {"flops": double, "flops_single": single}
    return limits


def describe(of: Mapping[int, int]) -> dict[str, Scalar]:
    """Returns the facts of a device by name: its parts, clocks (Hz), caches (bytes) and bus (bits)."""
    return {
        "units": of[UNITS],
        **({"capability": f"{of[MAJOR]}.{of[MINOR]}"} if MAJOR in of else {}),
        "clock": 1000 * of[CLOCK],
        "memory_clock": 1000 * of[MEMORY_CLOCK],
        "bus_width": of[BUS_WIDTH],
        "last_cache": of[LAST_CACHE],
        "ecc": bool(of[ECC]),
    }


def bus_facts(bus: str, root: Path = Path("/sys/bus/pci/devices")) -> dict[str, Scalar]:
    """Returns the speed (GT/s) and width of the link, now and at most, its bandwidth in a direction (B/s), and its node."""

    def read(name: str) -> str:
        with suppress(OSError):
            return (root / bus / name).read_text(encoding="utf-8", errors="replace").strip()
        return ""

    facts: dict[str, Scalar] = {}
    for name, file in (("link_speed", "current_link_speed"), ("most_link_speed", "max_link_speed")):
        with suppress(ValueError):
            facts[name] = float(read(file).split(" ")[0])
    for name, file in (
        ("link_width", "current_link_width"),
        ("most_link_width", "max_link_width"),
        ("node", "numa_node"),
    ):
        with suppress(ValueError):
            facts[name] = int(read(file))
    speed, width = facts.get("most_link_speed"), facts.get("most_link_width")
    if isinstance(speed, float) and speed in _ENCODINGS and isinstance(width, int):
        facts["link"] = speed * 1e9 * _ENCODINGS[speed] * width / 8
    return facts


def nvml_facts(bus: str, library: str = "libnvidia-ml.so.1") -> dict[str, Scalar]:
    """Returns what NVML says of the device at a PCI address: driver, power limits (W), ECC, MIG, and what shares it now."""
    try:
        nvml = ctypes.CDLL(library)
        if nvml.nvmlInit_v2() != 0:
            return {}
    except (OSError, AttributeError):
        return {}
    try:
        handle = ctypes.c_void_p()
        found = nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle)) == 0
        return dict(_read_nvml(nvml, handle)) if found else {}
    finally:
        with suppress(AttributeError):
            nvml.nvmlShutdown()


def _read_nvml(nvml: ctypes.CDLL, handle: ctypes.c_void_p) -> Iterator[tuple[str, Scalar]]:
    def number(name: str, *more: object) -> int | None:
        value = ctypes.c_uint()
        ask: Callable[..., int] | None = getattr(nvml, name, None)
        answered = ask is not None and ask(handle, ctypes.byref(value), *more) == 0
        return value.value if answered else None

    text = ctypes.create_string_buffer(_DRIVER_TEXT)
    if hasattr(nvml, "nvmlSystemGetDriverVersion") and nvml.nvmlSystemGetDriverVersion(text, _DRIVER_TEXT) == 0:
        yield "driver", text.value.decode(errors="replace")
    watts = {"power_limit": "EnforcedPowerLimit", "usual_power_limit": "PowerManagementDefaultLimit"}
    for name, function in watts.items():
        if (milli := number(f"nvmlDeviceGet{function}")) is not None:
            yield name, milli / 1000
    pending = ctypes.c_uint()
    for name, function, more in (
        ("mig", "MigMode", (ctypes.byref(pending),)),
        ("persistence", "PersistenceMode", ()),
        ("display", "DisplayActive", ()),
    ):
        if (state := number(f"nvmlDeviceGet{function}", *more)) is not None:
            yield name, bool(state)
    count = ctypes.c_uint(0)
    if hasattr(nvml, "nvmlDeviceGetComputeRunningProcesses_v3"):
        answer = nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), None)
        if answer in (0, _TOO_SMALL):
            yield "processes", count.value
