"""The driver and compiler in which a test plants things (fake_cuda.cpp), and the vendors' real compilers."""

import ctypes
import hashlib
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from steelyard.measure import build

SOURCE = Path(__file__).with_suffix(".cpp")
VARIABLES = {
    "cuda": ("STEELYARD_CUDA", "STEELYARD_NVRTC", "STEELYARD_CUBLAS", "STEELYARD_CUBLASLT", "STEELYARD_NCCL"),
    "hip": ("STEELYARD_HIP", "STEELYARD_HIPRTC", "STEELYARD_ROCBLAS", "STEELYARD_RCCL"),
}
NVRTC = "nvidia-cuda-nvrtc-cu12==12.9.86"


@cache
def built() -> Path:
    """Returns the library, compiled once and kept beside the programs of benchmarks."""
    words = ["c++", "-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-rdynamic", str(SOURCE), "-ldl"]
    key = hashlib.sha256(SOURCE.read_bytes() + " ".join(words).encode()).hexdigest()[:20]
    made = build.cache() / "tests" / "programs" / key / "libfake.so"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=made.parent) as making:
            subprocess.run([*words, "-o", f"{making}/libfake.so"], check=True)
            os.replace(f"{making}/libfake.so", made)
    return made


def environment(folder: Path, *doors: str, **planted: str | float) -> dict[str, str]:
    """Returns the environment in which the doors (default: "cuda") lead to it. `planted` as name="H200", kernel=1e-3."""
    variables = [name for door in doors or ("cuda",) for name in VARIABLES[door]]
    given = {f"FAKE_{name.upper()}": str(value) for name, value in planted.items()}
    return dict.fromkeys(variables, str(built())) | {"FAKE_FOLDER": str(folder)} | given


@cache
def nvrtc() -> Path | None:
    """Returns NVIDIA's real compiler, installed by pip where that is possible; None otherwise."""
    folder = build.cache() / "tests" / NVRTC
    pattern = "nvidia/cuda_nvrtc/lib/libnvrtc.so.*"
    if not [*folder.glob(pattern)]:
        words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", folder, NVRTC]
        subprocess.run([sys.executable, "-m", "pip", *words], check=False)
    return next(iter(sorted(folder.glob(pattern))), None)


def compile_for_amd(text: str, target: str) -> str:
    """Compiles a text by AMD's real hiprtc, and returns what that says; "" if it has nothing to say. OSError: there is none."""
    hiprtc = ctypes.CDLL("libamdhip64.so.5")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    hiprtc.hiprtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(b"--std=c++17", f"--gpu-architecture={target}".encode())
    code = hiprtc.hiprtcCompileProgram(program, 2, options)
    hiprtc.hiprtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    hiprtc.hiprtcGetProgramLog(program, log)
    return log.value.decode() or f"error {code}" if code else ""
