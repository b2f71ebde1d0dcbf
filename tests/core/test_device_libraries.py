"""Libraries of devices that Steelyard installs: found by every later command. The wheels are made up."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from made_wheels import make_wheel
from output_schemas import read_output
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.build import device_libraries
from steelyard.measure.machine import devices
from steelyard.show.command_line.cli import run_words

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="this environment has no pip")
NVRTC, TOOLKIT = "nvidia_cuda_nvrtc_cu12", "/usr/local/cuda/lib64/libnvrtc.so"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_an_installed_compiler_is_found_by_every_later_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find() -> str:
        with monkeypatch.context() as without:
            without.setattr(devices, "_find_library", lambda pattern: None)
            without.setattr(sys, "path", [folder for folder in sys.path if not folder.endswith("-packages")])
            without.delenv("STEELYARD_NVRTC", raising=False)
            return devices.find_of_nvidia("STEELYARD_NVRTC", "libnvrtc")

    assert find() in ("", TOOLKIT)
    files = {f"nvidia/cuda_nvrtc/lib/{name}": "" for name in ("libnvrtc.so.12", "libnvrtc.alt.so.12")}
    make_wheel(tmp_path / "wheels", NVRTC, "12.9.1", files)
    for is_new in (True, False):
        run_words(["device", "install", "--from", str(tmp_path / "wheels"), "--json"])
        done = read_output("device-install", capsys.readouterr().out)
        assert done["file"].startswith(str(tmp_path / "cache" / "devices" / "nvrtc"))
        assert done["file"].endswith("/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
        assert (done["library"], done["new"]) == ("nvrtc", is_new)
    assert find() in (done["file"], TOOLKIT)


def test_a_package_without_its_library_is_not_kept(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", NVRTC, "12.9.1", {"nvidia/readme": ""})
    with pytest.raises(MachineFailed, match="does not contain libnvrtc"):
        device_libraries.install("nvrtc", print, tmp_path / "wheels")
    assert not (tmp_path / "cache" / "devices" / "nvrtc").exists()


def test_an_unknown_library_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="library 'cublast' of devices. Did you mean 'cublas'"):
        device_libraries.install("cublast", print)


@pytest.mark.site
def test_the_package_of_the_index_is_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """From PyPI."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_CONFIG_FILE")
    file, is_new = device_libraries.install("nvrtc", print)
    assert is_new
    assert file.stat().st_size > 1e7
