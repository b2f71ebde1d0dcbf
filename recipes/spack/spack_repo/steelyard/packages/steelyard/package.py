# For Spack 1.0 or later. Put steelyard-0.1.0.tar.gz (made by `make release`) into the folder where
# you call these commands. The packages beside this one are missing or older in Spack.
#
#   spack repo add recipes/spack/spack_repo/steelyard
#   spack install --no-checksum steelyard
#
# Checked: Spack 1.2 resolved all dependencies (spack spec, with its packages of July 2026) before
# +shared of RE2 was added; spack audit, and black and flake8 of spack style, find no fault; the
# versions are those of pyproject.toml (make test). google-re2 was compiled with this RE2 (Debian 13).
# Not checked: spack spec with +shared, and an installation.
import os

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Steelyard(PythonPackage):
    """Measures computers honestly, from a laptop to a cluster, and explains what it measured."""

    license("Apache-2.0")
    # The address of the repository is not decided.
    url = f"file://{os.getcwd()}/steelyard-0.1.0.tar.gz"
    manual_download = True

    version("0.1.0")

    variant("mpi", default=True, description="Measure the network and parallel applications")

    # A run compiles its kernels for the processor at hand.
    depends_on("cxx", type=("build", "run"))
    depends_on("mpi", type="run", when="+mpi")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.24:", type="build")
    depends_on("py-hatch-fancy-pypi-readme@24.1:", type="build")
    with default_args(type="run"):
        depends_on("py-typer@0.26:0.28")
        depends_on("py-rich@13.8:15")
        depends_on("py-jinja2@3.1.4:")
        depends_on("py-markupsafe@2.1:")
        depends_on("py-plotly@6:7")
        depends_on("py-numpy@1.26:")
        depends_on("py-scipy@1.12:")
        depends_on("py-duckdb@1.2:2")
        depends_on("py-msgspec@0.19:")
        depends_on("ninja@1.11:")
        depends_on("py-google-re2@1.1.20251105:")
