"""The energy counters of NVIDIA's GPUs, by NVML (libnvidia-ml of the driver): nvidia-smi does not print them."""

import ctypes
from collections.abc import Sequence

from steelyard.measure.telemetry.sensors import Device
from steelyard.measure.telemetry.sensors._files import read_with_timestamp
from steelyard.model.sensor import SUPERCHIP, Reading, Scope, Sensor

LIBRARY = "libnvidia-ml.so.1"
_NAME = 96  # bytes: NVML_DEVICE_NAME_V2_BUFFER_SIZE
_MILLI = 1e-3  # NVML's counter, of Volta and newer: mJ since the driver was loaded


class Counters(Device):
    """The energy of each GPU that counts it, named by NVML's number, which nvidia-smi prints as the index.

    OSError if there is no library, no matching driver, or no GPU with a counter.
    """

    def __init__(self, library: str = LIBRARY) -> None:
        self._nvml = ctypes.CDLL(library)
        self._call("nvmlInit_v2")
        self._handles: dict[str, ctypes.c_void_p] = {}
        try:
            count = ctypes.c_uint()
            self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
            for index in range(count.value):
                handle = ctypes.c_void_p()
                try:
                    self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
                    self._joules(handle)
                except OSError:  # the GPU is lost, or older than Volta
                    continue
                self._handles[f"nvidia/gpu{index}/energy"] = handle
            if not self._handles:
                raise OSError("no GPU has an energy counter")
        except OSError:
            self.close()
            raise
        self.sensors = [
            Sensor(name, "energy", "NVML", library, resolution=_MILLI, scope=self._scope(handle))
            for name, handle in self._handles.items()
        ]

    def read(self) -> Sequence[Reading]:
        readings = []
        for name, handle in self._handles.items():
            joules, at = read_with_timestamp(self._joules, handle)
            readings.append(Reading(name, at, joules))
        return readings

    def close(self) -> None:
        self._nvml.nvmlShutdown()

    def _scope(self, handle: ctypes.c_void_p) -> Scope:
        """Returns whether the counter may include the processors of a module, by the name of the GPU."""
        name = ctypes.create_string_buffer(_NAME)
        try:
            self._call("nvmlDeviceGetName", handle, name, ctypes.c_uint(_NAME))
        except OSError:
            return "accelerators"
        return "superchip" if SUPERCHIP.search(name.value.decode(errors="replace")) else "accelerators"

    def _joules(self, handle: ctypes.c_void_p) -> float:
        energy = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(energy))
        return energy.value * _MILLI

    def _call(self, name: str, *arguments: object) -> None:
        try:
            code = getattr(self._nvml, name)(*arguments)
        except AttributeError:
            raise OSError(f"NVML is too old: it has no {name}") from None
        if code != 0:
            raise OSError(f"NVML's {name} returned the error {code}")
