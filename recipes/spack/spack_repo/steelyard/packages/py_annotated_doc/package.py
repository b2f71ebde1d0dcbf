from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyAnnotatedDoc(PythonPackage):
    """Documentation of parameters and attributes by Annotated."""

    homepage = "https://github.com/fastapi/annotated-doc"
    url = "https://files.pythonhosted.org/packages/py3/a/annotated-doc/annotated_doc-0.0.7-py3-none-any.whl"

    license("MIT")

    version(
        "0.0.7",
        sha256="6bc31bbbec6dfaaedc1676dbc11dbda96fe22a2b5c400e9ebad113fec44a9dc6",
        expand=False,
    )

    depends_on("python@3.11:", type=("build", "run"))
