"""A scenario: the conditions under which a trace is replayed. A file (TOML) and the values of --set state it.

`SCHEMA` holds every key with its reader. The values are read where they stand, so that an error names the file, the line and
the key, or the option.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError, nearest
from steelyard.model.plain import from_json
from steelyard.model.settings_file import Place, SettingsFile, read_settings
from steelyard.system.files import settings_in
from steelyard.whatif import tree, wording
from steelyard.whatif.network import LETTERS, NETWORK
from steelyard.whatif.perturbation import LOSS, NOISE
from steelyard.whatif.speeds import CORE, format_span, parse_span
from steelyard.whatif.wording import Key, Named

REPEATS = 64  # draws of each point: the interval of the mean is then a quarter of the draws' spread
COLLECTIVES = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan",
)  # fmt: skip
PLACES = {"cache": wording.COUNT, "socket": wording.COUNT}
# The conditions of a replay. Lists of values make a sweep, whose last key is the fastest.
CONDITIONS: dict[str, Any] = {
    "network": NETWORK,
    "tree": tree.TREE,
    "loss": LOSS,
    "noise": NOISE,
    "core": CORE,
    "affected": wording.SHARE,
    "ranks_per_node": wording.COUNT,
    "places": PLACES,
}
# One value of each holds for the whole file.
WHOLE = {
    "mode": Key(wording.one_of("dataflow", "event"), is_list=False),
    "flops": Key(wording.parse_factor, is_list=False),
    "repeats": Key(wording.make_whole_reader(1, 1 << 20), is_list=False),
    "seed": Key(wording.make_whole_reader(0, (1 << 63) - 1), is_list=False),
    "iterations": Key(wording.one_of(*COLLECTIVES), is_list=False),
    "region": Key(parse_span, format_span, is_list=False),
    "waits": Key(wording.one_of("kept", "removed"), is_list=False),
}
DEFAULTS: dict[str, Any] = {"mode": "dataflow", "flops": 1e9, "repeats": REPEATS, "seed": 1, "waits": "kept"}
SCHEMA = WHOLE | CONDITIONS | {"scenario": Named(str, CONDITIONS)}
# The key that --set TABLE=VALUE means where the value has no name.
UNNAMED = {"network": "run", "tree": "name", "noise": "recording"}
SWEEP = "A sweep has colons between its values, such as 1:2."

Table = dict[str, Any]  # lists of values, and further tables
Mistake = Callable[[Place, str], UsageError]  # makes an error that names where a key stands


@dataclass(frozen=True)
class Scenario:
    """The single values of a scenario, and the conditions of each of its sections by title ("": the only one)."""

    whole: Mapping[str, Any]
    sections: Mapping[str, Table]
    file: SettingsFile | None
    changed: frozenset[Place]

    def mistake(self, title: str, place: Place, sentence: str) -> UsageError:
        """Makes an error for values that contradict each other; `place` is within a section."""
        if self.file is None or any(path[: len(place)] == place for path in self.changed):
            return _make_mistake(place, sentence)
        section = self.file.content.get("scenario", {}).get(title, {})
        return self.file.mistake(("scenario", title, *place) if place[0] in section else place, sentence)


def load_scenario(path: Path) -> SettingsFile:
    """Reads a scenario file: TOML, or the JSON that `--json` prints. UsageError if it cannot be read."""
    if path.suffix != ".json":
        return read_settings(path, "The scenario")
    try:
        content = from_json(settings_in(path).encode())
    except (OSError, ValueError) as problem:
        raise UsageError(f"The scenario '{path}' cannot be read as JSON: {problem}.") from None
    return SettingsFile(path, content, "")


def read_scenario(file: SettingsFile | None, settings: Sequence[str]) -> Scenario:
    """Reads a scenario; `settings` ("loss.rto=5ms") replace values in all sections. UsageError for the first mistake."""
    given = _read(SCHEMA, file.content, (), file.mistake) if file else {}
    changes = list(_list_changes(settings))
    sections = {
        title: _apply_changes(_merge(given, section), changes)
        for title, section in (given.pop("scenario", None) or {"": {}}).items()
    }
    first = next(iter(sections.values()))
    whole = DEFAULTS | {name: first[name][0] for name in WHOLE if name in first}
    return Scenario(whole, sections, file, frozenset(path for path, _ in changes))


def read_tree(name: str, mistake: Mistake) -> Table:
    """Returns the table of a tree that a name or a path means."""
    try:
        path = tree.find_tree(name)
    except ValueError as error:
        raise mistake(("tree", "name"), str(error)) from None
    file = read_settings(path, "The tree")
    table: Table = _read(
        {key: reader for key, reader in tree.TREE.items() if key != "name"}, file.content, (), file.mistake
    )
    return table


def list_setting_names() -> Iterator[str]:
    """Yields each NAME= of --set, for completion."""
    for name, schema in (WHOLE | CONDITIONS).items():
        yield f"{name}="
        if isinstance(schema, dict):
            yield from (f"{name}.{key}{'.' if isinstance(inner, Named) else '='}" for key, inner in schema.items())


def _read(schema: Any, given: Any, place: Place, mistake: Mistake) -> Any:
    """Reads a value with the reader of its key: a list of values, or a table of these."""
    if isinstance(schema, Key):
        return _read_values(schema, given, place, mistake)
    if not isinstance(given, dict):
        keys = "" if isinstance(schema, Named) else f" with the keys {', '.join(schema)}"
        raise mistake(place, f"expected a table{keys}.")
    table: Table = {}
    for word, value in given.items():
        name, inner = _find_key(schema, word, place, mistake)
        if name in table:
            raise mistake((*place, word), f"'{name}' is given twice.")
        table[name] = _read(inner, value, (*place, word), mistake)
    return table


def _find_key(schema: Any, word: str, place: Place, mistake: Mistake) -> tuple[Any, Any]:
    """Returns the name of a key in its table, and the schema of its value."""
    if isinstance(schema, Named):
        try:
            return schema.read(word), schema.item
        except ValueError as error:
            raise mistake((*place, word), f"{error}.") from None
    names = {letter: name for name, letter in LETTERS.items()}
    name = word if word in schema else names.get(word, word)
    if name not in schema:
        raise mistake((*place, word), f"there is no such key. {nearest(word, schema)}")
    return name, schema[name]


def _read_values(key: Key, given: Any, place: Place, mistake: Mistake) -> list[Any]:
    items = (
        given if isinstance(given, list) else given.split(":") if isinstance(given, str) and key.is_list else [given]
    )
    if not items or (len(items) > 1 and not key.is_list):
        raise mistake(place, "expected one value, not a list." if items else "the list is empty.")
    values = []
    for item in items:
        if not isinstance(item, str | bool | int | float):
            raise mistake(place, "expected a text, a number, true or false, or a list of these.")
        text = ("on" if item else "off") if isinstance(item, bool) else str(item).strip()
        try:
            values.append(key.read(text))
        except ValueError as error:
            raise mistake(place, f"{error}.") from None
    return values


def _list_changes(settings: Sequence[str]) -> Iterator[tuple[Place, Any]]:
    """Yields the key and the value of each --set, tables before single values."""
    changes: dict[Place, Any] = {}
    for setting in settings:
        left, equals, text = setting.partition("=")
        words = tuple(word.strip() for word in left.split("."))
        if not equals or not text.strip():
            raise UsageError(f"--set '{setting}' has no value. Write NAME=VALUE, such as loss.probability=0.1%:1%.")
        path: Place = ()
        schema: Any = WHOLE | CONDITIONS
        for number, word in enumerate(words):
            if isinstance(schema, Key):
                raise _make_mistake(words, f"there is no such key. Did you mean '{'.'.join(words[:number])}'?")
            name, schema = _find_key(schema, word, words[:number], _make_mistake)
            path = (*path, name)
        given = text if isinstance(schema, Key) else _read_named_values(words, schema, text)
        if path in changes:
            raise _make_mistake(words, f"the key is given twice. {SWEEP}")
        changes[path] = _read(schema, given, words, _make_mistake)
    yield from sorted(changes.items(), key=lambda change: len(change[0]))


def _read_named_values(place: tuple[str, ...], schema: Any, text: str) -> Table:
    """Returns the table that a text with commas means: 'latency=2us,gap=1us', or '1.1,2@rank=3' of cores."""
    if "=" not in text and place[-1] in UNNAMED:
        return {UNNAMED[place[-1]]: text}
    table: Table = {}
    for word in text.split(","):
        if place == ("core",):
            value, _, where = word.partition("@")
            names = [name.strip() for name in where.split("=", 1)] if "@" in word else ["all"]
        else:
            name, equals, value = word.partition("=")
            names = [name.strip()]
            if not equals:
                allowed = "" if isinstance(schema, Named) else f" The names are: {', '.join(schema)}."
                raise _make_mistake(place, f"'{word}' is not of the form name=value.{allowed}")
        inner = table
        for name in names[:-1]:
            inner = inner.setdefault(name, {})
        if not isinstance(inner, dict) or names[-1] in inner:
            raise _make_mistake(place, f"'{'='.join(names)}' is given twice. {SWEEP}")
        inner[names[-1]] = value
    return table


def _make_mistake(place: Place, sentence: str) -> UsageError:
    return UsageError(f"--set {'.'.join(map(str, place))}: {sentence}")


def _merge(table: Table, over: Mapping[str, Any]) -> Table:
    return table | {
        name: _merge(table.get(name, {}), value) if isinstance(value, dict) else value for name, value in over.items()
    }


def _apply_changes(table: Table, changes: Sequence[tuple[Place, Any]]) -> Table:
    def put(table: Table, path: tuple[Any, ...], value: Any) -> Table:
        first, *rest = path
        return table | {first: put(table.get(first, {}), tuple(rest), value) if rest else value}

    for path, value in changes:
        table = put(table, path, value)
    return table
