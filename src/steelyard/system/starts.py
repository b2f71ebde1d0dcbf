"""Starts programs. The whole package starts them here, so that nothing in the current folder is executed.

An empty or relative entry of a search list, as in PATH=.:/usr/bin, names the current folder, where others may have put programs,
libraries and modules. Such entries are left out wherever a program is searched for or started.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Where programs, the loader, compilers and interpreters search.
_LISTS = (
    "PATH", "LD_LIBRARY_PATH", "LD_RUN_PATH", "LIBRARY_PATH", "COMPILER_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
    "PYTHONPATH", "PERL5LIB",
)  # fmt: skip


def start_program(
    command: Sequence[str], environment: Mapping[str, str] | None = None, of_user: bool = False, **streams: Any
) -> "subprocess.Popen[Any]":
    """Starts a program with these variables, or else with those of this process. `streams` are further words of Popen.

    A command `of_user` keeps its other search lists: PYTHONPATH=src or LD_LIBRARY_PATH=. is meant for it.
    OSError, or ValueError for a zero byte.
    """
    variables = clean_environment(environment, _LISTS[:1] if of_user else _LISTS)
    try:
        return subprocess.Popen(command, env=variables, **streams)
    except FileNotFoundError as error:
        if "/" in command[0] or variables.get("PATH", "") == os.environ.get("PATH", ""):
            raise
        raise FileNotFoundError(error.errno, f"{error.strerror} in the absolute folders of PATH") from None


def clean_environment(environment: Mapping[str, str] | None = None, lists: Sequence[str] = _LISTS) -> dict[str, str]:
    """Returns these variables, or those of this process. Their search lists have only absolute folders."""
    variables = dict(os.environ if environment is None else environment)
    for name in lists:
        if name in variables and (folders := absolute_folders(variables.pop(name), ":;" if name[:3] == "LD_" else ":")):
            variables[name] = ":".join(folders)
    return variables


def absolute_folders(searched: str, separators: str = ":") -> list[str]:
    """Returns the absolute folders of a search list. The loader of libraries also separates them by semicolons."""
    return [folder for folder in re.split(f"[{separators}]", searched) if os.path.isabs(folder)]


def program_folders() -> list[str]:
    """Returns the absolute folders of PATH."""
    return absolute_folders(os.environ.get("PATH", os.defpath))


def find_program(name: str, folder: str | None = None) -> str | None:
    """Returns the path of a program in the absolute folders of PATH, or in `folder`; None if there is none.

    A name with a slash is a path already.
    """
    return shutil.which(name, path=folder or os.pathsep.join(program_folders()))


def python_command(*words: str) -> list[str]:
    """Returns the command that starts this Python, whose own words are "-c" and a program, or "-m" and a module.

    It does not search in the current folder, in PYTHONPATH, or in the packages of the user. PYTHON* variables have no effect.
    """
    return [os.path.abspath(sys.executable), "-I", *words]


def module_command(module: str, *words: str) -> list[str]:
    """Returns the command that runs a module of this package, also of one that lies in PYTHONPATH, in another process."""
    return python_command(str(Path(__file__).absolute().with_name("isolated.py")), module, *words)
