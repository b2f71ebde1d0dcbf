from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyTyper(PythonPackage):
    """Command lines from the types of functions. Spack has older versions."""

    homepage = "https://typer.tiangolo.com"
    url = "https://files.pythonhosted.org/packages/py3/t/typer/typer-0.28.0-py3-none-any.whl"

    license("MIT")

    version(
        "0.28.0",
        sha256="afd18929180b706c5e9a239f53c3c8136903553c0c2d460598bbaa924191d4ab",
        expand=False,
    )

    with default_args(type=("build", "run")):
        depends_on("python@3.10:")
        depends_on("py-annotated-doc@0.0.2:")
        depends_on("py-rich@13.8:")
        depends_on("py-shellingham@1.3:")
