"""MVAPICH: MPICH for InfiniBand and its kin, started by Hydra. From its documentation: it was never run here.

Version 2 has variables of its own (MV2_…); later ones call them MVP_…, or have MPICH's.
"""

from steelyard.measure.mpi import Flavour, ParameterFile
from steelyard.measure.mpi._hydra import FILES, TCP, TRANSPORT_VARIABLES, VARIABLES, words

_TCP = {**TCP, "MV2_USE_SHARED_MEM": "0", "MVP_USE_SHARED_MEM": "0"}

flavour = Flavour(
    name="mvapich",
    title="MVAPICH",
    question="-v",
    answer=r"MVAPICH\S* version ([\w.]+)",
    words=words,
    # Version 2 has no switch to TCP, which is another build of it: there it is its network without shared memory.
    transports={"no shared memory": _TCP, "tcp": _TCP},
    variables=rf"(MV2|MVP)_\w+|{VARIABLES}",
    transport_variables=rf"(MV2|MVP)_(USE_SHARED_MEM|SMP_\w+)|{TRANSPORT_VARIABLES}",
    files=(*FILES, ParameterFile(("$MV2_USER_CONFIG", "$HOME/.mvapich2.conf", "/etc/mvapich2.conf"))),
    # The library itself binds its ranks, whatever mpiexec is reported.
    environment={"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"},
    meets="pmi2",
    eager="MV2_IBA_EAGER_THRESHOLD and MV2_SMP_EAGERSIZE (of version 2)",
    shared_memory="MV2_USE_SHARED_MEM must not be 0, and MPIR_CVAR_NOLOCAL must not be 1",
    waiting="MV2_USE_BLOCKING=1 makes MVAPICH 2 sleep until a message arrives",
    verbose="MV2_SHOW_ENV_INFO=2",
)
