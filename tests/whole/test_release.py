"""`make release`: what a wheel holds and says, and what stands beside it. `make test-install` installs such a wheel."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from folders import ROOT
from steelyard.show.command_line import manual

sys.path.insert(0, str(ROOT / "release"))
sys.path.insert(0, str(ROOT / "tests" / "versions"))
import build_release
import pins

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
BOTH = "# Changes\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-12-01)\n\n- First.\n"


def test_the_page_of_changes_is_the_section_of_the_version() -> None:
    assert build_release.read_changes(BOTH, "0.1.0", tagged=True) == "# Changes in 0.1.0\n\n- First.\n"
    assert (
        build_release.read_changes(BOTH, "0.2.0", tagged=False) == "# Changes in 0.2.0 (not released yet)\n\n- New.\n"
    )
    assert "### Measure" in build_release.read_changes((ROOT / "CHANGELOG.md").read_text(), "0.1.0", tagged=False)


def test_a_tagged_version_needs_a_section_of_its_own() -> None:
    with pytest.raises(build_release.Refused, match=r"has no section '## 0\.2\.0'"):
        build_release.read_changes(BOTH, "0.2.0", tagged=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release of the last commit."""
    if not build_release.UV.exists():
        pytest.skip("uv, which builds the wheel, is installed with the tools of `make lint`")
    folder = tmp_path_factory.mktemp("release") / "dist"
    assert build_release.main([str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.long
def test_the_wheel_has_the_pages(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {"steelyard/docs/import.md", "steelyard/docs/benchmarks/memory.stream.md", "steelyard/__main__.py"} <= names
    assert f"steelyard-{VERSION}.data/data/share/man/man1/steelyard.1" in names
    assert not any(name.startswith(("src/", "docs/", "tests/")) for name in names)


@pytest.mark.long
def test_the_readme_of_the_wheel_has_no_dead_link(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    text = email.message_from_bytes(wheel.read(name)).get_payload()
    assert "## What you get" in text
    links = [target for target in re.findall(r"\]\(([^)]*)\)", text) if not target.startswith("https://")]
    assert links == []
    pages = re.findall(r"`steelyard help ([\w.-]+)`", text)
    assert len(pages) > 10
    assert set(pages) <= manual.list_pages().keys()


@pytest.mark.long
def test_the_checksums_and_the_list_of_parts_are_those_of_the_release(built: Path) -> None:
    assert subprocess.run(["sha256sum", "--quiet", "--check", "SHA256SUMS"], cwd=built, check=False).returncode == 0
    assert len((built / "SHA256SUMS").read_text().splitlines()) == len(list(built.iterdir())) - 1 == 4
    (bill,) = built.glob("*.cdx.json")
    parts = {part["name"].lower(): part["version"] for part in json.loads(bill.read_text())["components"]}
    tested = pins.read_pins((ROOT / "constraints.txt").read_text())
    assert {"numpy", "duckdb", "typer", "scipy"} <= parts.keys()
    assert {name: version for name, version in parts.items() if tested.get(name, version) != version} == {}


@pytest.mark.long
def test_two_builds_of_a_commit_are_equal(built: Path, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    build_release.export(tmp_path / "source")
    again = build_release.build(tmp_path / "source", tmp_path / "again")
    assert again.read_bytes() == (built / again.name).read_bytes()
    archive = again.with_name(f"steelyard-{VERSION}.tar.gz")
    assert archive.read_bytes() == (built / archive.name).read_bytes()


@pytest.mark.parametrize(
    ("libc", "said"),
    [
        ("", "is 'not glibc', and the wheels need glibc 2.28 or later"),
        ("glibc 2.17", "is 'glibc 2.17', and the wheels need glibc 2.28 or later"),
        ("glibc 2.28", "exists already"),
        ("glibc 3.1", "exists already"),
    ],
)
def test_the_bundle_names_the_c_library_that_it_needs(libc: str, said: str, tmp_path: Path) -> None:
    tag = f"{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / f"numpy-2-cp{tag}-cp{tag}-any.whl").touch()
    shutil.copy(ROOT / "release" / "install.sh", tmp_path)
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase $2 in *libc_ver*) echo {libc} ;; *) exec {sys.executable} "$@" ;; esac\n', encoding="utf-8"
    )
    python.chmod(0o755)
    environment = {"PYTHON": str(python), "PATH": os.environ["PATH"]}
    command = ["sh", str(tmp_path / "install.sh"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert said in done.stderr
