"""Cray MPICH, whose wrapper CC is also the site's C++ compiler. From its documentation and users' scripts: it was never run here.

CC has no -show: it prints what it adds for the modules that are loaded. There is no Hydra beside it: Slurm starts the ranks.
"""

from steelyard.measure.mpi import Flavour
from steelyard.measure.mpi._hydra import TRANSPORT_VARIABLES, VARIABLES, words

_ALONE = {"MPICH_NO_LOCAL": "1"}

flavour = Flavour(
    name="craympich",
    title="Cray MPICH",
    question="--cray-print-opts=libs",
    # "-L/opt/cray/pe/mpich/8.1.25/ofi/gnu/9.1/lib", and until 2020 "-L/opt/cray/pe/mpt/7.7.10/gni/mpich-gnu/8.2/lib".
    answer=r"(?:^|\s)-L\S*/(?:mpich|mpt)/(\d[\d.]*)/",
    words=words,
    transports={
        "no shared memory": _ALONE,
        "tcp": {**_ALONE, "FI_PROVIDER": "tcp", "MPICH_OFI_USE_PROVIDER": "tcp;ofi_rxm"},
    },
    variables=VARIABLES,
    transport_variables=rf"{TRANSPORT_VARIABLES}|MPICH_(SMP\w*|SHM\w*|OFI_USE_PROVIDER)",
    wrappers=("CC",),
    starters=(),
    shows=("--cray-print-opts=cflags", "--cray-print-opts=libs"),
    shared_memory="MPICH_NO_LOCAL must not be 1",
    verbose="MPICH_OFI_VERBOSE=1",
)
