"""A current folder in which everything that may be executed by mistake leaves a mark: modules, programs and libraries."""

import importlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from folders import ROOT

_SOURCES = ROOT / "src" / "steelyard"
# The first process is the user's choice: it does not search in the current folder, whatever the environment says.
BEGIN = (sys.executable, "-I", "-c", "from steelyard.__main__ import main; main()")
# Only what every interpreter has: a canary may run before anything else can be imported.
_MODULE = """
import posix, sys
_file = posix.open({mark!r}, posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND)
posix.write(_file, ("module " + __name__ + ": " + " ".join(sys.orig_argv)[:300] + "\\n").encode())
posix.close(_file)
"""
_PROGRAM = """#!/bin/sh
echo "program $0 $*" >> {mark}
exit 3
"""
_LIBRARY = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void leave(void) {{
  int file = open("{mark}", O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (write(file, "a library\\n", 10) < 0) _exit(1);
}}
"""
# Search lists of the user, in which an empty or relative entry means the current folder.
_LISTS = ("PATH", "LD_LIBRARY_PATH", "LD_RUN_PATH", "LIBRARY_PATH", "COMPILER_PATH", "CPATH", "PYTHONPATH", "PERL5LIB")


class Canaries:
    """The folder, its environment, and what was executed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder / "hostile", folder / "marks"
        self.folder.mkdir()
        for name in sorted(modules()):
            package = self.folder / name
            package.mkdir()
            (package / "__init__.py").write_text(_MODULE.format(mark=str(self.mark)))
            (self.folder / f"{name}.py").write_text(_MODULE.format(mark=str(self.mark)))
        script = folder / "canary.sh"
        script.write_text(_PROGRAM.format(mark=self.mark))
        script.chmod(0o755)
        for name in programs():
            if not (self.folder / name).exists():  # as a module
                (self.folder / name).symlink_to(script)
        (self.folder / "bin").symlink_to(".")
        self._add_libraries(folder / "canary.so")

    def _add_libraries(self, made: Path) -> None:
        source = made.with_suffix(".c")
        source.write_text(_LIBRARY.format(mark=self.mark))
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
        for name in libraries():
            (self.folder / name).symlink_to(made)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user with relative entries in every list, and variables for Python that lead here."""
        lists = {name: f".::bin:{os.environ.get(name, '')}:" for name in _LISTS}
        lists["PYTHONPATH"] += str(self.folder)
        return {**os.environ, **lists, "PYTHONSTARTUP": "os.py", "PYTHONHOME": ".", "PYTHONUSERBASE": "."}

    def command(self, *words: str) -> list[str]:
        """Steelyard with these words in this environment, which what stands before it does not get (such as a rig's script)."""
        return ["/usr/bin/env", *(f"{name}={value}" for name, value in self.environment.items()), *BEGIN, *words]

    def executed(self) -> list[str]:
        """What has left a mark since the last question."""
        marks = self.mark.read_text(errors="replace").splitlines() if self.mark.exists() else []
        self.mark.unlink(missing_ok=True)
        return marks


def modules() -> set[str]:
    """The modules of the standard library and of everything that is installed, and those that start by themselves."""
    installed = {name for name in metadata.packages_distributions() if name.isidentifier()}
    ours = {
        "steelyard",
        "host_network",
        "isolated",
        "sitecustomize",
        "usercustomize",
        "__main__",
        "otf2",
        "pandas",
        "IPython",
    }
    return {*sys.stdlib_module_names, *installed, *ours}


def programs() -> set[str]:
    """Every word of the sources that may be the name of a program, and the programs that are on the PATH here."""
    words = {
        word
        for file in _SOURCES.rglob("*.py")
        for word in re.findall(r"[\"' ]([a-z][\w+.-]{1,24})(?=[\"' ])", file.read_text("utf-8"))
    }
    here = {
        Path(sys.executable).parent,
        *(Path(f) for f in os.get_exec_path() if os.path.isabs(f) and os.path.isdir(f)),
    }
    return {word for word in words if ".py" not in word and ".so" not in word} - {"bin"} | {
        p.name for f in here for p in f.iterdir()
    }


def libraries() -> set[str]:
    """The libraries that the sources name and that MPI needs, without those that the first Python loads itself."""
    for name in ("duckdb", "numpy", "scipy.linalg", "ssl", "sqlite3"):
        importlib.import_module(name)
    named = {
        name
        for file in (*_SOURCES.rglob("*.py"), *_SOURCES.rglob("*.h"), *_SOURCES.rglob("*.cpp"))
        for name in re.findall(r"\blib[\w+-]+\.so(?:\.\d+)*", file.read_text("utf-8"))
    }
    listed = subprocess.run(
        ["sh", "-c", "ldd $(command -v mpirun mpicxx)"], capture_output=True, text=True, check=False
    ).stdout
    named |= set(re.findall(r"^\s*(lib\S+) =>", listed, re.MULTILINE))
    loaded = re.findall(r"/([^/\s]+)$", Path("/proc/self/maps").read_text(), re.MULTILINE)
    kinds = {name.partition(".so")[0] for name in loaded} | {"libc", "libm", "libdl", "libpthread", "librt"}
    return {name for name in named if name.partition(".so")[0] not in kinds}
