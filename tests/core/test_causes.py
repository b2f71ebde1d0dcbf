"""The reason of a failed launch is the program's or launcher's own sentence, and names a variable of the user that takes part."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ProgramFailed
from steelyard.measure.launch.causes import find_cause, name_presets
from steelyard.measure.launch.program import Program

RULE = "-" * 74
NOTICED = f"""{RULE}
mpiexec noticed that process rank 0 with PID 0 on node vm exited on signal 9 (Killed).
{RULE}"""
VAGUE = f"""{RULE}
It looks like MPI_INIT failed for some reason; your parallel process is
likely to abort.  There are many reasons.

  PML add procs failed
  --> Returned "Unreachable" (-12) instead of "Success" (0)
{RULE}
[vm:1] *** An error occurred in MPI_Init_thread
[vm:1] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort)"""


def message(text: str) -> str:
    return f"{RULE}\n{text}\n{RULE}"


CAUSES = {
    "no transport between the ranks": (
        message(
            "At least one pair of MPI processes are unable to reach each other for\nMPI communications.  This means that no "
            "device can be used.\n\n  Process 1 ([[1,1],0]) is on host: vm\n"
        )
        + VAGUE
        + NOTICED,
        "At least one pair of MPI processes are unable to reach each other for MPI communications.",
    ),
    "a component that is not there": (
        message(
            "A requested component was not found, or was unable to be opened.  This\nmeans that it is not installed.\n\n"
            "Host:      vm\nFramework: pml\nComponent: nosuch"
        )
        + VAGUE,
        "A requested component was not found, or was unable to be opened. (Framework: pml; Component: nosuch)",
    ),
    "no such interface": (
        message(
            "WARNING: An invalid value was given for btl_tcp_if_include.  This\nvalue will be ignored.\n\n  Local host: vm\n"
            "  Value:      nonet\n  Message:    Unknown interface name"
        )
        + "\n"
        + message(
            "MPI_INIT has failed because at least one MPI process is unreachable\nfrom another.  So.\n\nYou may wish to try"
        ),
        "MPI_INIT has failed because at least one MPI process is unreachable from another. Before: WARNING: An invalid value was "
        "given for btl_tcp_if_include. (Value: nonet; Message: Unknown interface name)",
    ),
    "no slots": (
        message(
            "There are not enough slots available in the system to satisfy the 9\nslots that were requested by the application:"
            "\n\n  true\n\nEither request fewer slots"
        ),
        "There are not enough slots available in the system to satisfy the 9 slots that were requested by the application:",
    ),
    "root": (
        message("mpiexec has detected an attempt to run as root.\n\nRunning as root is *strongly* discouraged"),
        "mpiexec has detected an attempt to run as root.",
    ),
    "an agent that is not there": (
        message(
            'The value of the MCA parameter "plm_rsh_agent" was set to a\npath that could not be found:\n\n  plm_rsh_agent: x'
        ),
        'The value of the MCA parameter "plm_rsh_agent" was set to a path that could not be found: (plm_rsh_agent: x)',
    ),
    "/dev/shm full": (
        message(
            "It appears as if there is not enough space for /dev/shm/vader_segment.vm.0 (the\nshared-memory backing file). It is "
            "likely that your MPI job will now either abort.\n\n  Local host:  vm\n  Space Requested: 4194312 B"
        ),
        "It appears as if there is not enough space for /dev/shm/vader_segment.vm.0 (the shared-memory backing file).",
    ),
    "a library that is missing": (
        "/c/pingpong: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file\n"
        + NOTICED,
        "error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file",
    ),
    "another C library": (
        "/c/pingpong: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by /c/pingpong)\n",
        "version `GLIBC_2.34' not found (required by /c/pingpong)",
    ),
    "MPICH without a provider": (
        "Abort(1090959) on node 0 (rank 0 in comm 0): Fatal error in internal_Init_thread: Other MPI error, error stack:\n"
        "internal_Init_thread(48306).......: MPI_Init_thread(argc=(nil)) failed\nMPII_Init_thread(268).............: \n"
        "find_provider(2743)...............: OFI fi_getinfo() failed (ofi_init.c:2743:find_provider:No data available)\n",
        "OFI fi_getinfo() failed (ofi_init.c:2743:find_provider:No data available)",
    ),
    "ssh refuses": ("Host key verification failed.\n" + NOTICED, "Host key verification failed."),
    "ssh does not know the host": (
        "ssh: Could not resolve hostname node7: Name or service not known\n"
        + message("ORTE was unable to reliably start"),
        "ssh: Could not resolve hostname node7: Name or service not known",
    ),
    "options of another launcher": (
        "[mpiexec@vm] match_arg (lib/utils/args.c:166): unrecognized argument map-by\n[mpiexec@vm] error parsing input array\n",
        "[mpiexec@vm] match_arg (lib/utils/args.c:166): unrecognized argument map-by",
    ),
    "Slurm": (
        "srun: error: Unable to create step for job 7: More processors requested than permitted\n",
        "srun: error: Unable to create step for job 7: More processors requested than permitted",
    ),
    "the disk": (
        "mkdir: cannot create '/tmp/ompi.vm': No space left on device\n",
        "mkdir: cannot create '/tmp/ompi.vm': No space left on device",
    ),
    "an exception": (
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ),
    "nothing but the end": (NOTICED + VAGUE, ""),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_sentence_that_names_the_cause_is_found(name: str) -> None:
    said, expected = CAUSES[name]
    assert find_cause(said) == expected


@given(st.text(alphabet="-=\n aA:.(1)'*W"))
def test_no_output_breaks_the_search_for_a_cause(text: str) -> None:
    find_cause(text)
    name_presets(text, {"OMPI_MCA_btl": text}, started=False)


def test_variables_of_the_user_are_named_the_one_of_the_output_first() -> None:
    own = {
        "OMPI_MCA_btl": "^sm,tcp",
        "FI_PROVIDER": "psm2",
        "HOME": "/home/a",
        "UCX_TLS": "x",
        "HYDRA_DEBUG": "1",
        "LD_PRELOAD": "a.so",
    }
    assert name_presets("no btl can be used", own, started=False) == (
        "your environment contains OMPI_MCA_btl=^sm,tcp, FI_PROVIDER=psm2, HYDRA_DEBUG=1 and 1 more: "
        "remove this with unset and try again"
    )
    assert (
        name_presets("FI_PROVIDER=psm2 is not there", own, started=True)
        == "your environment contains FI_PROVIDER=psm2: remove this with unset and try again"
    )
    assert name_presets("a rank crashed", own, started=True) == name_presets("x", {"HOME": "/"}, started=False) == ""
    assert "LD_PRELOAD=a.so" in name_presets("object a.so from LD_PRELOAD cannot be preloaded", own, started=True)


def test_the_first_line_of_a_failure_is_the_cause_with_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_btl", "^sm,tcp")
    ranks = "\n".join(f'{{"steelyard":"here","rank":{rank},"host":"vm","process":{rank + 7}}}' for rank in (0, 1))
    told = f'{ranks}\n{{"steelyard":"aborted","rank":1,"host":"vm","process":8}}\n'
    (tmp_path / "said").write_text(told + CAUSES["no transport between the ranks"][0])
    launcher = ["sh", "-c", f"cat '{tmp_path}/said' >&2; read line; exit 14"]
    program = Program(launcher, dict(os.environ), ranks=2)
    try:
        with pytest.raises(ProgramFailed) as failed:
            program.ask("case=0", 5)
    finally:
        program.close()
    lines = failed.value.output.splitlines()
    assert lines[0] == (
        "At least one pair of MPI processes are unable to reach each other for MPI communications; "
        "your environment contains OMPI_MCA_btl=^sm,tcp: remove this with unset and try again"
    )
    assert lines[1] == "Rank 0 on vm (process 7) died."
