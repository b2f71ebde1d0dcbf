"""`make run` before Steelyard is there: what is missing gets a sentence, and nothing half-made is left or believed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from folders import ROOT

sys.path.insert(0, str(ROOT / "tests" / "fresh"))
import first_hour

# Stands for Python, venv and pip: as fast as a shell, and it fails as it is told. `steelyard` is then a program that says so.
PYTHON = """#!/bin/sh
case "$*" in
  *version_info*) echo "${SAYS_VERSION:-3.12.1}" ;;
  "-m venv --without-pip "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && : > "$4/pyvenv.cfg" ;;
  "-m venv "*)
    mkdir -p "$3/bin" && : > "$3/pyvenv.cfg"
    [ -z "$NO_VENV" ] || { echo "The virtual environment was not created: ensurepip is not available"; exit 1; }
    cp "$0" "$3/bin/python" ;;
  "-m pip --version") [ -z "$NO_PIP" ] ;;
  "-m pip "*)
    echo "$* with $PIP_CONSTRAINT and $PIP_BUILD_CONSTRAINT" >> "$ASKED"
    case "$*" in *" -e "*) [ -z "$PIP_WAITS" ] || exec sleep "$PIP_WAITS" ;; esac
    [ -z "$PIP_SAYS" ] || { printf '%b\\n' "$PIP_SAYS"; exit 1; }
    printf '#!/bin/sh\\necho measured; exit ${RUN_ENDS:-0}\\n' > "$VENV/bin/steelyard"; chmod +x "$VENV/bin/steelyard" ;;
  "-m steelyard build "*)
    echo "$* as $$ with $PYTHONPATH" >> "$ASKED"
    [ -z "$PIP_WAITS" ] || exec sleep "$PIP_WAITS" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `make run` reads before it starts Steelyard, and a stand-in for python3 and mpicxx."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("Makefile", "environment.sh", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("python3", PYTHON), ("mpicxx", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return folder


def surroundings(checkout: Path, **told: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "MAKE", "VENV", "PYTHON", "MFLAGS"))}
    path = f"{checkout.parent / 'programs'}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "ASKED": str(checkout.parent / "asked"), "LC_ALL": "C", **told}


def make(checkout: Path, *words: str, **told: str) -> subprocess.CompletedProcess[str]:
    command = ["make", *words]
    return subprocess.run(
        command,
        cwd=checkout,
        env=surroundings(checkout, **told),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def sentence(answer: subprocess.CompletedProcess[str]) -> str:
    """What Steelyard says of a set-up that failed: one line; make names the exit code 4 under it."""
    said = [line for line in answer.stderr.splitlines() if line.startswith("steelyard: ")]
    assert len(said) == 1, answer.stderr
    assert answer.returncode == 2, "make's own code for a recipe that failed"
    assert "Error 4" in answer.stderr
    assert "Traceback" not in answer.stderr + answer.stdout
    return said[0]


def asked(checkout: Path, begin: str) -> list[str]:
    """The commands of Python that begin so."""
    asked = checkout.parent / "asked"
    return [line for line in asked.read_text().splitlines() if line.startswith(begin)] if asked.exists() else []


def pips(checkout: Path) -> int:
    """How often pip was asked for this package."""
    return sum(" -e ." in line for line in asked(checkout, "-m pip"))


def test_programs_are_compiled_while_pip_installs_the_rest(checkout: Path) -> None:
    make(checkout, "run", "PRESET=standard")
    assert [" -e ." in line for line in asked(checkout, "-m pip")] == [False, True]
    (build,) = asked(checkout, "-m steelyard build --preset standard as")
    assert build.endswith("with src")
    make(checkout, "test")
    assert len(asked(checkout, "-m steelyard")) == 1, "tests compile what they need"


def test_a_missing_compiler_is_named_before_anything_is_installed(checkout: Path, tmp_path: Path) -> None:
    """Only the programs that the set-up needs, and the installer of a distribution, are on its path."""
    few = tmp_path / "few"
    few.mkdir()
    for name in ("sh", "make", "mkdir", "ls", "rm", "cp", "grep", "tail", "cut", "cat", "chmod", "sleep"):
        (few / name).symlink_to(str(shutil.which(name)))
    (few / "zypper").symlink_to("/bin/true")
    answer = make(checkout, "run", PATH=f"{checkout.parent / 'programs'}:{few}")
    assert "no C++ compiler on this machine. Install one: zypper install gcc-c++" in sentence(answer)
    assert pips(checkout) == 0
    assert not (checkout / ".venv").exists()


def test_a_set_up_is_made_once(checkout: Path) -> None:
    for _ in range(2):
        answer = make(checkout, "run")
        assert (answer.returncode, answer.stdout) == (0, "measured\n"), answer.stderr
    assert pips(checkout) == 1
    assert not (checkout / ".venv/.installing").exists()


def test_pip_installs_the_tested_versions_beside_those_of_the_site(checkout: Path) -> None:
    make(checkout, "run", PIP_CONSTRAINT="/site.txt")
    asked = (checkout.parent / "asked").read_text()
    assert "with /site.txt constraints.txt and constraints.txt" in asked


def test_a_serious_finding_is_no_failure_of_make_and_other_codes_are_named(checkout: Path) -> None:
    assert make(checkout, "run", RUN_ENDS="1").returncode == 0
    for code in ("2", "3", "4"):
        answer = make(checkout, "run", RUN_ENDS=code)
        assert answer.returncode == 2
        assert f"Error {code}" in answer.stderr


@pytest.mark.parametrize("version", ["2.7.18", "3.6.9", "3.10.12"])
def test_an_old_python_is_named_with_what_is_needed(checkout: Path, version: str) -> None:
    said = sentence(make(checkout, "run", SAYS_VERSION=version))
    assert f"'python3' is Python {version}, and Steelyard needs 3.11 or later" in said
    assert "make run PYTHON=" in said
    assert not (checkout / ".venv").exists()


def test_no_python_is_said_with_how_to_get_one(checkout: Path) -> None:
    said = sentence(make(checkout, "run", f"PYTHON={checkout / 'missing'}"))
    assert f"There is no Python at '{checkout / 'missing'}'" in said
    assert "apt-get install python3" in said


def test_without_venv_the_pip_at_hand_fills_the_environment_and_without_both_it_is_said(checkout: Path) -> None:
    said = sentence(make(checkout, "run", NO_VENV="yes", NO_PIP="yes"))
    assert "apt-get install python3-venv" in said
    assert not (checkout / ".venv").exists()
    answer = make(checkout, "run", NO_VENV="yes")
    assert (answer.returncode, answer.stdout) == (0, "measured\n"), answer.stderr


@pytest.mark.parametrize(
    ("pip", "expected"),
    [
        ("WARNING: Failed to establish a new connection: Temporary failure in name resolution", "does not reach"),
        ("ERROR: Could not find a version that satisfies the requirement hatchling (from versions: none)", "does not reach"),
        ("Installing collected packages: numpy\\nERROR: [Errno 28] No space left on device", "The disk is full"),
        ("ERROR: [Errno 13] Permission denied: '/x/lib'", "cannot be written: ERROR: [Errno 13] Permission denied"),
        ("ERROR: something unheard of", "its last words are above"),
    ],
)  # fmt: skip
def test_a_pip_that_fails_gets_a_sentence_and_leaves_nothing(checkout: Path, pip: str, expected: str) -> None:
    answer = make(checkout, "run", PIP_SAYS=pip)
    assert expected in sentence(answer)
    assert ("unheard of" in answer.stderr) == ("unheard of" in pip), "pip's own words where we have none"
    assert not (checkout / ".venv").exists()
    assert make(checkout, "run").stdout == "measured\n"


def test_an_environment_that_works_stays_where_the_tests_cannot_be_added(checkout: Path) -> None:
    make(checkout, "run")
    offline = "Failed to establish a new connection"
    assert "does not reach" in sentence(make(checkout, "test", PIP_SAYS=offline))
    before = pips(checkout)
    assert make(checkout, "run").stdout == "measured\n"
    assert pips(checkout) == before


def test_an_environment_that_was_changed_and_not_finished_is_made_anew(checkout: Path) -> None:
    make(checkout, "run")
    full = "Installing collected packages: pytest\\nERROR: No space left on device"
    assert "The disk is full" in sentence(make(checkout, "test", PIP_SAYS=full))
    (checkout / ".venv/left-over").touch()
    assert make(checkout, "run").stdout == "measured\n"
    assert not (checkout / ".venv/left-over").exists()


def waiting(checkout: Path) -> subprocess.Popen[bytes]:
    """A set-up in the middle of pip's work."""
    process = subprocess.Popen(
        ["make", "run"],
        cwd=checkout,
        env=surroundings(checkout, PIP_WAITS="300"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for _ in range(6000):
        if pips(checkout) and asked(checkout, "-m steelyard build"):
            return process
        time.sleep(0.01)
    raise AssertionError("pip and the build were not asked within a minute")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_set_up_that_was_interrupted_is_not_believed(checkout: Path, how: signal.Signals) -> None:
    process = waiting(checkout)
    os.killpg(process.pid, how)
    assert process.wait(60) != 0
    if how != signal.SIGKILL:
        # make may end before its shell, which removes what was begun
        assert any(not (checkout / ".venv").exists() or time.sleep(0.01) for _ in range(6000))
        (build,) = asked(checkout, "-m steelyard build")
        number = re.search(r" as (\d+) ", build)[1]
        assert not Path("/proc", number).exists()
    else:
        assert (checkout / ".venv/.installing").exists()
        (checkout / ".venv/left-over").touch()
    assert make(checkout, "run").stdout == "measured\n"
    assert not (checkout / ".venv/left-over").exists()


def test_an_environment_whose_python_is_gone_is_set_up_again(checkout: Path) -> None:
    make(checkout, "run")
    (checkout / ".venv/bin/python").unlink()
    assert make(checkout, "run").stdout == "measured\n"
    assert pips(checkout) == 2


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(checkout: Path) -> None:
    (checkout / "file").touch()
    said = sentence(make(checkout, "run", "VENV=file/venv", VENV="file/venv"))
    assert "'file/venv'" in said
    assert "make run VENV=/elsewhere/venv" in said


def test_a_folder_with_something_else_in_it_is_left_alone(checkout: Path) -> None:
    (checkout / "mine").mkdir()
    (checkout / "mine/letter").touch()
    assert "'mine' (given by VENV) is a folder with something else in it" in sentence(
        make(checkout, "run", "VENV=mine")
    )
    assert os.listdir(checkout / "mine") == ["letter"]


# The real Python, but for pip in a new environment: the pip at hand fills it, which saves four seconds.
WITHOUT_PIP = """#!/bin/sh
case "$*" in "-m venv --without-pip "*) ;; "-m venv "*) echo "ensurepip is not available"; exit 1 ;; esac
exec {python} "$@"
"""


@pytest.mark.long
@pytest.mark.parametrize("pip", ["at hand", pytest.param("of the environment", marks=pytest.mark.long)])
def test_the_real_pip_without_a_network_gets_the_sentence(checkout: Path, pip: str) -> None:
    python = Path(sys.executable)
    if pip == "at hand":
        python = checkout.parent / "programs" / "python-without-pip"
        python.write_text(WITHOUT_PIP.format(python=sys.executable))
        python.chmod(0o755)
    told = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_FIND_LINKS": "",
        "PIP_NO_CACHE_DIR": "1",
    }
    (checkout / "src").symlink_to(ROOT / "src")
    (checkout / "README.md").symlink_to(ROOT / "README.md")
    answer = make(checkout, "run", f"PYTHON={python}", **told)
    assert "pip does not reach its package index" in sentence(answer)
    assert not (checkout / ".venv").exists()


# --------------------------------------------------------------------------- the bare machine's commands


BLOCK = "# Name\n\n```sh\ngit clone <address> name && cd name\nmake run   # measures\n{}\n```\n"


def test_the_bare_machine_is_given_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert first_hour.chosen([], readme) == ["make run", "make test"]
    assert first_hour.chosen(["test"], readme) == ["make test"]
    with pytest.raises(ValueError, match=r"'tests' \(given by FRESH\)"):
        first_hour.chosen(["tests"], readme)


def test_a_readme_that_says_something_else_is_refused() -> None:
    assert first_hour.commands(BLOCK.format("make test")) == ["make run", "make test"]
    for other in ("", "sudo make test", "make test\npip install more"):
        with pytest.raises(ValueError, match="must say make run and make test"):
            first_hour.commands(BLOCK.format(other))
    with pytest.raises(ValueError, match="must begin with git clone"):
        first_hour.commands("# Name\n")


def test_the_bare_machine_gets_no_variable_but_those_that_pip_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index")
    monkeypatch.setenv("https_proxy", "http://proxy")
    monkeypatch.setenv("STEELYARD_CACHE", "/cache")
    found = first_hour.bare.pip_variables()
    assert {"PIP_INDEX_URL", "https_proxy"} <= set(found)
    assert not {"PIP_FIND_LINKS", "STEELYARD_CACHE", "PATH", "HOME"} & set(found)


def test_the_time_of_a_command_is_told_with_that_of_the_processors() -> None:
    used = first_hour.processor_seconds()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.1: pass"], check=True)
    assert first_hour.processor_seconds() - used >= 0.09
    assert first_hour.show("make test", 59.7, 422.0) == "1 min  0 s, of a processor 7 min  2 s  make test"
