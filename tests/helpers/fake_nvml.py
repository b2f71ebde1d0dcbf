"""A library in place of NVML: one GPU at 0000:01:00.0, whose power limit lowers the clock from the second reading on."""

import shutil
import subprocess
from pathlib import Path

import pytest

NEW, OLD = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
NVML = """
#include <string.h>
int nvmlInit_v2(void) { return FAIL; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  *handle = (void*)1L;
  return strcmp(bus, "0000:01:00.0") ? 6 : 0;
}
int nvmlDeviceGetMaxClockInfo(void* handle, unsigned kind, unsigned* clock) { *clock = 1980; return kind == 1 ? 0 : 2; }
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* limit) { *limit = 700000; return 0; }
int nvmlDeviceGetClockInfo(void* handle, unsigned kind, unsigned* clock) {
  static int count = 0;
  *clock = count++ ? 1395 : 1980;
  return kind == 1 ? 0 : 2;
}
#ifdef REASONS
int REASONS(void* handle, unsigned long long* reasons) {
  static int count = 0;
  *reasons = count++ ? 4 : 0;
  return 0;
}
#endif
"""


def build(folder: Path, *options: str) -> dict[str, str]:
    """Returns the environment in which programs find the library. `options`: -DFAIL=… and -DREASONS=… (the function's name)."""
    compiler = shutil.which("cc") or shutil.which("gcc") or pytest.skip("needs a C compiler")
    words = [compiler, "-shared", "-fPIC", "-x", "c", "-o", str(folder / "libnvidia-ml.so.1"), *options, "-"]
    subprocess.run(words, input=NVML, text=True, check=True)
    return {"LD_LIBRARY_PATH": str(folder)}
