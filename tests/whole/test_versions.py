"""Versions of other packages: each that we name was tested within its bounds, and each that we import is named."""

import json
import re
import sys
import tomllib
from importlib import metadata

import pytest
from packaging.utils import canonicalize_name

from folders import ROOT

sys.path.insert(0, str(ROOT / "tests" / "versions"))
import audit
import environments
import pins

PROJECT = (ROOT / "pyproject.toml").read_text()
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
# Of one module a line, as the linter demands.
IMPORT = re.compile(r"^ *(?:from (\w+)[.\w]* import |import (\w+)[.\w]*(?: as \w+)?$)", re.MULTILINE)


def test_every_direct_dependency_was_tested_within_its_bounds() -> None:
    assert pins.list_faults(PROJECT, CONSTRAINTS) == []


def test_a_missing_line_and_a_version_outside_its_bounds_are_found() -> None:
    names = sorted({canonicalize_name(wanted.name) for wanted in pins.read_direct(PROJECT)})
    assert len(names) > 20
    for name in names:
        line = re.compile(rf"^{name}==\S+(.*)$", re.MULTILINE)
        assert pins.list_faults(PROJECT, line.sub("", CONSTRAINTS)), name
        other = line.sub(rf"{name}==99999\1", CONSTRAINTS)
        bounded = any("<" in str(w.specifier) for w in pins.read_direct(PROJECT) if canonicalize_name(w.name) == name)
        assert bool(pins.list_faults(PROJECT, other)) == bounded, name
        if name in pins.list_lowest(PROJECT):
            assert pins.list_faults(PROJECT, line.sub(rf"{name}==0.0.1\1", CONSTRAINTS)), name


@pytest.mark.parametrize("line", ["numpy>=2", "numpy==2.*", "numpy", "numpy==2.4.6\nnumpy==2.4.5"])
def test_a_line_that_names_no_single_version_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="make constraints"):
        pins.read_pins(line)


def test_packages_that_broke_us_have_an_upper_bound() -> None:
    bounded = {w.name for w in pins.read_direct(PROJECT) if "<" in str(w.specifier)}
    assert bounded >= {"duckdb", "plotly", "rich", "typer"}


def test_every_imported_package_is_a_direct_dependency() -> None:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    imported = {name for text in texts for names in IMPORT.findall(text) for name in names if name}
    assert len(imported) > 50
    imported -= {*sys.stdlib_module_names, "steelyard", "__main__"}
    named = {canonicalize_name(wanted.name) for wanted in pins.read_direct(PROJECT)}
    packages = metadata.packages_distributions()
    missing = {
        module
        for module in imported
        if not {canonicalize_name(name) for name in packages.get(module, [module])} & named
    }
    assert missing == set()


def test_the_list_of_vulnerabilities_names_an_old_version_and_no_other() -> None:
    kept = json.loads(audit.LIST.read_text())["advisories"]
    found = audit.search_list({"jinja2": "2.11.2", "pyyaml": "5.3", "ninja": "1.0"}, kept)
    assert {line.partition(":")[0] for line in found} == {"jinja2 2.11.2", "pyyaml 5.3"}
    assert audit.search_list({"jinja2": "2.11.3"}, [a for a in kept if a["id"] == "PYSEC-2021-66"]) == []


def test_no_tested_and_no_lowest_version_is_in_the_list() -> None:
    kept = json.loads(audit.LIST.read_text())["advisories"]
    assert audit.search_list(pins.read_pins(CONSTRAINTS), kept) == []
    assert audit.search_list(pins.list_lowest(PROJECT), kept) == []


def test_the_environments_of_other_versions_name_tests_that_exist() -> None:
    assert [name for name in environments.TESTS if not (ROOT / "tests" / name).is_file()] == []
    assert environments.main(["newest", "2.7"]) == 2
    assert environments.choose_environments([]) == list(environments.USUAL)
    assert environments.choose_environments(["3.13"]) == [("lowest", "3.13"), ("newest", "3.13")]
    assert environments.choose_environments(["newest", "3.12"]) == [("newest", "3.12")]
    assert {
        f"Programming Language :: Python :: {version}" for _, version in environments.choose_environments(["all"])
    } == {line for line in tomllib.loads(PROJECT)["project"]["classifiers"] if re.search(r"3\.\d+$", line)}
    assert environments.find_python("3.99") is None
    assert environments.find_python(f"{sys.version_info.major}.{sys.version_info.minor}")
