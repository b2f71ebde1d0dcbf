"""Each way to install the wheel, on a bare Debian, by an ordinary user: python3 tests/fresh/install_ways.py [WAY …] [SUITE …].

`recipes` is a way, too: it carries out the recipes for containers and CI.

From an empty home to the first screen: minutes and megabytes of each way. The bundle is installed without a network. Then the
sentence of a machine without a compiler. Needs root and uv: make test-install. Ends with 1 if a way failed, with 4 where no bare
machine can be made.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bare
import first_hour
import recipe_trials

sys.path.insert(0, str(first_hour.ROOT / "release"))
import build_release
import bundle

HOME = "/home/user"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
# To the first screen, of the clock and of the processors: a busy machine needs longer by the clock.
LIMIT = 180.0
RUN = "run --budget 20s"


@dataclass(frozen=True)
class Way:
    """The command that brings the installer, which a user has already, and the command up to the first screen."""

    before: str
    command: str
    file: str = "*.whl"
    separate: Sequence[str] = ()  # namespaces of its own, as unshare names them


WAYS = {
    "pip": Way("true", f"python3 -m venv s && s/bin/pip install -q ./*.whl && s/bin/steelyard {RUN}"),
    "pipx": Way(
        "python3 -m venv t && t/bin/pip install -q pipx",
        f"t/bin/pipx install -q ./*.whl && .local/bin/steelyard {RUN}",
    ),
    "uvx": Way("python3 -m venv t && t/bin/pip install -q uv", f"t/bin/uvx --from ./*.whl steelyard {RUN}"),
    "bundle": Way(
        "! getent hosts pypi.org",
        f"tar -xf *.tar && sh steelyard-*/install.sh s && s/bin/steelyard machine >machine && s/bin/steelyard {RUN}",
        "*.tar",
        ("--net",),
    ),
}


def megabytes(folder: Path) -> float:
    """Returns the size of a folder, in MB on the disk."""
    done = subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) * 1024 / 1e6


def try_way(root: Path, files: Path, way: Way) -> str:
    """Returns the result of one way in an empty home. It begins with "FAILED" if it failed or took too long."""
    home = root / HOME.lstrip("/")
    subprocess.run(["find", home, "-mindepth", "1", "-delete"], check=True)
    for path in files.glob(way.file):
        shutil.copy(path, home)
    if code := first_hour.inside(root, way.before, HOME, way.separate):
        return f"FAILED: '{way.before}' ended with {code}"
    used, begun, processor = megabytes(home), time.monotonic(), first_hour.processor_seconds()
    code = first_hour.inside(root, way.command, HOME, way.separate)
    seconds, processor = time.monotonic() - begun, first_hour.processor_seconds() - processor
    shown = first_hour.show(f"{megabytes(home) - used:.0f} MB", seconds, processor)
    return shown if code == 0 and min(seconds, processor) <= LIMIT else f"FAILED, exit code {code}: {shown}"


def try_without_compiler(root: Path) -> str:
    """Returns whether a run without a compiler names Debian's package at once, in the environment of the way before."""
    for path in (root / "usr/bin").glob("*++*"):
        path.unlink()
    begun = time.monotonic()
    code = first_hour.inside(root, f"s/bin/steelyard {RUN} >said 2>&1; c=$?; cat said; exit $c", HOME)
    seconds = time.monotonic() - begun
    said = (root / HOME.lstrip("/") / "said").read_text()
    good = code == 4 and said.rstrip().endswith("Install one: apt-get install g++") and seconds < 20
    return f"{'' if good else 'FAILED: '}the sentence after {seconds:.1f} s"


def carry_out(suites: Sequence[str], ways: Sequence[str]) -> dict[str, str]:
    """Tries every way on every Debian with one wheel of the last commit. Returns their results by name."""
    results = {}
    with tempfile.TemporaryDirectory(prefix="steelyard-install-") as folder:
        files, source = Path(folder, "files"), Path(folder, "source")
        source.mkdir()
        build_release.export(source)
        wheel = build_release.build(source, files)
        if "recipes" in ways:
            results |= recipe_trials.carry_out(source, wheel)
            ways = [way for way in ways if way in WAYS]
        if "bundle" in ways:
            bundle.pack([PYTHONS[suite] for suite in suites], files)
        for suite in suites if ways else ():
            with first_hour.machine(suite, fill=lambda root: None) as root:
                for way in ways:
                    print(f"\nfresh: {suite}, {way}: {WAYS[way].command}", flush=True)
                    results[f"{suite}, {way}"] = try_way(root, files, WAYS[way])
                if ways[-1] in ("pip", "bundle"):  # which leave an environment at ~/s
                    results[f"{suite}, without a compiler"] = try_without_compiler(root)
    return results


def main(words: list[str]) -> int:
    """Tries the named ways and Debians; without words, all of them."""
    signal.signal(signal.SIGTERM, first_hour.stop)
    all_ways = ("recipes", *WAYS)
    suites = [w for w in words if w in PYTHONS] or list(PYTHONS)
    ways = [w for w in all_ways if w in words] or list(all_ways)
    if unknown := [w for w in words if w not in (*PYTHONS, *all_ways)]:
        print(f"fresh: '{unknown[0]}' is not one of {', '.join((*all_ways, *PYTHONS))}.", file=sys.stderr)
        return 2
    try:
        if os.geteuid() != 0:
            raise bare.Missing("A bare machine needs root: it is a folder that is entered by chroot.")
        results = carry_out(suites, ways)
    except bare.Missing as missing:
        print(f"fresh: {missing}", file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        print("\nfresh: interrupted; the bare machine is gone.", file=sys.stderr)
        return 130
    print("".join(f"\nfresh: {name}: {result}" for name, result in results.items()), flush=True)
    return int(any(result.startswith("FAILED") for result in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
