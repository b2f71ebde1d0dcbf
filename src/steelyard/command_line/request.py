"""The words of a command line as a request: lengths in seconds, settings as values, the preset as what it stands for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard import doors, numbers
from steelyard.errors import UsageError, nearest
from steelyard.files import is_file
from steelyard.model import Effort, Scalar
from steelyard.plan import EFFORTS
from steelyard.run.setup import Request

PHRASES = ("placement", "transport")  # parameters whose values may have spaces: the launcher's, not the program's


def request(
    *,
    preset: str,
    only: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    toolchains: Sequence[str] | None = None,
    budget: str | None = None,
    wait: str | None = None,
    system: str | None = None,
    mpis: Sequence[str] | None = None,
    hosts: str | None = None,
    launcher: str | None = None,
    launcher_words: Sequence[str] | None = None,
    seed: int = 1,
    paths: Sequence[Path] | None = None,
) -> Request:
    """What these options ask for. UsageError for a word that cannot be understood."""
    return Request(
        effort(preset),
        only or (),
        values(settings or ()),
        toolchains or (),
        mpis or (),
        numbers.length_of_time(budget, "--budget") if budget else None,
        numbers.length_of_time(wait, "--wait") if wait else 0.0,
        system,
        hosts,
        launcher,
        launcher_words or (),
        seed,
        paths or (),
    )


def with_apps(asked: Request, apps: Sequence[str]) -> tuple[Request, list[Path]]:
    """The request with the programs that `--app` names, and all its paths. They alone run if `--only` names nothing.

    UsageError for a name or a file that no wing can run.
    """
    files = [path_of_program(name) for name in apps]
    names = [runner.benchmark_of(path).name for path in files if (runner := doors.program_runner(path))]
    paths = [*asked.paths, *files]
    return replace(asked, only=[*asked.only, *names], paths=paths), paths


def path_of_program(name: str) -> Path:
    """The file that describes the program `name`: a path, or a file that a wing brings."""
    runners = doors.modules(doors.PROGRAMS)
    shipped: dict[str, Path] = {known: path for runner in runners for known, path in runner.shipped().items()}
    path = shipped.get(name, Path(name))
    if name in shipped or (is_file(path) and doors.program_runner(path)):
        return path.resolve()
    suffixes = " or ".join(f"NAME{runner.SUFFIX}" for runner in runners)
    raise UsageError(
        f"There is no application '{name}' (given by --app). {nearest(name, shipped)} Or give the path of a file {suffixes}."
    )


def effort(preset: str) -> Effort:
    """That of a preset. UsageError for a name that is none."""
    if preset not in EFFORTS:
        raise UsageError(f"There is no preset '{preset}' (given by --preset). {nearest(preset, EFFORTS)}")
    return EFFORTS[preset]


def values(words: Sequence[str]) -> dict[str, list[Scalar]]:
    """'threads=1,2,4' → {'threads': [1, 2, 4]}. A list of processors (pinning=0,2) is one value; ';' separates several."""
    found: dict[str, list[Scalar]] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name or not text:
            raise UsageError(f"'{word}' (given by --set) must be NAME=VALUE[,VALUE…], as in --set threads=1,2,4")
        one = ";" in text or (name == "pinning" and re.fullmatch(r"[\d,-]+", text))
        parts = [v for v in (text.split(";") if one else text.split(",")) if v]
        if not parts or (name not in PHRASES and any(re.search(r"\s", v) for v in parts)):
            raise UsageError(f"'{word}' (given by --set) has an empty value or one with a space in it")
        found.setdefault(name, []).extend(numbers.setting(name, v) for v in parts)
    return found
