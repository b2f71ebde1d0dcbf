"""Programs that are asked: their answers, and those that never end, never stop printing, or leave others behind."""

import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from patience import still
from scripts import write_script
from steelyard.measure import machine
from steelyard.measure.build.toolchain import resolve
from steelyard.measure.launch import scheduler
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.scheduler import flux, lsf
from steelyard.measure.machine import description, devices, hwloc, libraries
from steelyard.measure.machine.tools import find_tools, mpi_flags
from steelyard.measure.telemetry.sensors import _programs, command, ipmi, nvidia
from steelyard.model import Machine
from steelyard.system.answers import Answer, Hangs, NoAnswer, ask, parsed, reason, remarks, search

PRELOAD = (
    "ERROR: ld.so: object '/opt/gcc-9.1.0/libdarshan.so' from LD_PRELOAD cannot be preloaded (cannot open shared object "
    "file): ignored."
)


def running(mark: str) -> list[int]:
    """Processes whose command line holds this."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_an_answer_has_its_code_and_both_channels() -> None:
    done = ask(["sh", "-c", "cat; echo wrong >&2; exit 3"], given="ä\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "ä\n", "wrong\n")


def test_what_a_program_leaves_in_the_background_is_not_waited_for() -> None:
    began = time.monotonic()
    assert ask(["sh", "-c", "sleep 30 & echo done"]).stdout == "done\n"
    assert time.monotonic() - began < 20


def test_one_that_hangs_ends_with_all_that_it_started() -> None:
    mark = f"hangs-{os.getpid()}"
    with pytest.raises(Hangs, match="did not answer within 1 s"):
        ask(["sh", "-c", f"sh -c 'sleep 100; : {mark}' & wait"], 1)
    assert not still(lambda: running(mark))


def test_an_answer_without_an_end_is_cut() -> None:
    with pytest.raises(Hangs, match="prints more than 1024 KiB"):
        ask(["yes"])


@pytest.mark.parametrize("command", [["/nowhere/at/all"], ["a\0b"], [str(Path(__file__))]])
def test_one_that_cannot_be_started_is_named(command: list[str]) -> None:
    with pytest.raises(NoAnswer, match="cannot be started"):
        ask(command)


def test_a_sensors_program_that_prints_without_end_is_a_sentence() -> None:
    with pytest.raises(OSError, match="'yes' prints more than 1024 KiB"):
        _programs.answer(["yes"])


@pytest.mark.parametrize("name", ["g++", "mpicxx"])
def test_a_compiler_that_hangs_is_named_and_left_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that hangs in a process of its own, which keeps its output open."""
    program = write_script(tmp_path / name, "sleep 1000 &\nwait")
    monkeypatch.setattr(ask, "__defaults__", (1.0, *ask.__defaults__[1:]))
    began = time.monotonic()
    compilers, mpis, hanging = find_tools(str(tmp_path))
    assert time.monotonic() - began < 20
    assert (compilers, mpis) == ((), ())
    assert hanging == (f"{program} did not answer within 1 s. Steelyard does not use it.",)


def test_the_description_of_a_machine_names_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        description,
        "find_tools",
        lambda **asked: ((), (), ("/bin/g++ did not answer within 10 s. Steelyard does not use it.",)),
    )
    assert "/bin/g++ did not answer within 10 s. Steelyard does not use it." in machine.describe().notes


def test_an_answer_comes_as_soon_as_the_program_ends() -> None:
    began = time.monotonic()
    for _ in range(20):
        ask([sys.executable, "-I", "-S", "-c", ""])
    assert time.monotonic() - began < 20


# What is printed besides an answer, and by whom. Each line but three holds a number that could be taken for a version.
BANNERS = (
    PRELOAD,
    "/bin/sh: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)",
    "perl: warning: Setting locale failed.",
    "ccache: warning: 4.5.1 cannot write to /home/a/.ccache",
    "Loading gcc/12.2.0",
    "Loading requirement: gcc-runtime/11.3.0",
    "Lmod is automatically replacing intel/2021.4.0 with gcc/12.2.0.",
    "The following have been reloaded with a version change:  1) openmpi/4.0.5 => openmpi/4.1.1",
    "Inactive Modules: hdf5/1.12.1",
    "NOTICE: Your evaluation license 2022.3 will expire in 12 days.",
    "nvc++-Warning-CUDA_HOME has been deprecated. Please use NVHPC_CUDA_HOME instead, as of 23.5.1.",
    "icpc: remark #10441: the compiler of 2021.10.0 is deprecated and will be removed",
    "g++: warning: 'GCC_EXEC_PREFIX' names 4.8.5",
    "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
    "[WARN] mpicxx 1.0: MPI_HOME is not set",
    "mpicxx: /opt/libz.so.1: no version information available (required by mpicxx)",
)


def banners(folder: Path, name: str, answer: str, question: str = "", on: str = "&1", then: str = "&1") -> Path:
    """A program that prints all banners on one channel, then answers its question on another."""
    lines = "\n".join(BANNERS)
    asked = f'[ "$1" = {question} ] || [ "$1" = -show ] || exit 0\n' if question else ""
    return write_script(folder / name, f"{asked}cat >{on} <<'END'\n{lines}\nEND\ncat >{then} <<'END'\n{answer}\nEND")


CHANNELS = [("&1", "&1"), ("&2", "&1"), ("&1", "&2"), ("&2", "&2")]


@pytest.mark.parametrize(("on", "then"), CHANNELS)
@pytest.mark.parametrize(
    ("version", "label"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc-12.2.0"),
        ("g++ (crosstool-NG 1.25.0 (a 2.1)) 13.2.0", "gcc-13.2.0"),
        ("g++ (GCC) 11.4.1 20230605 (Red Hat 11.4.1-2)", "gcc-11.4.1"),
        ("g++ 12.5.0", "gcc-12.5.0"),
    ],
)
def test_no_banner_is_taken_for_a_version(
    on: str, then: str, version: str, label: str, tmp_path: Path, here: Machine
) -> None:
    banners(tmp_path, "g++", f"{version}\nCopyright (C) 2022", "--version", on, then)
    (tool,), _, notes = find_tools(str(tmp_path))
    assert tool.version == version
    assert resolve("g++", replace(here, compilers=(tool,))).name == label
    assert notes[0] == f"{tool.path} prints this line in addition to the expected output: {BANNERS[0]}"


@pytest.mark.parametrize(
    ("name", "version", "label"),
    [
        ("clang++", "AMD clang version 14.0.6 (CLANG: AOCC_4.0.0-Build#434) (based on LLVM 14.0.5)", "clang-14.0.6"),
        ("icpx", "Intel(R) oneAPI DPC++/C++ Compiler 2023.0.0 (2023.0.0.20221201)", "intel-2023.0.0"),
        ("nvc++", "nvc++ 23.5-0 64-bit target on x86-64 Linux -tp zen2", "nvc++-23.5"),
        (
            "armclang++",
            "Arm C/C++/Fortran Compiler version 22.1 (build number 1624) (based on LLVM 13.0.1)",
            "armclang++-22.1",
        ),
    ],
)
def test_other_makers_compilers_have_their_versions_too(
    name: str, version: str, label: str, tmp_path: Path, here: Machine
) -> None:
    banners(tmp_path, name, f"\n{version}", "--version")
    (tool,), _, _ = find_tools(str(tmp_path))
    assert (tool.version, resolve(name, replace(here, compilers=(tool,))).name) == (version, label)


@pytest.mark.parametrize(("on", "then"), CHANNELS)
def test_no_banner_is_taken_for_an_mpi_or_its_flags(on: str, then: str, tmp_path: Path) -> None:
    shown = "g++ -I/opt/ompi/include -L/opt/ompi/lib -lmpi"
    banners(tmp_path, "mpicxx", f"mpicxx: Open MPI 4.1.4 (Language: C++)\n{shown}", "--showme:version", on, then)
    _, (tool,), _ = find_tools(str(tmp_path))
    assert (tool.name, tool.version) == ("openmpi", "4.1.4")
    assert mpi_flags(tool) == (("-isystem", "/opt/ompi/include"), ("-L/opt/ompi/lib", "-lmpi"))


def test_a_preloaded_library_that_is_missing_changes_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    compilers, mpis, _ = find_tools()
    monkeypatch.setenv("LD_PRELOAD", "/opt/none/libdarshan.so")
    with_it = find_tools()
    assert with_it[:2] == (compilers, mpis)
    assert [note for note in with_it[2] if "object '/opt/none/libdarshan.so' from LD_PRELOAD" in note]


@pytest.mark.parametrize(
    "said", ["exit 1", "echo 'g++: error while loading shared libraries: libmpc.so.3' >&2; exit 127"]
)
def test_a_compiler_that_fails_is_none_and_says_why(said: str, tmp_path: Path) -> None:
    write_script(tmp_path / "g++", f'echo "{PRELOAD}" >&2\n{said}')
    compilers, _, notes = find_tools(str(tmp_path))
    assert compilers == ()
    assert len(notes) == 1
    assert ("libmpc.so.3" in notes[0]) == ("libmpc" in said)


def test_the_reason_of_a_failure_is_the_program_s_own(tmp_path: Path) -> None:
    failed = Answer([], 1, "", f"{PRELOAD}\nError: no BMC\n")
    assert reason(failed) == "Error: no BMC"
    assert reason(Answer([], 1, "", PRELOAD)) == PRELOAD
    assert reason(Answer([], 1, "stopped\n", f"{PRELOAD}\n")) == "stopped"
    program = tmp_path / "sensor"
    program.write_text(f"#!/bin/sh\necho \"{PRELOAD}\" >&2\necho 'Error: no BMC' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(OSError, match="ended with exit code 1: Error: no BMC$"):
        _programs.answer([str(program)])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Loading gcc/12.2.0\n{"a": 1}\n', {"a": 1}),
        ('[WARN] old\n[{"a": 1}]', [{"a": 1}]),
        ('{\n  "a": [1,\n  2]\n}\nbye\n', {"a": [1, 2]}),
        ('{not json}\n {"a": 1} \n', {"a": 1}),
    ],
)
def test_json_between_other_lines_is_read(text: str, value: object) -> None:
    assert parsed(text) == value


@pytest.mark.parametrize("text", ["", "Loading", "{", "[1, 2", '{"a": 1} and more', "[" * 100_000])
def test_an_answer_without_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON"):
        parsed(text)


def test_standard_output_is_searched_before_standard_error() -> None:
    done = Answer([], 0, "x 2\n", "x 1\n")
    found = search(done, r"x (\d)")
    assert found[1] == "2"
    assert remarks(Answer([], 0, PRELOAD, f"{PRELOAD}\nx 1")) == [PRELOAD]


def test_lstopo_and_libraries_may_print_before_they_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    banners(tmp_path, "lstopo", '<?xml version="1.0"?>\n<topology><object type="Machine"/></topology>')
    banners(tmp_path, "python", 'found ["libblas.so.3", false]\nfound null')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(shutil, "which", lambda name, path: str(tmp_path / name) if name == "lstopo" else None)
    xml = hwloc.ask_lstopo()
    assert xml is not None
    assert hwloc.read_hwloc(xml) == ((), (), ())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert libraries._ask.__wrapped__((("a",), ("b",)), "") == (("libblas.so.3", False), None)
    banners(tmp_path, "python", '[{"number": 0, "name": "GPU", "kind": "gpu", "memory": 1, "shares_memory": false}]')
    monkeypatch.setenv("STEELYARD_OPENCL", "libmine.so")
    assert [device.name for device in devices.find_devices.__wrapped__()] == ["GPU"]


def test_sensors_programs_may_print_before_they_answer(tmp_path: Path) -> None:
    dcmi = "Instantaneous power reading:   212 Watts\nPower reading state is:  activated"
    said = ask([str(banners(tmp_path, "ipmitool", dcmi))]).stdout
    assert list(ipmi.parse_dcmi(said, "ipmi").values()) == [212.0]
    said = ask([str(banners(tmp_path, "ipmitool", "PSU1 Power,120,Watts,ok"))]).stdout
    assert list(ipmi.parse_sensors(said, "ipmi").values()) == [120.0]
    (sensor,) = ipmi.parse_dcmi(dcmi, "ipmi")
    said = ask([str(banners(tmp_path, "ipmitool", " 57 01 00 d4 00\n 00 01"))]).stdout
    assert ipmi.parse_raw(said, sensor, 3, 2, 1.0) == {sensor: 212.0}
    said = ask([str(banners(tmp_path, "nvidia-smi", "0, 61.5, 60.0, 40, 1410"))]).stdout
    assert sorted(nvidia.parse(said).values()) == [40.0, 61.5, 1410e6]
    said = ask([str(banners(tmp_path, "pdu", "212.5"))]).stdout
    assert list(command.parse(said, "pdu", "pdu", "W", 0.0).values()) == [212.5]
    said = ask([str(banners(tmp_path, "pdu", "outlet 1 212.5 W"))]).stdout
    assert list(command.parse(said, "pdu", "pdu", "W", 0.0).values()) == [212.5]


def test_schedulers_may_print_before_they_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    record = '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"7","STAT":"RUN","EXEC_HOST":"4*a:4*b"}]}'
    banners(tmp_path, "bjobs", record)
    state, _ = lsf.state("7", scheduler.ask)
    assert (state.name, state.nodes) == ("RUNNING", "a b")
    banners(tmp_path, "flux", "n3")
    found = flux.allocation({"FLUX_URI": "local:///x", "STEELYARD_RANKS_PER_NODE": "2"})
    assert [(host.name, host.slots) for host in found.hosts] == [("n3", 2)]


def test_a_kernel_program_may_print_before_its_record(tmp_path: Path) -> None:
    kernel = banners(tmp_path, "kernel", '{"case": 1}')
    program = Program(["sh", "-c", f"read case; {kernel}; cat >/dev/null"], {})
    try:
        assert program.ask("case=1", 5) == {"case": 1}
    finally:
        program.close()
