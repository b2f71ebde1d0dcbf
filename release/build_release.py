"""Builds a release of the last commit into dist/: make release. Nothing is uploaded.

dist/ then has the source archive, the wheel, the packages that the wheel needs (CycloneDX), the changes of this version, and the
SHA-256 of each of these files. Two builds of a commit are equal, byte by byte. Needs uv, which stands beside this Python.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
CONSTRAINTS = ROOT / "constraints.txt"


class Refused(Exception):
    """Why no release can be built, in a sentence."""


def read_changes(changelog: str, version: str, tagged: bool) -> str:
    """Returns the page of changes of this version. Raises Refused for a tagged version without a section of its own."""
    sections = {
        head.split()[0].strip("[]"): text.strip()
        for head, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    }
    if version in sections:
        return f"# Changes in {version}\n\n{sections[version]}\n"
    if tagged or "Unreleased" not in sections:
        raise Refused(f"CHANGELOG.md has no section '## {version}'. Rename the section '## Unreleased' and commit it.")
    return f"# Changes in {version} (not released yet)\n\n{sections['Unreleased']}\n"


def _git(*words: str) -> str:
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"{ROOT} is no git repository with a commit: {done.stderr.strip()}")
    return done.stdout


def export(folder: Path) -> None:
    """Writes the files of the last commit into an existing folder."""
    if _git("status", "--porcelain"):
        print("release: what is not committed is not in the release.", flush=True)
    packed = folder.with_name("commit.tar")
    _git("archive", "--output", str(packed), "HEAD")
    subprocess.run(["tar", "-C", folder, "-xf", packed], check=True)


def build(source: Path, target: Path) -> Path:
    """Builds the source archive, and the wheel from it, into `target`. Returns the path of the wheel."""
    epoch = _git("log", "-1", "--format=%ct").strip()
    command = [UV, "build", "--quiet", "--build-constraints", CONSTRAINTS, "--out-dir", target, source]
    subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def list_parts(wheel: Path, folder: Path, target: Path) -> None:
    """Installs the wheel with the tested versions into `folder`, and writes what stands there as CycloneDX to `target`."""
    python = folder / "bin" / "python"
    tool = [UV, "tool", "run", "--quiet", "--constraints", CONSTRAINTS, "--from", "cyclonedx-bom", "cyclonedx-py"]
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    install = [UV, "pip", "install", "--quiet", "--python", python, "--constraints", CONSTRAINTS, wheel]
    subprocess.run(install, check=True)
    words = ["environment", "--output-reproducible", "--output-format", "JSON", "--pyproject", ROOT / "pyproject.toml"]
    subprocess.run([*tool, *words, "--output-file", target, python], check=True)


def write_digests(folder: Path) -> None:
    """Writes SHA256SUMS over all other files of the folder, in the form of `sha256sum --check`."""
    digest = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}
    (folder / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in digest.items()))


def main(words: list[str]) -> int:
    """Builds into the folder that `words` name (default: dist/), and removes an earlier release there."""
    target = Path(words[0]) if words else ROOT / "dist"
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        tagged = f"v{version}" in _git("tag", "--points-at", "HEAD").split()
        changes = read_changes((ROOT / "CHANGELOG.md").read_text(), version, tagged)
        with tempfile.TemporaryDirectory(prefix="steelyard-release-") as folder:
            source, built = Path(folder, "source"), Path(folder, "built")
            source.mkdir()
            export(source)
            wheel = build(source, built)
            (built / ".gitignore").unlink(missing_ok=True)  # of uv
            list_parts(wheel, Path(folder, "environment"), built / f"steelyard-{version}.cdx.json")
            (built / f"steelyard-{version}-changes.md").write_text(changes)
            write_digests(built)
            target.mkdir(parents=True, exist_ok=True)
            for old in target.glob("steelyard-*"):
                old.unlink()
            for path in sorted(built.iterdir()):
                (target / path.name).write_bytes(path.read_bytes())
                print(f"release: {target / path.name}, {path.stat().st_size / 1e3:.0f} kB")
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"release: {' '.join(map(str, error.cmd))} ended with {error.returncode}.", file=sys.stderr)
        return 4
    if not tagged:
        print(f"release: this commit has no tag v{version}. Before you publish these files: git tag v{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
