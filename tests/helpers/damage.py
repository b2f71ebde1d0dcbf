"""Damages a run's folder in one place, as a disk, an editor or an enemy would; the same for the same seed."""

import copy
import json
import random
import re
import tarfile
from pathlib import Path
from typing import Any

from folders import DATA
from steelyard.measure import records
from steelyard.measure.records import power
from steelyard.model.plain import to_json
from steelyard.model.sensor import Reading, Sensor
from steelyard.statistics.validity.pace import UNBOUNDED
from steelyard.statistics.validity.verdict import judge_record

# Of a quick run one case or two of each benchmark, with few samples.
WHOLE = DATA / "small-run.tar.xz"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\b\u202e</script><script>alert(1)</script>{{7*7}}"
NESTED = "[" * 5000 + "]" * 5000
AT_ONCE = 6  # benchmarks in a damaged run


def unpack(folder: Path) -> Path:
    """A healthy run; its folder."""
    with tarfile.open(WHOLE) as kept:
        kept.extractall(folder)  # of our own making; Python 3.11.2 knows no filter yet
    return folder / "run"


def renewed(run: Path) -> Path:
    """The same run as it is written now, judged anew: its evidence has numbers."""
    kept = [judge_record(record, UNBOUNDED) for record in records.read(run).records]
    (run / "records.jsonl").write_bytes(b"".join(to_json(record) + b"\n" for record in kept))
    records.RunFolder(run).close()
    return run


def powered(run: Path) -> Path:
    """The same run as if two sensors had been read beside it: a counter of joules, and the board's power."""
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for line in lines:
        line["surroundings"]["ended"] = line["surroundings"]["began"] + LASTED
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    began = [round(line["surroundings"]["began"] * SECOND) for line in lines]
    first, last = min(began) - 4 * SECOND, max(began) + SECOND
    (run / power.FILE).unlink(missing_ok=True)
    file = power.PowerFile(run)
    file.describe((COUNTER, BOARD))
    file.idle(first, first + 3 * SECOND)
    for at in range(first, last, STEP):
        seconds = (at - first) / SECOND
        file.add([Reading(COUNTER.name, at, 40.0 * seconds % 1000.0), Reading(BOARD.name, at, 60.0 + seconds % 3)])
    file.close()
    return run


SECOND = 10**9
LASTED, STEP = 0.3, SECOND // 50  # seconds that each case took; ns between two readings
COUNTER = Sensor("rapl/package-0", "energy", "RAPL", resolution=1e-6, range=1000.0)
BOARD = Sensor("board", "power", "BMC", window=0.02, update=0.02, resolution=0.1, error=0.02)


class Damage:
    """One of the many ways in which a run can be damaged."""

    def __init__(self, run: Path) -> None:
        file = run / power.FILE
        self._power = file.read_bytes().split(b"\n")[:-1] if file.is_file() else []
        self._about = json.loads((run / "run.json").read_text())
        self._lines = (run / "records.jsonl").read_bytes().split(b"\n")[:-1]
        self._benchmarks = [json.loads(line)["benchmark"] for line in self._lines]

    def make(self, seed: int, run: Path) -> str:
        """Writes the run with the damage of that seed; says what it is."""
        chance = random.Random(seed)
        about, lines = copy.deepcopy(self._about), self._some(chance)
        if chance.random() < 0.3:
            said = "run.json: " + self._spoil(about, chance)
            text = _written(about)
            if chance.random() < 0.1:
                said, text = "run.json: torn", text[: chance.randrange(len(text))]
        else:
            text, said = _written(about), ""
            for at in {chance.randrange(len(lines)) for _ in range(chance.choice((1, 1, 3)))}:
                said += f"record {at}: " + self._line(lines, at, chance) + "; "
        (run / "run.json").write_bytes(text)
        (run / "records.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        return said

    def of_power(self, seed: int, run: Path) -> str:
        """Writes the run whole but for the damage of that seed in the readings of its sensors; says what it is."""
        chance = random.Random(seed)
        lines, said = list(self._power), ""
        # The first lines say what the sensors are, and when the machine was idle: as often as all readings together.
        count = chance.choice((1, 1, 3))
        for at in {
            chance.randrange(2) if chance.random() < 0.5 else chance.randrange(len(lines)) for _ in range(count)
        }:
            said += f"line {at + 1} of {power.FILE}: " + self._line(lines, at, chance) + "; "
        text = b"\n".join(lines) + b"\n"
        if chance.random() < 0.1:
            text, said = text[: chance.randrange(len(text))], said + "torn"
        (run / "run.json").write_bytes(_written(self._about))
        (run / "records.jsonl").write_bytes(b"\n".join(self._some(chance)) + b"\n")
        (run / power.FILE).write_bytes(text)
        return said

    def _some(self, chance: random.Random) -> list[bytes]:
        """The records of a few benchmarks, each time others: the whole run takes several times as long to read and show."""
        known = sorted(set(self._benchmarks))
        chosen = set(chance.sample(known, AT_ONCE))
        return [line for line, name in zip(self._lines, self._benchmarks, strict=True) if name in chosen]

    def _line(self, lines: list[bytes], at: int, chance: random.Random) -> str:
        if chance.random() < 0.05:
            spoilt = bytearray(lines[at])
            for _ in range(3):
                spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
            lines[at] = bytes(spoilt)
            return "bytes"
        if chance.random() < 0.03:
            lines[at] = NESTED.encode()
            return "nested"
        record = json.loads(lines[at])
        said = self._spoil(record, chance)
        lines[at] = _written(record)
        return said

    def _spoil(self, tree: Any, chance: random.Random) -> str:
        """Replaces or takes away something anywhere in the tree: each level as often as any other."""
        path = ""
        while True:
            keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
            key = chance.choice(keys)
            path += f".{key}"
            inner = tree[key]
            if isinstance(inner, dict | list) and inner and chance.random() < 0.7:
                tree = inner
                continue
            value = chance.choice(_values(inner, chance))
            if value is DELETED:
                del tree[key]
                return f"{path} taken away"
            tree[key] = value
            return f"{path} = {str(value)[:40]!r}"


WORDS = (
    "",
    "nan",
    "-inf",
    "1e400",
    "-1",
    "0",
    "9" * 5000,
    "true",
    '"\\u001b[2J"',
    '"\x07"',
    NESTED,
    "[[]]",
    "{a = {}}",
    "=",
    '"',
    "1979-05-27",
)


def spoilt(text: str, seed: int) -> bytes:
    """A file of lines (TOML, CSV) with something else in the place of a word, or of a few bytes, or without its end."""
    chance = random.Random(seed)
    if chance.random() < 0.2:
        content = bytearray(text.encode())
        for _ in range(3):
            content[chance.randrange(len(content))] = chance.randrange(256)
        return bytes(content[: chance.randrange(len(content))] if chance.random() < 0.3 else content)
    lines = text.splitlines()
    at = chance.choice([number for number, line in enumerate(lines) if line and not line.startswith("#")])
    words = re.split("([=,;])", lines[at])
    words[chance.randrange(len(words))] = chance.choice(WORDS)
    return "\n".join([*lines[:at], "".join(words), *lines[at + 1 :]]).encode()


DELETED = object()


def _values(old: Any, chance: random.Random) -> list[Any]:
    """What may stand there instead: things of other types, and of the same type what nobody would write."""
    values: list[Any] = [None, True, "", "text", ESCAPES, [], {}, [1, [2]], {"a": {"b": None}}, DELETED]
    values += [0, -1, 1, 3, 2**31, 2**63, -(2**63), 10**400, 1e308, -1e308, 1e-308, 0.5]
    if isinstance(old, list) and old:
        values += [old * 2, old[:-1], [*old[:-1], None], [old], list(reversed(old))] * 2
    if isinstance(old, int | float) and not isinstance(old, bool):
        values += [old * 1e6, -old, old + 1, old * chance.random()] * 3
    return values


def _written(tree: Any) -> bytes:
    return json.dumps(tree).encode()
