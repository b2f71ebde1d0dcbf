"""MPICH."""

from steelyard.measure.mpi import Flavour
from steelyard.measure.mpi._hydra import FILES, TCP, TRANSPORT_VARIABLES, VARIABLES, words

flavour = Flavour(
    name="mpich",
    title="MPICH",
    question="-v",
    answer=r"MPICH2? version ([\w.]+)",
    words=words,
    transports={"no shared memory": TCP, "tcp": TCP},
    variables=VARIABLES,
    transport_variables=TRANSPORT_VARIABLES,
    files=FILES,
    meets="pmi2",
    package="mpich",
    eager="MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD and MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD",
    shared_memory="MPIR_CVAR_NOLOCAL must not be 1",
    waiting="MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 makes MPICH pause between two checks for messages",
)
