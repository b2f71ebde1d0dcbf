from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyDuckdb(PythonPackage):
    """The SQL database DuckDB in Python, as the wheel of PyPI."""

    homepage = "https://duckdb.org"
    url = (
        "https://files.pythonhosted.org/packages/cp312/d/duckdb/"
        "duckdb-2.0.1-cp312-abi3-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
    )

    license("MIT")

    version(
        "2.0.1",
        sha256="39ffeb136abed770a496e5592a464f18a07b1543e7ddb1ff6453215e179f1647",
        expand=False,
    )

    depends_on("python@3.12:", type=("build", "run"))
    requires("platform=linux target=x86_64:", msg="this wheel is for Linux on x86-64")
