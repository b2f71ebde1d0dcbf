"""The words of a command line as a request: lengths in seconds, settings as values, the preset as what it stands for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard import applications, numbers
from steelyard.errors import UsageError, nearest
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
    """The request with somebody else's programs, and all its paths. They alone are run where nothing else is named.

    UsageError for a file that is not as it must be.
    """
    found = [applications.find(name) for name in apps]
    names = [f"application.{applications.read(path).name}" for path in found]
    paths = [*asked.paths, *found]
    return replace(asked, only=[*asked.only, *names], paths=paths), paths


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
