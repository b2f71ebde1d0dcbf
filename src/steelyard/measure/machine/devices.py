"""Finds the devices of the machine in a separate process, since drivers may crash or hang."""

import ctypes
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from steelyard.errors import MachineFailed
from steelyard.measure.machine.device_facts import (
    ATTRIBUTES,
    INTEGRATED,
    OF_HIP,
    bus_facts,
    describe,
    nvml_facts,
    peaks,
)
from steelyard.model import Device, Scalar
from steelyard.system.answers import NoAnswer, ask, parsed
from steelyard.system.starts import absolute_folders, module_command
from steelyard.system.user_cache import cache

ANSWER_SECONDS = 20  # a driver that has not answered by then hangs
# From the OpenCL specification: queries for a device, and the kinds of devices.
ALL, NAME, TYPE, MEMORY, SHARES_MEMORY = 0xFFFFFFFF, 0x102B, 0x1000, 0x101F, 0x1035
KINDS = {2: "CPU", 4: "GPU", 8: "accelerator"}
VENDOR, NVIDIA = 0x1001, 0x10DE
BUS, SLOT, DOMAIN = 0x4008, 0x4009, 0x400A  # attributes of NVIDIA's devices
# A driver: the variable that names its library, that library, and files of the kernel without which it has no device.
DRIVERS = {
    "cuda": ("STEELYARD_CUDA", r"libcuda\.so\.1", "nvidiactl", "nvhost-gpu", "dxg"),
    "hip": ("STEELYARD_HIP", r"libamdhip64\.so", "kfd", "dxg"),
}
# Where pip puts NVIDIA's compiler, below the folder of an environment's packages.
INSTALLED_IN = "devices"  # folder of the cache with the environments that Steelyard installs
IN_PACKAGES = ("nvidia/cu*/lib/{}.so.*", "nvidia/*/lib/{}.so.*")


def library() -> str | None:
    """Returns the OpenCL library: $STEELYARD_OPENCL, or that of LD_LIBRARY_PATH or the system; None if there is none."""
    return os.environ.get("STEELYARD_OPENCL") or _find_library(r"libOpenCL\.so")


def drivers() -> dict[str, str]:
    """Returns the libraries of the drivers that are on this machine, by their doors: "cuda", "hip"."""
    found = {}
    for door, (variable, name, *files) in DRIVERS.items():
        path = os.environ.get(variable)
        if path is None and any(Path("/dev", file).exists() for file in files):
            path = _find_library(name)
        if path:
            found[door] = path
    return found


def find_of_nvidia(variable: str, name: str) -> str:
    """Returns a library of NVIDIA: that of the variable, of the system or its toolkit, or of this environment; or ""."""
    if found := os.environ.get(variable) or _find_library(rf"{name}\.so"):
        return found
    below = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    with suppress(MachineFailed):  # nothing is loaded from a cache that others can write to
        below += sorted((cache() / INSTALLED_IN).glob("*/lib/python*/site-packages"))
    paths = [*Path("/usr/local/cuda/lib64").glob(f"{name}.so"), *find_in_packages(below, name)]
    return next(map(str, paths), "")


def find_in_packages(folders: Iterable[Path], name: str) -> list[Path]:
    """Returns the files of a library of NVIDIA in folders of Python packages, such as those of "libnvrtc"."""
    paths = (
        path for folder in folders for pattern in IN_PACKAGES for path in sorted(folder.glob(pattern.format(name)))
    )
    return [path for path in paths if "alt" not in path.name]


def _find_library(pattern: str) -> str | None:
    folders = absolute_folders(os.environ.get("LD_LIBRARY_PATH", ""), ":;")
    paths = [
        path for folder in folders for path in sorted(Path(folder).glob("lib*.so*")) if re.match(pattern, path.name)
    ]
    if paths:
        return str(paths[0])
    listed = re.search(pattern + r"\S*", _list_libraries())
    return listed[0] if listed else None


@lru_cache
def _list_libraries() -> str:
    try:
        return ask(["/sbin/ldconfig", "-p"]).stdout
    except NoAnswer:
        return ""


@lru_cache
def find_devices() -> tuple[Device, ...]:
    """Returns all devices, those of drivers of vendors first; () if there are none, or the drivers fail.

    A device of NVIDIA that CUDA and OpenCL lead to is there once: by CUDA if its compiler is on the machine.
    """
    found = [device for door, name in drivers().items() for device in _read_devices_in_child(door, name)]
    cuda = any(d.door == "cuda" for d in found)
    nvrtc = find_of_nvidia("STEELYARD_NVRTC", "libnvrtc") if cuda else ""
    tools: dict[str, Scalar] = {
        "compiler": nvrtc,
        "library": find_of_nvidia("STEELYARD_CUBLAS", "libcublas") if cuda else "",
        "collectives": find_of_nvidia("STEELYARD_NCCL", "libnccl") if cuda else "",
    }
    of_amd: dict[str, Scalar] = {
        "library": os.environ.get("STEELYARD_ROCBLAS") or _find_library(r"librocblas\.so") or "",
        "collectives": os.environ.get("STEELYARD_RCCL") or _find_library(r"librccl\.so") or "",
    }
    found = [replace(d, facts={**d.facts, **(tools if d.door == "cuda" else of_amd)}) for d in found]
    by_opencl = _read_devices_in_child("opencl", name) if (name := library()) else []
    usable = {d.bus for d in found if d.door != "cuda" or nvrtc}
    # Without a compiler OpenCL leads to a device, and the driver still describes it.
    kept = {d.bus for d in by_opencl if d.bus} - usable
    described = {d.bus: d for d in found if d.bus in kept}
    others = [
        replace(d, limits=told.limits, facts=told.facts) if (told := described.get(d.bus)) else d
        for d in by_opencl
        if not d.bus or d.bus in kept
    ]
    return (*(d for d in found if d.bus not in kept), *others)


def _read_devices_in_child(door: str, name: str) -> list[Device]:
    try:
        answer = ask(module_command("steelyard.measure.machine.devices", door, name), ANSWER_SECONDS)
        return [Device(**fields) for fields in parsed(answer.stdout)] if answer.returncode == 0 else []
    except (NoAnswer, ValueError, TypeError):
        return []


def _ask_opencl(name: str) -> Iterator[Device]:
    """Yields the devices, by calls of the library."""
    cl = ctypes.CDLL(name)
    number = 0
    for platform in _list_handles(cl.clGetPlatformIDs):
        handles = _list_handles(lambda *a, p=platform: cl.clGetDeviceIDs(ctypes.c_void_p(p), ctypes.c_uint64(ALL), *a))
        for device in handles:
            kind, memory = _read_number(cl, device, TYPE), _read_number(cl, device, MEMORY)
            text = ctypes.create_string_buffer(256)
            cl.clGetDeviceInfo(ctypes.c_void_p(device), NAME, ctypes.c_size_t(256), text, None)
            word_of_kind = next((word for bit, word in KINDS.items() if kind & bit), "other")
            shared = _read_number(cl, device, SHARES_MEMORY) & 0xFFFFFFFF != 0
            bus = ""
            if _read_number(cl, device, VENDOR) & 0xFFFFFFFF == NVIDIA:
                domain, of_bus, slot = (_read_number(cl, device, what) & 0xFFFF for what in (DOMAIN, BUS, SLOT))
                bus = f"{domain:04x}:{of_bus:02x}:{slot >> 3:02x}.{slot & 7:x}"
            named = text.value.decode(errors="replace").strip()
            yield Device(number, named, word_of_kind, memory, shared, bus=bus)
            number += 1


def _list_handles(ask: Any) -> list[int]:
    count = ctypes.c_uint(0)
    if ask(0, None, ctypes.byref(count)) != 0 or count.value == 0:
        return []
    handles = (ctypes.c_void_p * count.value)()
    return [h for h in handles if h] if ask(count, handles, None) == 0 else []


def _read_number(cl: Any, device: int, what: int) -> int:
    value = ctypes.c_uint64(0)
    cl.clGetDeviceInfo(ctypes.c_void_p(device), what, ctypes.c_size_t(8), ctypes.byref(value), None)
    return value.value


def _ask_driver(door: str, name: str) -> Iterator[Device]:
    """Yields the devices of CUDA or HIP, by calls of the driver's library."""
    api, prefix = ctypes.CDLL(name), "cu" if door == "cuda" else "hip"

    def call(function: str, *arguments: object) -> None:
        if (code := getattr(api, prefix + function)(*arguments)) != 0:
            raise OSError(f"{prefix}{function} returned the error {code}")

    count, handle, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    call("Init", ctypes.c_uint(0))
    call("DeviceGetCount" if door == "cuda" else "GetDeviceCount", ctypes.byref(count))
    for number in range(count.value):
        text = ctypes.create_string_buffer(256)
        call("DeviceGet", ctypes.byref(handle), ctypes.c_int(number))
        call("DeviceGetName", text, ctypes.c_int(256), handle)
        call("DeviceTotalMem_v2" if door == "cuda" else "DeviceTotalMem", ctypes.byref(memory), handle)
        named = text.value.decode(errors="replace")
        call("DeviceGetPCIBusId", text, ctypes.c_int(256), handle)
        bus = text.value.decode().lower()
        numbers = {what: what for what in ATTRIBUTES} if door == "cuda" else OF_HIP
        known = {what: _read_attribute(call, number_of_it, handle.value) for what, number_of_it in numbers.items()}
        limits = peaks(known) if door == "cuda" else {}
        facts = bus_facts(bus) | describe(known) | (nvml_facts(bus) if door == "cuda" else {})
        if link := facts.get("link"):
            limits["link"] = float(link)
        shared = bool(known[INTEGRATED])
        yield Device(number, named, "GPU", memory.value, shared, door=door, bus=bus, limits=limits, facts=facts)


def _read_attribute(call: Callable[..., None], what: int, device: int) -> int:
    value = ctypes.c_int()
    with suppress(OSError):  # a newer driver may not know it
        call("DeviceGetAttribute", ctypes.byref(value), ctypes.c_int(what), ctypes.c_int(device))
    return value.value


if __name__ == "__main__":
    door, path = sys.argv[1:]
    print(
        json.dumps([asdict(device) for device in (_ask_opencl(path) if door == "opencl" else _ask_driver(door, path))])
    )
