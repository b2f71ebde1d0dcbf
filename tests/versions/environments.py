"""Runs a fast part of the tests with the lowest direct versions and with the newest ones: make test-versions.

pyproject.toml states the bounds; constraints.txt is not used here. Each environment is new, and is removed afterwards. A Python
that this machine lacks comes from a bare machine with a later Debian, as root; where that fails, the output names what was left
out. Words choose others than the usual environments: VERSIONS='newest 3.14', VERSIONS=3.13 or VERSIONS=all. Ends with 1 if tests
failed.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fresh"))
import bare
import first_hour

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
USUAL = (("lowest", "3.11"), ("newest", "3.11"), ("newest", "3.14"))  # the others take as long again, and differ less
# For a later Python, many of the lowest versions are not built: the lowest one with a wheel is taken.
RESOLUTION = {"lowest": ["lowest-direct", "--only-binary", ":all:"], "newest": ["highest"]}
LATER = {"3.13": "trixie", "3.14": "forky"}  # the suite of Debian whose python3 has this version
LIMIT = "600"  # seconds for a test
# What calls the packages that we depend on: command line (typer, rich), screens and goldens, SQL (duckdb), pages (jinja2,
# plotly), figures (matplotlib), numbers (numpy, scipy), records (msgspec), OpenMetrics (prometheus-client), brokers,
# Cassandra and OTF2.
TESTS = (
    "core/test_cli.py",
    "core/test_compare_commands.py",
    "core/test_export_documents.py",
    "core/test_exports.py",
    "core/test_question.py",
    "core/test_records.py",
    "core/test_report_figures.py",
    "core/test_report_pages.py",
    "core/test_scipy_functions.py",
    "core/test_screen.py",
    "core/test_screen_tables.py",
    "core/test_systems.py",
    "importing/test_import_command.py",
    "power/test_power_commands.py",
    "power/test_power_messages.py",
    "power/test_power_query.py",
    "power/test_power_serve.py",
    "whatif/test_whatif_otf2.py",
    "whatif/test_whatif_table.py",
    "whole/test_golden.py",
    "whole/test_help.py",
    "whole/test_interface.py",
)
FRAMES = {"lowest": "polars>=1.20", "newest": "pandas"}  # for the frames of the interface
MARKS = "not (alone or long or site or attack or opencl)"


def find_python(version: str) -> str | None:
    """Returns the path of a Python of this version that runs: on PATH, or one of pyenv; None if there is none."""
    name = f"python{version}"
    of_pyenv = glob.glob(f"{os.environ.get('PYENV_ROOT', Path.home() / '.pyenv')}/versions/{version}.*/bin/{name}")
    for candidate in filter(None, (shutil.which(name), *sorted(of_pyenv))):
        asked = [candidate, "-c", "import sys; print(sys.executable)"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def run_tests(kind: str, python: str) -> int:
    """Makes the environment with uv, which stands beside this Python, and returns the exit code of its tests."""
    uv = str(Path(sys.executable).with_name("uv"))
    with tempfile.TemporaryDirectory(prefix="steelyard-versions-") as folder:
        inside, listed, pinned = f"{folder}/venv/bin/python", Path(folder, "needed.in"), f"{folder}/pinned.txt"
        listed.write_text(f"{FRAMES[kind]}\n")
        on = ["--quiet", "--python", inside]
        resolve = ["compile", *on, "--resolution", *RESOLUTION[kind], "--extra", "test", "pyproject.toml", listed]
        install = ["install", *on, "--requirement", pinned, "--editable", "."]
        for words in (
            ["venv", "--quiet", "--seed", "--python", python, f"{folder}/venv"],
            ["pip", *resolve, "--output-file", pinned],
            ["pip", *install],
        ):
            if code := subprocess.run([uv, *words], cwd=ROOT, check=False).returncode:
                return code
        subprocess.run([uv, "pip", "freeze", "--python", inside, "--exclude-editable"], cwd=ROOT, check=False)
        side = ["-n", "auto", "--dist", "loadfile", "-p", "no:cacheprovider", "-q", f"--timeout={LIMIT}", "-m", MARKS]
        side += ["--cases", "1"]  # of each test: what differs is how a package is called, not with what
        tests = [f"tests/{name}" for name in TESTS]
        return subprocess.run([inside, "-m", "pytest", *side, *tests], cwd=ROOT, check=False).returncode


def run_in_bare_machine(kind: str, version: str) -> int:
    """Runs the same in a bare machine whose Debian has this Python. Raises bare.Missing if none can be made."""
    if os.geteuid() != 0 or version not in LATER:
        raise bare.Missing(f"There is no python{version} on this machine. Install one, or run this as root.")
    script = Path(__file__).relative_to(ROOT)
    tools = "python3 -m venv ~/tools && ~/tools/bin/pip install -q -c constraints.txt uv"
    with first_hour.machine(LATER[version]) as root:
        if not (root / f"usr/bin/python{version}").exists():
            raise bare.Missing(
                f"Debian's '{LATER[version]}' has no python{version} any more. Name another suite in {script}."
            )
        return first_hour.inside(root, f"{tools} && ~/tools/bin/python {script} {kind} {version}")


def run_one(kind: str, version: str) -> str:
    """Returns the result of one environment, in words that begin with "passed", "FAILED" or "left out"."""
    python = find_python(version)
    try:
        code = run_tests(kind, python) if python else run_in_bare_machine(kind, version)
    except bare.Missing as missing:
        return f"left out. {missing}"
    return "passed" if code == 0 else f"FAILED, exit code {code}"


def choose_environments(words: list[str]) -> list[tuple[str, str]]:
    """Returns the environments of which `words` name the kind, the version of Python or both; the usual ones without words.

    Raises ValueError for a word that is not one of them.
    """
    known = (*RESOLUTION, *PYTHONS, "all")
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"'{unknown[0]}' (given by VERSIONS) is not one of {', '.join(known)}.")
    kinds = [kind for kind in RESOLUTION if kind in words] or list(RESOLUTION)
    versions = [version for version in PYTHONS if version in words] or list(PYTHONS)
    return [(kind, version) for version in versions for kind in kinds] if words else list(USUAL)


def main(words: list[str]) -> int:
    """Runs the environments that `words` choose, one at a time."""
    try:
        chosen = choose_environments(words)
    except ValueError as error:
        print(f"versions: {error}", file=sys.stderr)
        return 2
    results = []
    for kind, version in chosen:
        print(f"\nversions: the {kind} versions with Python {version} …", flush=True)
        begun = time.monotonic()
        result = run_one(kind, version)
        results.append(f"{kind} versions, Python {version}: {result} ({first_hour.minutes(time.monotonic() - begun)})")
    print("\nversions: " + "\nversions: ".join(results), flush=True)
    return int(any("FAILED" in result for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
