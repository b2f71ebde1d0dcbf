"""Finds the OpenCL devices of the machine in a separate process, since drivers may crash or hang."""

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from steelyard.model import Device
from steelyard.system.answers import NoAnswer, ask, parsed
from steelyard.system.starts import absolute_folders, module_command

ANSWER_SECONDS = 20  # a driver that has not answered by then hangs
# From the OpenCL specification: queries for a device, and the kinds of devices.
ALL, NAME, TYPE, MEMORY, SHARES_MEMORY = 0xFFFFFFFF, 0x102B, 0x1000, 0x101F, 0x1035
KINDS = {2: "CPU", 4: "GPU", 8: "accelerator"}


def library() -> str | None:
    """Returns the OpenCL library: $STEELYARD_OPENCL, or that of LD_LIBRARY_PATH or the system; None if there is none."""
    if named := os.environ.get("STEELYARD_OPENCL"):
        return named
    folders = absolute_folders(os.environ.get("LD_LIBRARY_PATH", ""), ":;")
    paths = [path for folder in folders for path in sorted(Path(folder).glob("libOpenCL.so*"))]
    if paths:
        return str(paths[0])
    try:
        listed = re.search(r"libOpenCL\.so\S*", ask(["/sbin/ldconfig", "-p"]).stdout)
    except NoAnswer:
        return None
    return listed and listed[0]


@lru_cache
def find_devices() -> tuple[Device, ...]:
    """Returns all devices in the order of their platforms; () if there is no library, or its drivers fail."""
    name = library()
    if name is None:
        return ()
    try:
        answer = ask(module_command("steelyard.measure.machine.devices", name), ANSWER_SECONDS)
        if answer.returncode != 0:
            return ()
        return tuple(Device(**fields) for fields in parsed(answer.stdout))
    except (NoAnswer, ValueError, TypeError):
        return ()


def _ask(name: str) -> Iterator[Device]:
    """Yields the devices, by calls of the library."""
    cl = ctypes.CDLL(name)
    number = 0
    for platform in _handles(cl.clGetPlatformIDs):
        handles = _handles(lambda *a, p=platform: cl.clGetDeviceIDs(ctypes.c_void_p(p), ctypes.c_uint64(ALL), *a))
        for device in handles:
            kind, memory = _number(cl, device, TYPE), _number(cl, device, MEMORY)
            text = ctypes.create_string_buffer(256)
            cl.clGetDeviceInfo(ctypes.c_void_p(device), NAME, ctypes.c_size_t(256), text, None)
            word_of_kind = next((word for bit, word in KINDS.items() if kind & bit), "other")
            shared = _number(cl, device, SHARES_MEMORY) & 0xFFFFFFFF != 0
            yield Device(number, text.value.decode(errors="replace").strip(), word_of_kind, memory, shared)
            number += 1


def _handles(ask: Any) -> list[int]:
    count = ctypes.c_uint(0)
    if ask(0, None, ctypes.byref(count)) != 0 or count.value == 0:
        return []
    handles = (ctypes.c_void_p * count.value)()
    return [h for h in handles if h] if ask(count, handles, None) == 0 else []


def _number(cl: Any, device: int, what: int) -> int:
    value = ctypes.c_uint64(0)
    cl.clGetDeviceInfo(ctypes.c_void_p(device), what, ctypes.c_size_t(8), ctypes.byref(value), None)
    return value.value


if __name__ == "__main__":
    print(json.dumps([asdict(device) for device in _ask(sys.argv[1])]))
