"""Looks for known vulnerabilities in the versions that were tested and in the lowest allowed ones: make audit.

It reads the list in this folder, which has a date, and asks the registry of advisories of PyPI by pip-audit where that can be
reached. Ends with 1 for a known vulnerability. A registry that cannot be reached is no failure, but the output says it.

python tests/versions/audit.py --renew FOLDER writes the list anew, from a clone of github.com/pypa/advisory-database.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pins
from packaging.utils import canonicalize_name
from packaging.version import Version

LIST = Path(__file__).with_name("advisories.json")
# A version with known vulnerabilities: a registry that does not name it gives no answer about any other one.
CONTROL = "jinja2==3.1.2"
SECONDS = 300.0  # for the answers of the registry about a hundred packages


def is_affected(version: str, advisory: Mapping[str, Any]) -> bool:
    """Returns whether the advisory names the version, or a range that holds it."""
    if version in advisory["versions"]:
        return True
    asked = Version(version)
    for begin, end, last in advisory["ranges"]:
        if asked >= Version(begin) and (not end or asked < Version(end)) and (not last or asked <= Version(last)):
            return True
    return False


def search_list(versions: Mapping[str, str], advisories: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns a line for each advisory that affects one of the versions."""
    return [
        f"{advisory['package']} {versions[advisory['package']]}: {advisory['id']} ({', '.join(advisory['aliases'])})"
        for advisory in advisories
        if advisory["package"] in versions and is_affected(versions[advisory["package"]], advisory)
    ]


def ask_registry(requirements: Iterable[str], service: str) -> list[str] | None:
    """Returns a line for each vulnerability that pip-audit finds in these "name==version"; None if it gets no answer."""
    uv = Path(sys.executable).with_name("uv")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(requirements))
        file.flush()
        tool = [uv, "tool", "run", "--constraints", pins.ROOT / "constraints.txt", "pip-audit"]
        options = ["--service", service, "--no-deps", "--disable-pip", "--format", "json", "--requirement", file.name]
        try:
            done = subprocess.run(
                [*tool, *options, "--progress-spinner", "off"],
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
            audited = json.loads(done.stdout)["dependencies"]
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
            return None
    return [f"{p['name']} {p['version']}: {vuln['id']}" for p in audited for vuln in p.get("vulns", ())]


def audit() -> int:
    """Prints what is known of all versions. Returns 1 for a vulnerability, 0 otherwise."""
    project, constraints = ((pins.ROOT / name).read_text() for name in ("pyproject.toml", "constraints.txt"))
    kept = json.loads(LIST.read_text())
    sets = {"tested": pins.read_pins(constraints), "lowest allowed": pins.list_lowest(project)}
    vulnerable = []
    for name, versions in sets.items():
        lines = search_list(versions, kept["advisories"])
        print(f"audit: {len(versions)} {name} versions, {len(lines)} in the list of {kept['date']}.")
        vulnerable += lines
    for service in ("pypi", "osv"):
        if ask_registry([CONTROL], service):
            lines = ask_registry([f"{n}=={v}" for n, v in sets["tested"].items()], service)
            if lines is None:
                continue
            print(f"audit: {len(lines)} vulnerabilities of the tested versions in the registry '{service}' today.")
            vulnerable += lines
            break
    else:
        print(
            "audit: The registry of advisories cannot be reached: neither pypi.org nor osv.dev names the vulnerabilities of "
            f"'{CONTROL}'. Only the list of {kept['date']} was read. Run make audit where one of them can be reached."
        )
    print(
        "\n".join(f"audit: VULNERABLE {line}" for line in vulnerable)
        or "audit: None of these sources names one of the versions."
    )
    return int(bool(vulnerable))


def renew(folder: Path) -> None:
    """Writes the list from a clone of the database: the facts about the packages in constraints.txt, without the texts."""
    import yaml

    git = ["git", "-C", folder]
    shown = subprocess.run(
        [*git, "log", "-1", "--format=%H %cs"], capture_output=True, text=True, check=True
    ).stdout.split()
    found = []
    for package in sorted(pins.read_pins((pins.ROOT / "constraints.txt").read_text())):
        command = [*git, "ls-tree", "--name-only", "HEAD", f"vulns/{package}/"]
        for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split():
            text = subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, text=True, check=True).stdout
            found += _shorten(package, yaml.safe_load(text))
    head = {"source": "github.com/pypa/advisory-database (CC BY 4.0)", "commit": shown[0], "date": shown[1]}
    lines = ",\n".join(f"  {json.dumps(advisory)}" for advisory in found)
    LIST.write_text(f'{json.dumps(head)[:-1]},\n "advisories": [\n{lines}\n ]}}\n')


def _shorten(package: str, advisory: Mapping[str, Any]) -> list[dict[str, Any]]:
    if advisory.get("withdrawn"):
        return []
    short = []
    for part in advisory["affected"]:
        ranges = []
        for stated in part.get("ranges", ()):
            for event in stated["events"] if stated["type"] == "ECOSYSTEM" else ():
                if "introduced" in event:
                    ranges.append([event["introduced"], "", ""])
                else:
                    ranges[-1][1:] = [event.get("fixed", ""), event.get("last_affected", "")]
        versions = [] if ranges else list(part.get("versions", ()))
        if canonicalize_name(part["package"]["name"]) == package:
            aliases = [name for name in advisory.get("aliases", ()) if name.startswith(("CVE", "GHSA"))]
            short.append(
                {"package": package, "id": advisory["id"], "aliases": aliases, "ranges": ranges, "versions": versions}
            )
    return short


if __name__ == "__main__":
    if sys.argv[1:2] == ["--renew"]:
        renew(Path(sys.argv[2]))
    else:
        sys.exit(audit())
