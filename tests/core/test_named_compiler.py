"""Compilers and MPIs that a user names: by any name or path of one, and what is refused says why."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import write_script
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import build
from steelyard.measure.build.toolchain import compiler_flags
from steelyard.measure.run import setup
from steelyard.measure.run.setup import Request
from steelyard.model import Machine, Tool

GCC = "g++ (Debian 12.2.0-14) 12.2.0"
# What a compiler answers when it is asked for its macros: of GCC, of Clang, of Intel's.
MACROS = {
    "gcc": "steelyard __INTEL_LLVM_COMPILER __NVCOMPILER __clang__ __INTEL_COMPILER 12 201703L",
    "clang": "steelyard __INTEL_LLVM_COMPILER __NVCOMPILER 1 __INTEL_COMPILER 4 201703L",
    "intel": "steelyard 20230000 __NVCOMPILER 1 __INTEL_COMPILER 4 201703L",
    "nvc++": "steelyard __INTEL_LLVM_COMPILER 230500 __clang__ __INTEL_COMPILER 12 202002L",
    "c": "steelyard __INTEL_LLVM_COMPILER __NVCOMPILER __clang__ __INTEL_COMPILER 12 __cplusplus",
}


def compiler(path: Path, version: str, macros: str = MACROS["gcc"]) -> Path:
    return write_script(path, f"[ \"$1\" = --version ] && echo '{version}' && exit\necho '{macros}'")


@pytest.fixture
def site(tmp_path: Path, here: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with the names of Debian: g++ and more are links to one program; and a Clang."""
    bin_ = tmp_path / "bin"
    compiler(bin_ / "x86_64-linux-gnu-g++-12", GCC)
    for name in ("g++-12", "g++", "c++", "x86_64-linux-gnu-g++"):
        (bin_ / name).symlink_to("x86_64-linux-gnu-g++-12")
    for name in ("gcc", "gcc-12", "cc", "x86_64-linux-gnu-gcc", "gcc-9"):
        compiler(bin_ / name, "gcc", MACROS["c"])
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    found = (Tool("g++", str(bin_ / "g++"), GCC), Tool("clang++", "/usr/bin/clang++", "Debian clang version 14.0.6"))
    return replace(here, compilers=found)


@pytest.mark.parametrize(
    "name",
    [
        *("gcc", "g++", "g++-12", "c++", "cc", "gcc-12", "x86_64-linux-gnu-g++", "x86_64-linux-gnu-gcc", "gcc-12.2.0"),
        *(
            "{bin}/g++",
            "{bin}/g++-12",
            "{bin}/gcc-12",
            "{bin}/../bin/c++",
            "bin/g++",
            "./bin/c++",
            "own/g++",
            "'own/g++'",
        ),
        *(
            "ccache g++",
            "ccache g++-12",
            "distcc {bin}/c++",
            "sccache ccache gcc",
            " g++ ",
            "'my folder/g++'",
            "my\\ folder/g++",
        ),
    ],
)
def test_every_name_and_path_of_one_compiler_is_that_compiler(name: str, site: Machine, tmp_path: Path) -> None:
    for folder in ("own", "my folder"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "g++").symlink_to(tmp_path / "bin" / "g++")
    named = name.format(bin=tmp_path / "bin")
    found = build.resolve(named, site, named=True)
    assert (found.name, found.compiler) == ("gcc-12.2.0", str(tmp_path / "bin" / "g++"))
    with_flags = build.resolve(f"{named} -O2  -DX='a b'", site, named=True)
    assert (with_flags.name, with_flags.compiler) == ("gcc-12.2.0+-O2-DX='ab'", found.compiler)


@pytest.mark.parametrize(
    ("path", "version", "macros", "label"),
    [
        (
            "conda/bin/x86_64-conda-linux-gnu-c++",
            "x86_64-conda-c++ (conda-forge gcc 12.3.0-5) 12.3.0",
            "gcc",
            "gcc-12.3.0",
        ),
        ("spack/opt/gcc-13.2.0/bin/g++", "g++ (Spack GCC) 13.2.0", "gcc", "gcc-13.2.0"),
        ("opt/rh/gcc-toolset-12/root/usr/bin/g++", "g++ (GCC) 12.2.1 20221121 (Red Hat 12.2.1-7)", "gcc", "gcc-12.2.1"),
        ("a path/with blanks/c++", "c++ (GCC) 14.1.0", "gcc", "gcc-14.1.0"),
        ("llvm/bin/clang++-18", "clang version 18.1.3 (https://github.com/llvm 1a2)", "clang", "clang-18.1.3"),
        (
            "rocm/llvm/bin/amdclang++",
            "AMD clang version 17.0.0 (https://github.com/R 24012)",
            "clang",
            "clang-17.0.0",
        ),
        ("cray/CC", "Cray clang version 18.0.0  (0e4696aa65fa9549bd5e19c216678cc98185b0f7)", "clang", "cray-18.0.0"),
        (
            "oneapi/bin/dpcpp",
            "Intel(R) oneAPI DPC++/C++ Compiler 2023.0.0 (2023.0.0.20221201)",
            "intel",
            "intel-2023.0.0",
        ),
        ("nv/bin/nvc++", "nvc++ 23.5-0 64-bit target on x86-64 Linux", "nvc++", "nvc++-23.5"),
        ("lib/ccache/g++", GCC, "gcc", "gcc-12.2.0"),
    ],
)
def test_a_compiler_off_the_path_is_asked_for_its_family(
    path: str, version: str, macros: str, label: str, site: Machine, tmp_path: Path
) -> None:
    program = compiler(tmp_path / path, version, MACROS[macros])
    for named in (f"'{program}'", f"'{path}'", str(program)):
        found = build.resolve(named, site, named=True)
        assert (found.name, found.compiler, found.flags) == (label, str(program), build.FLAGS)
    assert build.resolve(f"'{path}' -O1", site, named=True).name == f"{label}+-O1"


@pytest.mark.parametrize(
    ("named", "parts"),
    [
        ("./nothing/g++", ("./nothing/g++", "no such file")),
        ("bin/", ("It is a folder",)),
        ("plain/g++", ("no permission to execute it",)),
        ("gfortran-12", ("a Fortran compiler",)),
        ("mpicxx", ("wrapper of an MPI", "--mpi")),
        ("bin/gcc-9", ("a C compiler", "g++-9")),
        ("ls", ("'ls'", "cannot compile C++")),
        ("broken", ("libmpc.so.3",)),
        ("c-only", ("cannot compile C++",)),
        ("g++-13", ("no compiler 'g++-13'", "Did you mean 'g++'")),
        ("old", ("gcc 9.4.0", "gcc 11 or later")),
    ],
)
def test_what_cannot_be_used_says_why(named: str, parts: tuple[str, ...], site: Machine, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "g++").write_text("")
    for name in ("gfortran-12", "mpicxx"):
        compiler(tmp_path / "bin" / name, f"{name} 12.2.0")
    compiler(tmp_path / "bin" / "ls", "ls (GNU coreutils) 9.1", "")
    compiler(tmp_path / "bin" / "c-only", "tcc version 0.9.27 (x86_64 Linux)", MACROS["c"])
    compiler(tmp_path / "bin" / "old", "old (GCC) 9.4.0")
    broken = compiler(tmp_path / "bin" / "broken", "")
    broken.write_text("#!/bin/sh\necho 'cc1plus: error while loading shared libraries: libmpc.so.3' >&2\nexit 127\n")
    with pytest.raises((UsageError, MachineFailed)) as refused:
        build.resolve(named, site, named=True)
    assert all(part in str(refused.value) for part in parts), str(refused.value)


def test_only_what_a_user_types_is_looked_for_by_its_path(site: Machine, tmp_path: Path) -> None:
    program = compiler(tmp_path / "own" / "g++", "g++ (GCC) 13.2.0")
    with pytest.raises(UsageError, match="no compiler"):
        build.resolve(str(program), site)
    assert build.resolve(str(program), site, named=True).name == "gcc-13.2.0"
    assert build.resolve(str(program), replace(site, compilers=()), named=True).name == "gcc-13.2.0"


def test_two_compilers_of_one_name_are_refused(site: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = compiler(tmp_path / "conda" / "g++", GCC)
    monkeypatch.setattr(setup, "machine", lambda system: site)
    asked = Request(effort=None, only=["memory.stream"], toolchains=["gcc", str(other)])
    with pytest.raises(UsageError, match="conda/g[+][+] are both gcc-12.2.0"):
        setup.resolve(asked)


@pytest.mark.parametrize(
    ("given", "flags", "own"),
    [
        ("", "-O3 -march=native", ""),
        ("-O1", "-march=native -O1", "-O1"),
        ("-Ofast", "-march=native -Ofast", "-Ofast"),
        ("-O", "-march=native -O", "-O"),
        ("-g", "-O3 -march=native -g", "-g"),
        ("-march=x86-64", "-O3 -march=x86-64", "-march=x86-64"),
        ("-O2 -march=haswell", "-O2 -march=haswell", "-O2-march=haswell"),
        ("-mcpu=neoverse-n1", "-O3 -mcpu=neoverse-n1", "-mcpu=neoverse-n1"),
        ("-mavx2 -mfma", "-O3 -mavx2 -mfma", "-mavx2-mfma"),
        ("-xHost", "-O3 -xHost", "-xHost"),
        ("-tp=zen3 -O2", "-tp=zen3 -O2", "-tp=zen3-O2"),
        ("-mprefer-vector-width=256", "-O3 -march=native -mprefer-vector-width=256", "-mprefer-vector-width=256"),
        ("-mno-avx512f -O2", "-march=native -mno-avx512f -O2", "-mno-avx512f-O2"),
        ("-mtune=generic", "-O3 -march=native -mtune=generic", "-mtune=generic"),
        ("-O3 -march=native", "-O3 -march=native", ""),
        ("-march=native -O3", "-march=native -O3", "-O3"),
        ("-O3 -O1", "-march=native -O3 -O1", "-O3-O1"),
        ("-O3 -march=native -O1", "-O3 -march=native -O1", "-O3-march=native-O1"),
        ("-O2 -O3", "-march=native -O2 -O3", "-O2-O3"),
    ],
)
def test_a_users_flags_stand_in_place_of_ours_of_their_kind_alone(
    given: str, flags: str, own: str, site: Machine
) -> None:
    found = build.resolve(f"gcc {given}", site)
    assert (found.flags, found.name) == (flags, "gcc-12.2.0" + (f"+{own}" if own else ""))
    # What a run's folder holds means the same once more.
    assert build.resolve(f"{found.compiler} {found.flags}", site) == found
    assert compiler_flags(found)[-1] == "-std=c++20"


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_a_wrapper_script_off_the_path_builds(here: Machine, tmp_path: Path) -> None:
    version = "Cray clang version 18.0.0  (0e4696aa65fa)"
    answer = f'[ "$1" = --version ] && echo \'{version}\' && exit\nexec g++ "$@"'
    script = write_script(tmp_path / "my tools" / "CC", answer)
    found = build.resolve(f"'{script}'", here, named=True)
    assert found.name == "cray-18.0.0"
    (tmp_path / "a.cpp").write_text("int main() {}\n")
    words = [found.compiler, *compiler_flags(found), str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a")]
    subprocess.run(words, check=True)


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("exit 0", ("finds <mpi.h>", "does not report which MPI", "$MPICH_DIR/bin/mpicxx")),
        ("exit 1", ("not the C++ compiler wrapper", "<mpi.h> is not installed")),
    ],
)
def test_a_wrapper_of_no_known_mpi_says_what_it_lacks(
    answer: str, parts: tuple[str, ...], here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(tmp_path / "CC", answer)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    for named in ("CC", "./CC", str(tmp_path / "CC")):
        with pytest.raises(UsageError) as refused:
            build.resolve_mpi(named, here)
        assert all(part in str(refused.value) for part in (*parts, named)), str(refused.value)


def test_an_mpi_is_named_by_its_wrapper_s_name_or_path(
    here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = "[ \"$1\" = --showme:version ] && echo 'mpicxx: Open MPI 5.0.1 (Language: C++)'\nexit 0"
    wrapper = write_script(tmp_path / "mpicxx.mine", answer)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    for named in ("mpicxx.mine", "./mpicxx.mine", str(wrapper)):
        assert build.resolve_mpi(named, here) == Tool("openmpi", str(wrapper), "5.0.1")
