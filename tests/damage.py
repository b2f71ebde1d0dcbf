"""Damages a run's folder in one place, as a disk, an editor or an enemy would; the same for the same seed."""

import copy
import json
import random
import tarfile
from pathlib import Path
from typing import Any

from steelyard import records
from steelyard.model.plain import to_json
from steelyard.statistics.pace import UNBOUNDED
from steelyard.statistics.verdict import with_verdict

# Of a quick run one case or two of each benchmark, with few samples.
WHOLE = Path(__file__).parent / "data" / "small-run.tar.xz"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\b\u202e</script><script>alert(1)</script>{{7*7}}"
NESTED = "[" * 5000 + "]" * 5000


def unpack(folder: Path) -> Path:
    """A healthy run; its folder."""
    with tarfile.open(WHOLE) as kept:
        kept.extractall(folder)  # of our own making; Python 3.11.2 knows no filter yet
    return folder / "run"


def renewed(run: Path) -> Path:
    """The same run as it is written now, judged anew: its evidence has numbers."""
    kept = [with_verdict(record, UNBOUNDED) for record in records.read(run).records]
    (run / "records.jsonl").write_bytes(b"".join(to_json(record) + b"\n" for record in kept))
    records.RunFolder(run).close()
    return run


class Damage:
    """One of the many ways in which a run can be damaged."""

    def __init__(self, run: Path) -> None:
        self._about = json.loads((run / "run.json").read_text())
        self._lines = (run / "records.jsonl").read_bytes().split(b"\n")[:-1]

    def make(self, seed: int, run: Path) -> str:
        """Writes the run with the damage of that seed; says what it is."""
        chance = random.Random(seed)
        about, lines = copy.deepcopy(self._about), list(self._lines)
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
