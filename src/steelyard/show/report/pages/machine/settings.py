"""The machine's settings in groups of what they act on, and those that could not be read by their reason."""

import re
from dataclasses import dataclass

from steelyard.model import Setting

# A setting belongs to the first group that has a word of its name.
_GROUPS = (
    ("Memory and pages", ("page", "pages", "swap", "overcommit", "memory")),
    ("Clock and power", ("clock", "frequency", "governor", "turbo", "energy", "idle", "microcode", "power")),
    ("Processors", ("cpu", "cpus", "smt", "numa", "zone", "cores", "isolated", "tickless", "quota")),
    ("Kernel and system", ("",)),
)


@dataclass(frozen=True)
class SettingGroup:
    """Settings that act on the same part of the machine."""

    title: str
    settings: tuple[tuple[str, str, str], ...]  # name, value, and where it was read


@dataclass(frozen=True)
class Unread:
    """Settings that could not be read for the same reason; `places` are the files that were looked for."""

    reason: str
    names: tuple[str, ...]
    places: tuple[str, ...]


def groups(settings: tuple[Setting, ...], of_mpis: tuple[Setting, ...] = ()) -> tuple[SettingGroup, ...]:
    """The settings that were read, by group; groups without any are left out. `of_mpis` are those that steer MPIs."""
    by_title: dict[str, list[tuple[str, str, str]]] = {title: [] for title, _ in _GROUPS}
    for setting in settings:
        if setting.value is not None:
            by_title[_group(setting.name)].append((words(setting.name), setting.value, setting.source))
    by_title["MPI"] = [(s.name, s.value or "", s.source) for s in of_mpis]
    return tuple(SettingGroup(title, tuple(members)) for title, members in by_title.items() if members)


def unread(settings: tuple[Setting, ...]) -> tuple[Unread, ...]:
    """The settings that could not be read, those with the same reason together."""
    by_reason: dict[str, list[Setting]] = {}
    for setting in settings:
        if setting.value is None:
            by_reason.setdefault(_reason(setting), []).append(setting)
    return tuple(
        Unread(
            reason,
            tuple(words(s.name) for s in members),
            tuple(dict.fromkeys(s.source for s in members if s.source)),
        )
        for reason, members in by_reason.items()
    )


def words(name: str) -> str:
    """'transparent_huge_pages' → 'Transparent huge pages', 'cpu_quota' → 'CPU quota'."""
    text = re.sub(r"\b(cpu(?=s?\b)|smt|numa)", lambda match: match[0].upper(), name.replace("_", " "))
    return text[:1].upper() + text[1:]


def _group(name: str) -> str:
    parts = re.split(r"[ _]", name.lower())
    return next(title for title, keywords in _GROUPS if not keywords[0] or set(parts) & set(keywords))


def _reason(setting: Setting) -> str:
    """Returns the reason without the place, which is different for every setting."""
    text = setting.reason.replace(f"no {setting.source} ", "no such file ").replace(
        setting.source or "\0", "such a file"
    )
    return f"{text[:1].upper()}{text[1:]}" if text else "The reason is unknown"
