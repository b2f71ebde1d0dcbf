"""Reads what steers the MPIs besides Steelyard: variables of the environment, and the MPIs' own files of parameters."""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from string import Template

from steelyard.measure import mpi
from steelyard.measure.mpi import ParameterFile
from steelyard.model import Setting, Tool
from steelyard.model.mpi_settings import ENVIRONMENT
from steelyard.model.plain import visible
from steelyard.system import files

_LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)")  # Open MPI takes a comment at the end of a line as part of the value
_OPTION = re.compile(r"-g?env\s+([A-Za-z_]\w*)[\s=]+(\S+)")  # option of mpiexec: a variable for all ranks, or for some
_SECTION = re.compile(r"\s*\[")  # section of UCX: its lines apply to some processors only


def read_mpi_settings(tools: Iterable[Tool], environment: Mapping[str, str]) -> tuple[Setting, ...]:
    """Returns the settings that steer an MPI, by name; of several places for one name, the place that wins.

    `tools` are the MPIs whose files are read. Only variables of MPIs are read: all others are the user's own business.
    """
    settings: dict[str, Setting] = {}
    from_files = [(file.wins, s) for tool in tools for file, s in _list_file_settings(tool, environment)]
    variables = (Setting(n, visible(v), ENVIRONMENT) for n, v in sorted(environment.items()))
    for setting in (*(s for wins, s in from_files if wins), *variables, *(s for wins, s in from_files if not wins)):
        if mpi.is_steering(setting.name):
            settings.setdefault(setting.name, setting)
    return tuple(settings[name] for name in sorted(settings))


def _list_file_settings(tool: Tool, environment: Mapping[str, str]) -> Iterator[tuple[ParameterFile, Setting]]:
    for file in mpi.parameter_files(mpi.of(tool)):
        for path in _list_paths(file, tool, environment):
            for name, value in _read_parameters(path):
                yield file, Setting(file.variable.format(name), visible(value), str(path))


def _list_paths(file: ParameterFile, tool: Tool, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the files that may exist, those that win first."""
    wrappers = dict.fromkeys((tool.path, os.path.realpath(tool.path)))
    prefixes = [os.path.dirname(os.path.dirname(wrapper)) for wrapper in wrappers]
    for place in file.places:
        for prefix in prefixes if "$prefix" in place else [""]:
            parts = re.split(r"[,:]", _fill_variables(place, {**environment, "prefix": prefix}))
            yield from (Path(path) for part in parts if part for path in sorted(glob.glob(part)))
            if any(parts) and place.startswith("$") and place[1:].isidentifier():
                return  # the user names the files that are read instead of the others


def _fill_variables(place: str, variables: Mapping[str, str]) -> str:
    """Returns the place with its variables replaced; "" if one of them is not set."""
    try:
        return Template(place).substitute(variables)
    except KeyError:
        return ""


def _read_parameters(path: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = files.settings_in(path).splitlines()
    except (OSError, ValueError):
        return  # an unreadable file is unreadable for the MPI, too
    for line in lines:
        if _SECTION.match(line):
            return
        if match := _LINE.fullmatch(line):
            yield match[1], match[2].strip()
        else:
            yield from _OPTION.findall(line)
