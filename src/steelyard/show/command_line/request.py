"""Turns the words of a command line into a request: times in seconds, settings as values, the preset as its effort."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard import doors
from steelyard.errors import UsageError, nearest
from steelyard.measure.plan import EFFORTS
from steelyard.measure.plan.variants import read_variants
from steelyard.measure.run import sensing
from steelyard.measure.run.sensing import Sensing
from steelyard.measure.run.setup import Request
from steelyard.measure.screen import Screen
from steelyard.model import Effort, Scalar, numbers
from steelyard.show.command_line.options import PlanOptions, PowerOptions
from steelyard.system.files import is_file

PHRASES = ("placement", "transport", "variant")  # parameters whose values may contain spaces: programs do not read them


def read_request(asked: PlanOptions, only: Sequence[str] | None, wait: str | None = None) -> Request:
    """Returns the request that these options describe. UsageError for a word that has no meaning."""
    return Request(
        effort=find_effort(asked.preset),
        only=only or (),
        settings=read_settings(asked.settings or ()),
        toolchains=asked.toolchains or (),
        mpis=asked.mpis or (),
        budget=numbers.length_of_time(asked.budget, "--budget") if asked.budget else None,
        wait=numbers.length_of_time(wait, "--wait") if wait else 0.0,
        system=asked.system,
        hosts=asked.hosts,
        launcher=asked.launcher,
        launcher_words=asked.launcher_words or (),
        variants=read_variants(asked.variants or ()),
        seed=asked.seed,
        paths=asked.paths or (),
    )


def open_sensors(asked: PowerOptions, screen: Screen) -> Sensing | None:
    """Returns the sensors that are read during a run; None for none. UsageError for words that name no sensor."""
    return sensing.asked(asked.power, asked.sensor or [], numbers.period(asked.every), screen)


def add_programs(asked: Request, apps: Sequence[str]) -> tuple[Request, list[Path]]:
    """Returns the request with the programs that `--app` names, and all its paths. They run alone if `--only` names nothing.

    UsageError for a name or a file that no program runner accepts.
    """
    files = [find_program(name) for name in apps]
    names = [runner.benchmark_of(path).name for path in files if (runner := doors.program_runner(path))]
    paths = [*asked.paths, *files]
    return replace(asked, only=[*asked.only, *names], paths=paths), paths


def find_program(name: str) -> Path:
    """Returns the file that describes the program `name`: the path `name`, or a file that Steelyard ships."""
    runners = doors.modules(doors.PROGRAMS)
    shipped: dict[str, Path] = {
        key: path for runner in runners for key, path in (doors.attempt(runner.shipped) or {}).items()
    }
    path = shipped.get(name, Path(name))
    if name in shipped or (is_file(path) and doors.program_runner(path)):
        return path.resolve()
    suffixes = " or ".join(f"NAME{runner.SUFFIX}" for runner in runners)
    raise UsageError(
        f"There is no application '{name}' (given by --app). {nearest(name, shipped)} Or give the path of a file {suffixes}."
    )


def find_effort(preset: str) -> Effort:
    """Returns the effort of a preset. UsageError for an unknown name."""
    if preset not in EFFORTS:
        raise UsageError(f"There is no preset '{preset}' (given by --preset). {nearest(preset, EFFORTS)}")
    return EFFORTS[preset]


def read_settings(words: Sequence[str]) -> dict[str, list[Scalar]]:
    """Reads 'threads=1,2,4' as {'threads': [1, 2, 4]}. A list of processors (pinning=0,2) is one value; ';' separates several."""
    settings: dict[str, list[Scalar]] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name or not text:
            raise UsageError(
                f"'{word}' (given by --set) has the wrong form. Give NAME=VALUE[,VALUE…], as in --set threads=1,2,4"
            )
        whole = ";" in text or (name == "pinning" and re.fullmatch(r"[\d,-]+", text))
        parts = [v for v in (text.split(";") if whole else text.split(",")) if v]
        if not parts or (name not in PHRASES and any(re.search(r"\s", v) for v in parts)):
            raise UsageError(
                f"'{word}' (given by --set) contains an empty value or a space. Separate values by commas only."
            )
        settings.setdefault(name, []).extend(numbers.setting(name, v) for v in parts)
    return settings
