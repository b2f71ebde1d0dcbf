"""What each flavour of MPI says of itself, as text: none needs to be installed. Command lines of more are in test_launch."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import write_script
from steelyard.errors import MachineFailed
from steelyard.measure import mpi
from steelyard.measure.build import resolve, resolve_mpi
from steelyard.measure.launch import mpiexec
from steelyard.measure.launch.scheduler import slurm
from steelyard.measure.launch.site import site
from steelyard.measure.machine.tools import ask_mpi, find_tools, mpi_flags, mpiexec_of
from steelyard.measure.mpi import Job, find_by_label, flavours
from steelyard.model import Host, Machine, Tool

PROGRAM = Path("/cache/pingpong")


def words(flavour: str, ranks: int = 4, **more: object) -> str:
    """The command line after mpiexec."""
    asked = Job(PROGRAM, ranks, Tool(flavour, "/opt/bin/mpicxx", "1"), **more)
    return " ".join(flavours()[flavour].words(asked))


def hosts(**slots: int) -> tuple[Host, ...]:
    return tuple(Host(name, count) for name, count in slots.items())


# The first line of each wrapper, as its documentation or an installation has it.
@pytest.mark.parametrize(
    ("said", "name", "version"),
    [
        ("mpicxx: Open MPI 5.0.11 (Language: C++)", "openmpi", "5.0.11"),
        ("mpicxx: Open MPI 4.1.5rc2 (Language: C++)", "openmpi", "4.1.5rc2"),
        ("mpicxx: Open MPI v4.1.7a1 (Language: C++)", "openmpi", "4.1.7a1"),
        ("mpicxx for MPICH version 4.0.2", "mpich", "4.0.2"),
        ("mpicxx for MPICH version 3.4a2", "mpich", "3.4a2"),
        ("mpicxx for MPICH2 version 1.4.1p1", "mpich", "1.4.1p1"),
        ("mpicxx for MVAPICH2 version 2.3.7", "mvapich", "2.3.7"),
        ("mpicxx for MVAPICH version 4.0", "mvapich", "4.0"),
        ("mpigxx for the Intel(R) MPI Library 2019 Update 9 for Linux*", "intelmpi", "2019.9"),
        ("mpigxx for the Intel(R) MPI Library 2019 Update 4 for Linux*", "intelmpi", "2019.4"),
        ("mpigxx for the Intel(R) MPI Library 2018 Update 5 for Linux*", "intelmpi", "2018.5"),
        ("mpigxx for the Intel(R) MPI Library 2019 for Linux*", "intelmpi", "2019"),
        ("mpigxx for the Intel(R) MPI Library 5.1.3 for Linux*", "intelmpi", "5.1.3"),
        ("Intel(R) MPI Library for Linux* OS, Version 2019 Update 9 Build 20200923", "intelmpi", "2019.9"),
        ("mpiicpx for the Intel(R) MPI Library 2021.17 for Linux*", "intelmpi", "2021.17"),
        ("mpigxx for the Intel(R) MPI Library 2021.18 for Linux*", "intelmpi", "2021.18"),
        ("mpiicpx for the Intel(R) MPI Library @IMPI_OFFICIALVERSION@ for Linux*", "intelmpi", "unknown"),
    ],
)
def test_an_mpi_is_recognised_by_what_its_wrapper_says(said: str, name: str, version: str, tmp_path: Path) -> None:
    question = flavours()[name].question
    # It finds <mpi.h> when it is asked to preprocess (-E).
    answer = f"[ \"$1\" = {question} ] && echo '{said}'\nexit 0"
    wrapper = write_script(tmp_path / flavours()[name].wrappers[-1], answer)
    assert find_tools(str(tmp_path))[1] == (Tool(name, str(wrapper), version),)


def test_one_answer_fits_one_flavour_alone() -> None:
    for said in (
        "Open MPI 5.0",
        "MPICH version 4.0",
        "MVAPICH2 version 2.3.7",
        "the Intel(R) MPI Library 2019 Update 9",
    ):
        assert sum(re.search(flavour.answer, said) is not None for flavour in flavours().values()) == 1


def test_mvapich_is_started_by_hydra_with_its_own_binding_off() -> None:
    assert words("mvapich", hosts=hosts(a=2, b=2), ranks_per_node=1) == (
        "-n 4 -bind-to none -hosts a:1,b:1 "
        "-genvlist STEELYARD_CPUS,STEELYARD_MEMORY,STEELYARD_NODES,MV2_ENABLE_AFFINITY,MVP_ENABLE_AFFINITY /cache/pingpong"
    )
    started = Job(PROGRAM, 2, Tool("mvapich", "/opt/bin/mpicxx", "2.3.7"), transport="no shared memory")
    for environment in (mpiexec.environment(started, {}), slurm.environment(started, {})):
        assert environment["MV2_ENABLE_AFFINITY"] == environment["MV2_USE_SHARED_MEM"] == "0"


PASSED = "-genvlist STEELYARD_CPUS,STEELYARD_MEMORY,STEELYARD_NODES,I_MPI_PIN,I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, f"-n 4 {PASSED} /cache/pingpong"),
        ({"hosts": hosts(a=2, b=2)}, f"-n 4 -ppn 2 -hosts a,b {PASSED} /cache/pingpong"),
        ({"hosts": hosts(a=8, b=8), "ranks_per_node": 2}, f"-n 4 -ppn 2 -hosts a,b {PASSED} /cache/pingpong"),
        ({"hosts": hosts(a=2, b=2), "mapping": "cyclic"}, f"-n 4 -ppn 1 -hosts a,b {PASSED} /cache/pingpong"),
        (
            {"hosts": hosts(a=3, b=1), "extra": ("-v",)},
            f"{PASSED} -n 3 -host a -v /cache/pingpong : -n 1 -host b -v /cache/pingpong",
        ),
        (
            {"hosts": hosts(a=3, b=1), "mapping": "cyclic"},
            f"{PASSED} -n 1 -host a /cache/pingpong : -n 1 -host b /cache/pingpong : -n 2 -host a /cache/pingpong",
        ),
    ],
)
def test_intel_mpi_is_told_the_ranks_of_each_host(more: dict[str, object], expected: str) -> None:
    assert words("intelmpi", **more) == expected


def test_intel_mpi_does_not_pin_and_heeds_its_options_inside_of_an_allocation() -> None:
    started = Job(PROGRAM, 2, Tool("intelmpi", "/opt/bin/mpiicpx", "2021.17"))
    environment = mpiexec.environment(started, {})
    assert environment["I_MPI_PIN"] == "0"
    assert environment["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"


def test_intel_mpi_is_started_by_the_hydra_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "mpiexec.hydra").touch(mode=0o755)
    assert mpiexec_of(Tool("intelmpi", str(tmp_path / "mpiicpx"), "2021.17")) == str(tmp_path / "mpiexec.hydra")


def test_the_flavour_of_a_record_is_found_by_its_label() -> None:
    found = {label: find_by_label(label) for label in ("openmpi-4.1.4", "mpich-5.0.2", "intelmpi-unknown")}
    assert [flavour and flavour.title for flavour in found.values()] == ["Open MPI", "MPICH", "Intel MPI"]
    assert find_by_label("") is find_by_label("gone-1.0") is None


def test_an_mpi_of_which_nothing_is_known_any_more_is_named() -> None:
    with pytest.raises(MachineFailed, match=r"the MPI 'gone' \(/opt/mpicxx\). It supports: craympich, intelmpi, mpich"):
        mpi.of(Tool("gone", "/opt/mpicxx", "1"))


# ---------------------------------------------------------------------- a Cray, whose CC is compiler and wrapper

CRAY = "/opt/cray/pe/mpich/8.1.25/ofi/gnu/9.1"
XC = "/opt/cray/pe/mpt/7.7.10/gni/mpich-gnu/8.2"
AMD = "/opt/cray/pe/mpich/8.1.28/ofi/amd/5.0"


def cray(folder: Path, place: str, version: str, libraries: str) -> Path:
    """A wrapper CC: its own questions are answered for the loaded modules, and all else goes to the compiler below."""
    return write_script(
        folder / "CC",
        f"""case "$1" in
--cray-print-opts=cflags) echo "-I{place}/include -I/opt/cray/pe/libsci/23.02/include -DNDEBUG" ;;
--cray-print-opts=libs) echo "-L{place}/lib -L/opt/cray/pe/libsci/23.02/lib {libraries}" ;;
--version) echo "{version}" ;;
-x) cat > "{folder}/asked"; [ "$2" = c++ ] && grep -q __cplusplus "{folder}/asked" && echo "steelyard {MACROS}"; exit 0 ;;
-E) exit 0 ;;
*) echo "CC: error: unrecognized option '$1'" >&2; exit 1 ;;
esac""",
    )


MACROS = "__INTEL_LLVM_COMPILER __NVCOMPILER __clang__ __INTEL_COMPILER 12 201709L"


@pytest.mark.parametrize(
    ("place", "release", "libraries", "links"),
    [
        (CRAY, "8.1.25", "-lmpi_gnu_91 -ldl", ["-lmpi_gnu_91", "-ldl"]),
        (
            XC,
            "7.7.10",
            "-Wl,--as-needed,-lmpich_gnu_82,--no-as-needed",
            ["-Wl,--as-needed,-lmpich_gnu_82,--no-as-needed"],
        ),
        (AMD, "8.1.28", "-L/opt/rocm/lib -lmpi_amd -lmpi_gtl_hsa", ["-L/opt/rocm/lib", "-lmpi_amd", "-lmpi_gtl_hsa"]),
    ],
)
def test_the_wrapper_of_a_cray_is_an_mpi(
    place: str, release: str, libraries: str, links: list[str], tmp_path: Path, here: Machine
) -> None:
    wrapper = cray(tmp_path, place, "g++ (SUSE Linux) 12.2.1", libraries)
    (found,) = find_tools(str(tmp_path))[1]
    assert found == ask_mpi(str(wrapper)) == Tool("craympich", str(wrapper), release)
    assert resolve_mpi(str(wrapper), replace(here, mpis=())) == found
    compiling, linking = mpi_flags(found)
    assert compiling == ("-isystem", f"{place}/include", "-isystem", "/opt/cray/pe/libsci/23.02/include", "-DNDEBUG")
    assert linking == (f"-L{place}/lib", "-L/opt/cray/pe/libsci/23.02/lib", *links)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("g++ (SUSE Linux) 12.2.1 20221020", "gcc-12.2.1"),
        ("Cray clang version 15.0.1  (324a8e7de6a18594c06a0ee5d8c0eda2109c6ac6)", "cray-15.0.1"),
    ],
)
def test_the_wrapper_of_a_cray_is_a_compiler(version: str, name: str, tmp_path: Path, here: Machine) -> None:
    wrapper = cray(tmp_path, CRAY, version, "-lmpi_gnu_91")
    assert resolve(str(wrapper), replace(here, compilers=()), named=True).name == name


def test_the_ranks_of_a_cray_are_started_by_its_scheduler(here: Machine) -> None:
    job = Job(
        PROGRAM, 4, Tool("craympich", "/opt/cray/pe/craype/2.7.20/bin/CC", "8.1.25"), transport="no shared memory"
    )
    with pytest.raises(MachineFailed, match="Cray MPICH has no mpiexec, .* --launcher srun"):
        mpiexec.argv(job)
    machine = replace(here, mpis=(job.mpi,))
    assert site([], "mpiexec", [], machine).mpis == {}  # a run that names no MPI goes on without one
    assert list(site([], "srun", [], machine).mpis) == ["craympich-8.1.25"]
    assert slurm.argv(job)[:1] == ["srun"]
    assert not any(word.startswith("--mpi=") for word in slurm.argv(job))  # the site's own default meets its ranks
    assert slurm.environment(job, {})["MPICH_NO_LOCAL"] == "1"
