"""A copy of a run that does not say whose it is: without names of hosts, users, systems and jobs, paths and addresses.

Each of them becomes a word with a number, the same one in the whole run, so that equal things stay equal.
"""

import contextlib
import getpass
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from steelyard.measure.records import power, sums
from steelyard.measure.records.writing import write_whole
from steelyard.system.files import lines, ordinary

SYSTEM, RUN = "anonymous system", "anonymous"
_FILE, _FILES = "file", "files"  # of an imported value, and all of its run
_HOSTS = {"host", "hosts"}  # fields whose texts are names of hosts
_NAMED = {*_HOSTS, "system"}
# Fields whose texts are words of Steelyard or of its benchmarks.
_OWN = {
    "benchmark", "kernel", "kind", "level", "metric", "unit", "better", "statistic", "work", "preset", "tool",
}  # fmt: skip
# Paths below these are the same on every machine, or name no user.
_COMMON = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/", "/proc/", "/sys/", "/dev/", "/opt/")
_OWN_FILES = ("/dev/shm/", "/proc/self/cwd")  # of users, below these
LONGEST = 80  # letters of an address
_PLAIN = {"localhost", "root", "", "unnamed machine"}  # names that say nothing
_TIME = re.compile(r"\d{8}-\d{6}(-\d+)?")  # the name of a run that its time gave
# A text is read word by word, and a word as a whole, so that the time grows with the length of the text only.
_WORD = re.compile(r"[^\s'\",;()\[\]{}<>|]+")
_PLAIN_WORD = re.compile(r"[\w.+-]+")
_JOINTS = re.compile("([=:])")  # between the parts of a word, such as PATH=/a:/b
_ADDRESS = re.compile(
    r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?:[:/][0-9]{1,5})?"
    r"|(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}"  # Ethernet, InfiniBand
    r"|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
)
_SHORT_ADDRESS = re.compile(r"[0-9a-fA-F:.]+(?:/[0-9]{1,3})?")  # IPv6, if it has "::"
_NUMBER = re.compile(r"(?:GPU-|MIG-)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")


class Anonymous:
    """Replaces what names somebody, in one run. `counts` says how many different things of each kind were replaced."""

    def __init__(self, folder: Path) -> None:
        self._words: dict[tuple[str, str], str] = {}
        self.counts: Counter[str] = Counter()
        about = _read_json(folder / "run.json")
        hosts, own = set[str](), set[str]()
        for value in (about, *_read_lines(folder)):
            hosts.update(_find_hosts(value))
            own.update(_find_own_words(value))
        names = {name: self._word("host", _shorten(name)) for name in sorted(hosts - _PLAIN)}
        names |= {_shorten(name): word for name, word in names.items()}
        system = str(about.get("machine", {}).get("system", ""))
        self._exact = {**names, system: names.get(system, system if system in _PLAIN else SYSTEM)}
        names = self._exact | {user: self._word("user", user) for user in _find_users(folder, about)}
        given = str(about.get("id", ""))
        names |= {} if _TIME.fullmatch(given) else {given: RUN}
        # A host that is called as a field or a kernel is replaced only where a host stands.
        self._names = {
            name: word for name, word in names.items() if re.search(r"[^\W\d_]", name[1:]) and name not in own | _PLAIN
        }
        self._long = [name for name in self._names if " " in name]
        every = "|".join(re.escape(name) for name in sorted(self._names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![^\W_])(?:{every})(?![^\W_])") if every else None
        self.name = about["id"] if _TIME.fullmatch(str(about.get("id", ""))) else RUN

    def copy(self, folder: Path, target: Path) -> None:
        """Writes the run in `folder` without names into the new folder `target`, with checksums. OSError."""
        target.mkdir()
        for name in sums.FILES:
            if (folder / name).is_file():
                write_whole(target / name, "".join(self._convert(folder / name)))
        write_whole(target / sums.SUMS, sums.text(target))

    def _convert(self, path: Path) -> Iterator[str]:
        if path.suffix == ".jsonl":
            with ordinary(path) as file:
                for value in _parse(lines(file)):
                    yield json.dumps(self.replace(value), ensure_ascii=False) + "\n"
        elif path.suffix == ".json":
            about = self.replace(_read_json(path))
            if path.name == "run.json":
                about |= {"id": self.name, "job": str(about.get("job") or "").partition(" ")[0] or None}
                _leave_out_others(about)
            yield json.dumps(about, indent=1, ensure_ascii=False)
        else:
            with ordinary(path) as file:
                for line in lines(file):
                    yield self.replace(line.decode(errors="replace"))

    def replace(self, value: Any, key: str = "") -> Any:
        """Returns the value of the field `key` with other words in its texts."""
        if isinstance(value, str):
            exact = self._exact.get(value) if key in _NAMED else self._name_file(value) if key == _FILE else None
            return self._replace_text(value) if exact is None else exact
        if isinstance(value, dict) and key == _FILES:
            return {digest: self._name_file(name) for digest, name in value.items()}
        if isinstance(value, dict):
            return {hide(name, self._word): self.replace(inner, name) for name, inner in value.items()}
        return [self.replace(inner, key) for inner in value] if isinstance(value, list) else value

    def _name_file(self, name: str) -> str:
        """Returns another name for a file that was imported: its folders often name systems and people."""
        return f"{self._word('file', name)}{Path(name).suffix[:8]}" if name else name

    def _replace_text(self, text: str) -> str:
        for name in self._long:  # names of several words
            text = text.replace(name, self._names[name])
        return hide(text, self._word, self._rename)

    def _rename(self, text: str) -> str:
        return self._pattern.sub(lambda found: self._names[found[0]], text) if self._pattern else text

    def _word(self, kind: str, text: str) -> str:
        if (kind, text) not in self._words:
            self.counts[kind] += 1
            self._words[kind, text] = f"{kind}{self.counts[kind]}"
        return self._words[kind, text]


def hide(text: str, word: Callable[[str, str], str], rename: Callable[[str], str] = str) -> str:
    """Returns the text with a `word(kind, found)` for each path, address and serial number.

    Paths that are alike on all systems stay. `rename` gets what is neither of them.
    """
    return _WORD.sub(lambda found: _hide_word(found[0], word, rename), text)


def _hide_word(text: str, word: Callable[[str, str], str], rename: Callable[[str], str]) -> str:
    bare = text.rstrip(".!?")
    rest = text[len(bare) :]
    if _NUMBER.fullmatch(bare):
        return word("number", bare) + rest
    if bare.startswith(("127.", "0.0.0.0")) or _CLOCK.fullmatch(bare):
        return text
    name, at, domain = bare.partition("@")
    pattern = _SHORT_ADDRESS if "::" in bare else _ADDRESS
    if "://" in bare or (at and name and "." in domain) or (len(bare) < LONGEST and pattern.fullmatch(bare)):
        return word("address", bare) + rest
    return "".join(_hide_part(part, word, rename) for part in _JOINTS.split(bare)) + rest


def _hide_part(part: str, word: Callable[[str, str], str], rename: Callable[[str], str]) -> str:
    if len(part) < 2 or not part.startswith(("/", "~/")):
        return rename(part)
    is_common = f"{part}/".startswith(_COMMON) and not part.startswith(_OWN_FILES)
    return part if is_common else f"/{word('path', part)}"


def _find_hosts(value: Any, named: bool = False) -> Iterator[str]:
    """Yields the names of hosts in a value of JSON."""
    if isinstance(value, str):
        if named:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _find_hosts(inner, key in _HOSTS)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_hosts(inner, named)


def _leave_out_others(about: dict[str, Any]) -> None:
    """Removes the paces of the machine that other runs showed, with their programs: what has a word that this run has not."""
    shown = about.get("shown")
    if isinstance(shown, dict) and isinstance(shown.get("best"), dict):
        rest = {name: value for name, value in about.items() if name != "shown"}
        known = set(_PLAIN_WORD.findall(json.dumps(rest, ensure_ascii=False)))
        shown["best"] = {
            key: pace for key, pace in shown["best"].items() if known.issuperset(_PLAIN_WORD.findall(key)[1:])
        }


def _shorten(host: str) -> str:
    """Returns the name without its domain: 'n17' for 'n17.cluster.example', but not '12' for '12.2'."""
    return host.partition(".")[0] if re.search(r"\.[a-zA-Z]", host) else host


def _find_own_words(value: Any, own: bool = False) -> Iterator[str]:
    """Yields the names of fields, and the texts that are words of Steelyard."""
    if isinstance(value, str):
        if own:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _find_own_words(inner, own or key in _OWN)
    elif isinstance(value, list) and not (value and isinstance(value[0], int | float)):
        for inner in value:
            yield from _find_own_words(inner, own)


def _find_users(folder: Path, about: dict[str, Any]) -> set[str]:
    """Returns the names of users: of the folder's owner, of this process, and of home folders that the run names."""
    found = set(re.findall(r"/(?:home|Users)/([\w.-]+)", json.dumps(about, ensure_ascii=False)))
    for name in (folder.owner, getpass.getuser):
        try:
            found.add(name())
        except (OSError, KeyError):
            continue  # a number without a name
    return {name for name in found if len(name) > 1} - _PLAIN


def _read_lines(folder: Path) -> Iterator[Any]:
    for name in ("records.jsonl", "values.jsonl", power.FILE):
        if (folder / name).is_file():
            with ordinary(folder / name) as file:
                yield from _parse(lines(file))


def _parse(texts: Iterable[bytes]) -> Iterator[Any]:
    """Yields the values of lines of JSON, without those that a killed process or a damage left behind."""
    for text in texts:
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(text)


def _read_json(path: Path) -> Any:
    with ordinary(path) as file:
        return json.loads(file.read())
