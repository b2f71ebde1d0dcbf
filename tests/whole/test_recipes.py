"""The recipes name what the package needs, and nothing that is gone. `make test-install INSTALL=recipes` carries them out."""

import re
import shlex
import sys
import tomllib
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from folders import ROOT
from steelyard.show.command_line.cli import app

sys.path.insert(0, str(ROOT / "tests" / "fresh"))
import recipe_trials

RECIPES = ROOT / "recipes"
SPACK = RECIPES / "spack/spack_repo/steelyard/packages"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = {canonicalize_name(wanted.name): wanted.specifier for wanted in map(Requirement, PROJECT["dependencies"])}
BUILD = {canonicalize_name(Requirement(word).name) for word in ("hatchling", "hatch-fancy-pypi-readme")}


def read_spack() -> dict[str, SpecifierSet]:
    """The bounds in Spack's language: @1.2:2 begins with 1.2 and holds every 2.x."""
    bounds = {}
    text = (SPACK / "steelyard/package.py").read_text()
    for name, low, high in re.findall(r'depends_on\("(?:py-)?([\w-]+)@([\d.]+):([\d.]*)"', text):
        *front, last = high.split(".") if high else [""]
        upper = f",<{'.'.join([*front, str(int(last) + 1)])}" if high else ""
        bounds[name] = SpecifierSet(f">={low}{upper}")
    return bounds


def read_conda() -> dict[str, SpecifierSet]:
    listed = yaml.safe_load((RECIPES / "conda/recipe.yaml").read_text())["requirements"]
    words = [line.partition(" ") for line in (*listed["run"], *listed["host"])]
    return {name.removeprefix("python-"): SpecifierSet(bound) for name, _, bound in words}


@pytest.mark.parametrize("read", [read_spack, read_conda])
def test_spack_and_conda_have_the_bounds_of_the_package(read: type) -> None:
    bounds = read()
    assert {name: bounds.get(name) for name in NEEDED} == NEEDED
    assert bounds["python"] == SpecifierSet(PROJECT["requires-python"])
    assert bounds.keys() - NEEDED.keys() >= BUILD


def test_packages_for_spack_are_within_the_bounds_and_import_their_base() -> None:
    texts = {path.parent.name: path.read_text() for path in SPACK.glob("*/package.py")}
    assert len(texts) > 5
    for name, text in texts.items():
        assert re.findall(r"^class (\w+)\((\w+)\)", text, re.MULTILINE) == [
            ("".join(part.title() for part in name.split("_")), "PythonPackage")
        ]
        assert "\nfrom spack_repo.builtin.build_systems.python import PythonPackage\n" in text
        (version,) = re.findall(r'^    version\(\s*"([\d.]+)"', text, re.MULTILINE)
        if bound := NEEDED.get(canonicalize_name(name.removeprefix("py_"))):
            assert version in bound, name
        assert name == "steelyard" or re.search(rf"(?:url|pypi) = [^=]*[_-]{re.escape(version)}[.-]", text), name


def test_easybuild_installs_versions_within_the_bounds() -> None:
    (file,) = (RECIPES / "easybuild").glob("*.eb")
    stated: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), {"name": "steelyard", "version": PROJECT["version"]}, stated)
    versions = {name: version for name, version, _ in stated["exts_list"]} | {"numpy": "1.26.4", "scipy": "1.13.1"}
    assert stated["version"] == versions.pop("steelyard") == PROJECT["version"]
    assert {name for name, bound in NEEDED.items() if Version(versions[name]) not in bound} == set()
    assert all(len(options["checksums"][0]) == 64 for name, _, options in stated["exts_list"] if name != "steelyard")


def test_both_containers_install_the_same_of_files_that_exist() -> None:
    dockerfile = (RECIPES / "Dockerfile").read_text()
    sections = recipe_trials.read_sections((RECIPES / "apptainer.def").read_text())
    packages = [
        re.search(r"--no-install-recommends (.*)", text).group(1).strip(" \\")
        for text in (dockerfile, sections["post"])
    ]
    assert packages[0] == packages[1]
    copied = [word for line in re.findall(r"^COPY (.*) \S+$", dockerfile, re.MULTILINE) for word in line.split()]
    assert copied == [line.split()[0] for line in sections["files"].strip().splitlines()]
    assert [name for name in copied if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["github/action.yml", "gitlab/steelyard.yml"])
def test_jobs_use_commands_and_options_that_exist(name: str) -> None:
    root: Any = typer.main.get_command(app)
    lines = re.findall(r"(?:/bin/steelyard|\"\$steelyard\") (.*)", (RECIPES / name).read_text())
    assert len(lines) == 2
    for line in lines:
        words = shlex.split(line.partition(" -- ")[0].partition("||")[0].partition(" >")[0])
        known = {option for parameter in root.commands[words[0]].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_every_recipe_says_what_was_checked_and_what_was_not() -> None:
    of_another = [RECIPES / "github/workflow.yml", *SPACK.glob("py_*/package.py")]
    files = [path for path in RECIPES.rglob("*") if path.is_file() and path not in of_another]
    assert len(files) > 6
    for path in files:
        head = re.match(r"(?:#.*\n)+", path.read_text())
        assert head, path
        assert "Checked" in head[0], path
        assert re.search("[Nn]ot checked:", head[0]), path
