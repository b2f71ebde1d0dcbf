from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyGoogleRe2(PythonPackage):
    """The regular expressions of RE2 in Python."""

    homepage = "https://github.com/google/re2"
    pypi = "google-re2/google_re2-1.1.20251105.tar.gz"

    license("BSD-3-Clause")

    version(
        "1.1.20251105", sha256="1db14a292ee8303b91e91e7c37e05ac17d3c467f29416c79ac70a78be3e65bda"
    )

    depends_on("cxx", type="build")
    depends_on("python@3.9:3", type=("build", "link", "run"))
    depends_on("py-setuptools", type="build")
    depends_on("py-pybind11", type="build")
    depends_on("re2@2024-07-02:+pic+shared")  # with string_view of Abseil
    depends_on("abseil-cpp")
