"""One function starts programs, one makes the command of a Python, and neither looks into the current folder."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import steelyard
from steelyard.measure import mpi
from steelyard.measure.launch import host_networks
from steelyard.measure.launch.scheduler import launchers
from steelyard.measure.machine.host_network import program
from steelyard.measure.machine.tools import find_tools
from steelyard.model import Host, Tool
from steelyard.system import isolated, starts
from steelyard.system.starts import clean_environment, find_program, module_command, python_command, start_program

PACKAGE = Path(steelyard.__file__).parent

# ---------------------------------------------------------------------- no other start in the tree

# What starts a program, or looks for one, in each module of the standard library; () for whatever it has.
STARTERS: dict[str, tuple[str, ...]] = {
    "subprocess": ("Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"),
    "os": (
        "system", "popen", "startfile", "fork", "forkpty", "posix_spawn", "posix_spawnp",
        *(f"{kind}{form}" for kind in ("exec", "spawn") for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    ),
    "shutil": ("which",),
    "sys": ("executable", "_base_executable"),
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell"),
    "concurrent.futures": ("ProcessPoolExecutor",),
    "platform": ("processor", "architecture"),
    **dict.fromkeys(("multiprocessing", "_multiprocessing", "ctypes.util", "webbrowser", "pty", "runpy", "pdb"), ()),
    **dict.fromkeys(("venv", "ensurepip", "pip", "_posixsubprocess", "posix"), ()),
}  # fmt: skip
# The only rooms that may, and why.
ROOMS: dict[str, tuple[str, ...]] = {
    "system/starts.py": ("subprocess.Popen", "shutil.which", "sys.executable"),  # the one place
    "system/isolated.py": (
        "runpy",
        "runpy.run_module",
    ),  # the other end of `module_command`, within the Python that it starts
    "measure/machine/tools.py": ("sys.executable",),  # its folder, into which wheels put mpicxx
    "measure/build/toolchain.py": ("sys.executable",),  # the same folder
    "measure/build/package_environments.py": (
        "sys.executable",
        "text: python",
    ),  # in a sentence; the Python of the environment that it makes
    "system/installation.py": ("sys.executable", "text: python3.{}"),  # what a message tells the user to type
    "measure/launch/host_networks.py": (
        "text: python3",
    ),  # the script for hosts, of which a test below checks each line
    "system/copies.py": (
        "concurrent.futures.ProcessPoolExecutor",
        "multiprocessing",
    ),  # copies of this process by fork, which start no program
    "__main__.py": ("text: python -OO",),  # in a sentence
    "compare/factors.py": ("text: python",),  # the name of a factor
    "measure/run/session.py": ("text: python",),  # its version
}
# A word that is the name of an interpreter, or a text that contains a command of one.
INTERPRETER = re.compile(
    r"(?:\S*/)?python[\d.{}]*|(?s:.*?)((?<![\w$\"])python[\d.]*(?: -\w+|(?=;| *\n *do\b))|/env python\d*)(?s:.*)"
)


# Only a module with one of these is parsed: all of them take ten seconds.
SUSPICIOUS = re.compile(
    r"subprocess|posix|fork|ProcessPool|multiprocessing|webbrowser|runpy|python|executable|"
    r"ctypes\.util|import util\b|shutil\.which|from shutil|"
    r"\b(?:pty|pdb|pip|venv|ensurepip)\b|os\.(?:system|popen|startfile|exec|spawn)|from (?:os|sys) import|"
    r"import (?:os|sys|shutil|platform|asyncio) as|platform\.(?:processor|architecture)"
)


def starts_in(text: str) -> Iterator[str]:
    """What a module has that starts a program or names an interpreter: "subprocess.Popen", "text: python3"."""
    nodes = list(ast.walk(ast.parse(text)))
    skipped: set[ast.AST] = set()  # documentation, parts of a text, and types
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            skipped |= {node.body[0].value} if isinstance(node.body[0], ast.Expr) else set()
        elif isinstance(node, ast.JoinedStr):
            skipped |= set(node.values)
        elif isinstance(node, ast.Subscript):
            skipped.add(node.value)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (n.name for n in node.names if is_starter(n.name) or (n.name in STARTERS and n.asname))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{name.name}" for name in node.names]
            yield from [module] if is_starter(module) else filter(is_starter, names)
        elif isinstance(node, ast.Attribute) and node not in skipped and is_starter(called := ast.unparse(node)):
            yield called
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node not in skipped:
            yield from named(node)


def is_starter(path: str) -> bool:
    """Whether this is a function of STARTERS, or a module all of which starts programs."""
    module, _, name = path.rpartition(".")
    return name in STARTERS.get(module, ()) or () in (STARTERS.get(path), STARTERS.get(path.partition(".")[0]))


def named(node: ast.Constant | ast.JoinedStr) -> Iterator[str]:
    """The interpreter that a text names, or the module that `import_module` gets."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
    if text in ("subprocess", "multiprocessing", "webbrowser", "runpy", "pty", "posix", "_posixsubprocess"):
        yield text
    if match := INTERPRETER.fullmatch(text):
        yield f"text: {match[1] or text}"


MISTAKES = {
    "import subprocess\nsubprocess.run(['ls'])": "subprocess.run",
    "from subprocess import check_output": "subprocess.check_output",
    "import subprocess as s\ns.Popen('ls')": "subprocess",
    "import os\nos.execvp('ls', [])": "os.execvp",
    "from os import posix_spawn": "os.posix_spawn",
    "import os\nos.system('ls')": "os.system",
    "import sys\nline = [sys.executable, '-m', 'x']": "sys.executable",
    "from sys import executable": "sys.executable",
    "from multiprocessing import get_context": "multiprocessing",
    "import multiprocessing.pool": "multiprocessing.pool",
    "from concurrent.futures import ProcessPoolExecutor": "concurrent.futures.ProcessPoolExecutor",
    "import ctypes.util": "ctypes.util",
    "from ctypes import util": "ctypes.util",
    "import importlib\nimportlib.import_module('subprocess')": "subprocess",
    "import asyncio\nasyncio.create_subprocess_shell('ls')": "asyncio.create_subprocess_shell",
    "import shutil\nshutil.which('ls')": "shutil.which",
    "line = ['python3', '-c', 'pass']": "text: python3",
    "line = ['/usr/bin/python3.11']": "text: /usr/bin/python3.11",
    "line = f'{folder}/bin/python{version}'": "text: {}/bin/python{}",
    "SCRIPT = '#!/bin/sh\\nexec python3 -c 1\\n'": "text: python3 -c",
    "SCRIPT = '#!/usr/bin/env python3\\n'": "text: /env python3",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_way_to_start_a_program_is_recognised(mistake: str) -> None:
    assert SUSPICIOUS.search(mistake)
    assert MISTAKES[mistake] in list(starts_in(mistake))


def test_what_starts_no_program_is_not_taken_for_a_start() -> None:
    text = '"""python -m x"""\nimport os, subprocess\nos.path.join("a", "pythonic")\nsubprocess.PIPE\nx: subprocess.Popen[int]\n'
    assert list(starts_in(text)) == []


def test_no_other_part_of_the_package_starts_a_program() -> None:
    others, used = {}, set()
    for path in PACKAGE.rglob("*.py"):
        text, name = path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix()
        for start in starts_in(text) if SUSPICIOUS.search(text) else ():
            if start in ROOMS.get(name, ()):
                used.add((name, start))
            else:
                others.setdefault(name, []).append(start)
    assert not others, "use steelyard.system.starts"
    assert used == {(name, start) for name, allowed in ROOMS.items() for start in allowed if (PACKAGE / name).exists()}


def test_no_native_program_starts_another_one() -> None:
    call = re.compile(r"(?<![\w.>:])(?:::)?(?:std::)?(system|popen|exec[lv]p?e?|posix_spawnp?|v?fork|clone)\s*\(")
    sources = [path for kind in ("*.cpp", "*.h", "*.c") for path in PACKAGE.rglob(kind)]
    assert len(sources) > 50
    assert [path for path in sources if call.search(path.read_text("utf-8"))] == []


def test_each_python_of_the_script_for_hosts_is_isolated() -> None:
    assert re.findall(r'exec "\$python" (\S+)', host_networks._SCRIPT) == ["-I"]
    assert host_networks._SCRIPT.count("exec") == 1


# ---------------------------------------------------------------------- what the functions do


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a program that leaves a mark under two names, in a PATH that leads to it."""
    for name in ("python3", "own-program"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho $0 >> {tmp_path}/mark\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}:../{tmp_path.name}")
    return tmp_path


def test_a_program_is_searched_for_in_absolute_folders_only(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_program("own-program") is None
    assert os.path.isabs(find_program("sh"))
    assert find_program("./own-program") == "./own-program"
    assert find_program("own-program", str(hostile)) == str(hostile / "own-program")
    with pytest.raises(FileNotFoundError, match="in the absolute folders of PATH"):
        start_program(["own-program"])
    monkeypatch.setenv("PATH", ":")
    with pytest.raises(FileNotFoundError):
        start_program(["own-program"])
    assert not (hostile / "mark").exists()
    start_program(["./own-program"]).wait()
    assert (hostile / "mark").exists()


def test_a_relative_folder_in_the_path_is_named(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{hostile}:")
    assert [
        note for note in find_tools(mpis=False)[2] if note.startswith("PATH has an empty entry or a relative folder")
    ]
    monkeypatch.setenv("PATH", str(hostile))
    assert find_tools(mpis=False)[2] == ()


def test_search_lists_have_absolute_folders_only() -> None:
    lists = {"PATH": ":/a:.:b:/c:", "LD_LIBRARY_PATH": "/a;b:/c", "PYTHONPATH": ".", "HOME": "x:y"}
    assert clean_environment(lists) == {"PATH": "/a:/c", "LD_LIBRARY_PATH": "/a:/c", "HOME": "x:y"}
    assert clean_environment({"PATH": "/a;b:/c"}) == {"PATH": "/a;b:/c"}


def test_a_command_of_the_user_keeps_its_libraries_and_modules() -> None:
    given = {"PATH": f".:{os.environ['PATH']}", "PYTHONPATH": "src", "LD_LIBRARY_PATH": "."}
    shown = {}
    for of_user in (True, False):
        with start_program(["env"], given, of_user, stdout=subprocess.PIPE, text=True) as process:
            shown[of_user] = dict(line.split("=", 1) for line in process.stdout.read().splitlines())
    assert shown[False] == {"PATH": os.environ["PATH"]}
    assert shown[True] == {**given, "PATH": os.environ["PATH"]}


def test_a_python_that_is_started_ignores_variables_and_the_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile / "base64.py").write_text("open('mark', 'w')")
    for name, value in {"PYTHONPATH": ".", "PYTHONHOME": ".", "PYTHONSTARTUP": "base64.py"}.items():
        monkeypatch.setenv(name, value)
    with start_program(python_command("-c", "import base64"), stderr=subprocess.PIPE) as process:
        assert process.wait() == 0, process.stderr.read()
    assert not (hostile / "mark").exists()


def test_a_module_runs_with_what_lies_beside_the_package_and_in_pythonpath(
    hostile: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after pip install --target, or where modules of the site set PYTHONPATH."""
    place, further = tmp_path_factory.mktemp("place"), tmp_path_factory.mktemp("further")
    (place / "steelyard" / "system").mkdir(parents=True)
    (place / "steelyard" / "__init__.py").touch()
    (place / "steelyard" / "probe.py").write_text(
        "import json, beside, other, sys\nprint(__file__, json.__file__, *sys.argv)"
    )
    shutil.copy(isolated.__file__, place / "steelyard" / "system")
    (place / "beside.py").touch()
    for folder in (place, further, hostile):
        (folder / "json.py").write_text("open('mark', 'w')")
    for folder in (further, hostile):
        (folder / "other.py").write_text("" if folder == further else "open('mark', 'w')")
    monkeypatch.setattr(starts, "__file__", str(place / "steelyard" / "system" / "starts.py"))
    around = {**os.environ, "PYTHONPATH": f"{hostile}:.:{further}"}
    line = module_command("steelyard.probe", "a b")
    printed = subprocess.run(line, env=around, capture_output=True, text=True, check=True).stdout
    probe = str(place / "steelyard" / "probe.py")
    assert printed == f"{probe} {sys.modules['json'].__file__} {probe} a b\n"
    assert not (hostile / "mark").exists()


RANKS = [
    *(pytest.param(flavour.words, name, id=name) for name, flavour in mpi.flavours().items() if flavour.starters),
    *(pytest.param(one.argv, "openmpi", id=name) for name, one in launchers().items() if name != "mpiexec"),
]


@pytest.mark.parametrize("hosts", [(), (Host("a", 2), Host("b", 1))])
@pytest.mark.parametrize(("argv", "name"), RANKS)
def test_each_launcher_starts_the_ranks_in_the_folder_that_is_asked_for(
    argv: Callable[[mpi.Job], list[str]], name: str, hosts: tuple[Host, ...]
) -> None:
    tool = Tool(name, "/opt/bin/mpicxx", "5.0")
    job = mpi.Job(Path("/programs/one"), 3, tool, hosts, folder=Path("/programs"))
    added = [word for word in argv(job) if word not in argv(replace(job, folder=None))]
    assert added
    assert added[-1].endswith("/programs"), added


def test_the_script_for_hosts_takes_the_python_of_an_absolute_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile / "base64.py").write_text("open('mark', 'w')")
    monkeypatch.setenv("STEELYARD_CACHE", str(hostile / "cache"))
    for known in (sys.executable, "/nowhere/python"):  # where the hosts do not see this one, theirs is taken
        monkeypatch.setattr(sys, "executable", known)
        done = subprocess.run([host_networks._write_script()], capture_output=True, text=True, check=True)
        assert program.unpack(done.stdout), done
    assert not (hostile / "mark").exists()
