"""Carries out the recipes for containers and for CI: make test-install INSTALL=recipes calls it.

buildah, a package of Debian, builds the Dockerfile, and runs the sections of the Apptainer definition, on a Debian made by
debootstrap: no registry of images is needed. The jobs for CI run in a shell, with a slower program and with a faster one.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bare
import first_hour

BASE = "docker.io/library/debian:12-slim"  # as the recipes name it
MEASURE = ("run", "--only", "memory.stream", "--budget", "10s")
FAST, SLOW = "sleep 0.02", "sleep 0.04"


class Wrong(Exception):
    """What a recipe did that it must not do."""


def read_sections(text: str) -> dict[str, str]:
    """Returns the sections of an Apptainer definition by name; "" is the head."""
    parts = re.split(r"^%(\w+)\n", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


@contextlib.contextmanager
def images() -> Iterator["Images"]:
    """A store of images that holds the base; gone afterwards. Raises bare.Missing without buildah."""
    if not shutil.which("buildah"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "buildah"], check=False)
    if not shutil.which("buildah"):
        raise bare.Missing("buildah is missing, and could not be installed: apt-get install buildah")
    packed = bare.archive("bookworm", (), "base")
    with tempfile.TemporaryDirectory(prefix="images-", dir=bare.cache()) as folder:
        store = Images(Path(folder))
        store.call("from", "--name", "base", "scratch")
        root = store.call("mount", "base", captured=True)
        subprocess.run(["tar", "-C", root, "-xpf", packed], check=True)
        store.call("umount", "base")
        store.call("commit", "--quiet", "--rm", "base", BASE)
        try:
            yield store
        finally:
            store.call("rm", "--all")


class Images:
    """buildah with a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.options = ["--storage-driver", "vfs", "--root", str(folder / "root"), "--runroot", str(folder / "run")]
        kept = {k: v for k, v in bare.pip_variables().items() if k in ("PIP_INDEX_URL", "PIP_CERT")}
        mounts = []
        if certificates := kept.pop("PIP_CERT", ""):  # a place that Debian's package of certificates does not write
            mounts = ["--volume", f"{certificates}:/run/certificates.crt:ro"]
            kept["PIP_CERT"] = "/run/certificates.crt"
        self.isolated = {
            verb: ["--isolation", "chroot", *mounts, *(w for k, v in kept.items() for w in (given, f"{k}={v}"))]
            for verb, given in (("build", "--build-arg"), ("run", "--env"))
        }

    def call(self, verb: str, *words: str | Path, captured: bool = False) -> str:
        """Runs `buildah VERB WORDS` and returns what it printed, if captured. Raises CalledProcessError."""
        command = ["buildah", *self.options, verb, *self.isolated.get(verb, ()), *map(str, words)]
        out = subprocess.PIPE if captured else None
        return (
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, text=True, check=True).stdout or ""
        ).strip()


def check_steelyard(store: Images, container: str, *before: str) -> None:
    """Describes the machine and measures its memory, as the user of the container. Raises CalledProcessError."""
    for words in (("machine",), MEASURE):
        store.call("run", "--user", "1000:1000", container, "--", *before, *words)


def try_dockerfile(store: Images, context: Path) -> None:
    store.call(
        "build", "--pull-never", "--quiet", "--file", context / "recipes/Dockerfile", "--tag", "steelyard", context
    )
    store.call("from", "--pull-never", "--name", "docker", "localhost/steelyard")
    check_steelyard(store, "docker", "steelyard")


def try_apptainer(store: Images, context: Path) -> None:
    sections = read_sections((context / "recipes/apptainer.def").read_text())
    if not sections[""].rstrip().endswith(f"From: {BASE.rpartition('/')[2]}"):
        raise Wrong(f"the base of the Apptainer definition is not {BASE}")
    store.call("from", "--pull-never", "--name", "apptainer", BASE)
    for line in filter(None, map(str.strip, sections["files"].splitlines())):
        source, target = line.split()
        inside = target + source if (context / source).is_dir() else target  # buildah copies what is in a folder
        store.call("copy", "--quiet", "apptainer", context / source, inside)
    store.call("run", "apptainer", "--", "sh", "-c", sections["post"])
    script = "cd /tmp; export HOME=/tmp\n" + sections["environment"] + sections["runscript"]
    check_steelyard(store, "apptainer", "sh", "-c", script, "sh")


def run_script(script: str, folder: Path, variables: Mapping[str, str]) -> int:
    """Returns the exit code of a script of CI in an empty folder with the wheel."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    environment = {**kept, **bare.pip_variables(), **variables}
    return subprocess.run(["sh", "-e", "-c", script], cwd=folder, env=environment, check=False).returncode


def expect_codes(script: str, folder: Path, variables: Mapping[str, str]) -> None:
    """Raises Wrong unless the job fails for a slower second command and passes for a faster one."""
    for first, second, expected in ((FAST, SLOW, 1), (SLOW, FAST, 0)):
        code = run_script(script, folder, {**variables, "FIRST": first, "SECOND": second, "ROUNDS": "12"})
        if code != expected:
            raise Wrong(f"the job ended with {code} instead of {expected} for '{first}' and '{second}'")


def try_github(context: Path, wheel: Path, folder: Path) -> None:
    steps = read_yaml(context / "recipes/github/action.yml")["runs"]["steps"]
    variables = {"RUNNER_TEMP": str(folder), "WHEEL": str(wheel), "NODES": ""}
    expect_codes("\n".join(step["run"] for step in steps), folder, variables)


def try_gitlab(context: Path, wheel: Path, folder: Path) -> None:
    jobs = read_yaml(context / "recipes/gitlab/steelyard.yml")
    lines = [*jobs[".steelyard"]["before_script"], *jobs[".steelyard-compare"]["script"]]
    expect_codes("\n".join(lines), folder, {"STEELYARD_WHEEL": str(wheel)})


def read_yaml(path: Path) -> Any:
    import yaml

    return yaml.safe_load(path.read_text())


def carry_out(context: Path, wheel: Path) -> dict[str, str]:
    """Carries out every recipe, from the files of a commit in `context`. Returns their results by name."""
    results = {}

    def attempt(name: str, work: Any, *words: Any) -> None:
        with first_hour.step(name):
            try:
                work(*words)
                results[name] = "works"
            except (Wrong, subprocess.CalledProcessError) as error:
                results[name] = f"FAILED: {error}"

    with tempfile.TemporaryDirectory(prefix="steelyard-recipes-") as folder:
        for name, job in (("GitHub", try_github), ("GitLab", try_gitlab)):
            Path(folder, name).mkdir()
            attempt(f"recipe for {name}", job, context, wheel, Path(folder, name))
    with images() as store:
        attempt("Dockerfile", try_dockerfile, store, context)
        attempt("Apptainer definition", try_apptainer, store, context)
    return results
