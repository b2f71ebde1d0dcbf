"""The lines, stretches and names that a picture has beside its values; no name stands upon another."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.report.pictures import marks
from steelyard.report.pictures.scales import Json, Scale
from steelyard.report.pictures.sheet import Box, Path, Shape, Sheet, Words, lines_of, rectangle, width_of

SIZE = 11.0
STEP = 13.0  # pixels by which a name gives way
_NEAR = 14  # such steps at most


def stacked(notes: Sequence[Json], across: Scale) -> list[tuple[Json, Words]]:
    """The names of marks above a plot, in as many rows as keep them apart; their y counts upwards from the plot's edge."""
    ends: list[float] = []
    found = []
    for note in sorted(notes, key=lambda note: note["x"]):
        label, at = lines_of(note["text"])[0], across.at(note["x"])
        wide = width_of(label, SIZE) + 6
        left = min(max(at - wide / 2, across.start - 20), across.end + 8 - wide)
        row = next((number for number, end in enumerate(ends) if end < left), len(ends))
        ends[row:] = [left + wide]
        found.append((note, Words(left + 3, 15.0 * row, label, SIZE, colour=marks.NOTE)))
    return found


@dataclass
class Labels:
    """What stands beside the values of one picture, and the boxes that its names take."""

    out: Sheet
    box: Box
    across: Scale
    rows: Mapping[str, Scale]
    taken: list[Box] = field(default_factory=list)

    def under(self, layout: Json) -> None:
        """Stretches and lines, which lie below the values."""
        for shape in layout.get("shapes", ()):
            if shape.get("name") != "outline":
                self.out.shapes.extend(self._shape(shape))

    def over(self, layout: Json) -> None:
        """Frames around cells, and all names."""
        for shape in layout.get("shapes", ()):
            if shape.get("name") == "outline":
                self.out.shapes.extend(self._shape(shape))
        notes = list(layout.get("annotations", ()))
        for _, words in stacked([note for note in notes if note.get("name") == "above"], self.across):
            self._set(Words(words.x, self.box[1] - 5 - words.y, words.text, SIZE, colour=marks.NOTE))
        for note in notes:
            if note.get("name") != "above":
                self._note(note)

    def _shape(self, shape: Json) -> Iterator[Shape]:
        left, top, right, bottom = self.box
        down = self.rows[f"yaxis{str(shape.get('yref', 'y'))[1:]}"] if shape.get("yref") != "paper" else None
        xs = (left, right) if shape.get("xref") == "paper" else [self.across.place(shape[k]) for k in ("x0", "x1")]
        ys = [down.place(shape[k]) for k in ("y0", "y1")] if down else (bottom, top)
        if None in (*xs, *ys):
            return
        a, b, c, d = (float(v) for v in (xs[0], ys[0], xs[1], ys[1]))  # type: ignore[arg-type]
        if shape["type"] == "rect":
            frame = shape.get("name") == "outline"
            corners = (max(min(a, c), left), min(b, d), min(max(a, c), right), max(b, d))
            yield (
                rectangle(corners, stroke="#d55e00", width=2.5)
                if frame
                else rectangle(corners, fill="#808080", opacity=0.18)
            )
        elif left - 1 <= a <= right + 1 and top - 1 <= b <= bottom + 1:
            yield Path(((a, b), (c, d)), marks.NOTE, 1.2, marks.DASHES.get(shape["line"].get("dash", ""), ()))

    def _note(self, note: Json) -> None:
        left, _, right, bottom = self.box
        label, name = " ".join(lines_of(note["text"])), note.get("name", "")
        axis = str(note.get("yref", "y")).removesuffix(" domain")
        down = self.rows.get(f"yaxis{axis[1:]}", next(iter(self.rows.values())))
        if name == "panel":
            self._set(Words(left, min(down.start, down.end) - 5, label, SIZE + 1, colour=marks.INK, bold=True))
        elif name == "limit":
            label = _shortened(label, right - left - 12)
            self._set(Words(right - 4, down.at(note["y"]) - 4, label, SIZE, "end", colour=marks.NOTE))
        elif name == "slope":
            rise = math.degrees(math.atan2(down.at(0) - down.at(1), self.across.at(1) - self.across.at(0)))
            x, y = self.across.at(note["x"]), down.at(note["y"])
            turn = math.radians(rise)
            self.out.shapes.append(
                Words(x - 6 * math.sin(turn), y - 6 * math.cos(turn), label, SIZE, "start", -rise, marks.NOTE)
            )
        elif name == "roof":
            self._set(
                Words(self.across.at(note["x"]) - 4, down.at(note["y"]) - 4, label, SIZE, "end", colour=marks.NOTE)
            )
        elif note.get("textangle") == -90:
            self.out.shapes.append(
                Words(self.across.at(note["x"]) + 4, bottom - 6, label, SIZE, "start", -90.0, marks.NOTE)
            )
        elif note.get("showarrow"):
            self._pointed(note, label, down)

    def _pointed(self, note: Json, label: str, down: Scale) -> None:
        x = self.across.place(note["x"]) if isinstance(note["x"], str) else self.across.at(note["x"])
        y = down.place(note["y"]) if isinstance(note["y"], str) else down.at(note["y"])
        if x is None or y is None:
            return
        placed = self._set(Words(x + note["ax"], y + note["ay"], label, SIZE, colour=marks.INK, bold=True))
        self.out.shapes.insert(-1, Path(((x, y), (placed.x - 2, placed.y - 4)), marks.SOFT, 1))

    def _set(self, words: Words) -> Words:
        """Draws the words where they are wanted, or, where others are, as near above or below as there is room."""
        wide = width_of(words.text, words.size)
        x = {"start": words.x, "end": words.x - wide}.get(words.anchor, words.x - wide / 2)
        x = min(max(x, 2.0), max(2.0, self.out.width - 2 - wide))
        away = sorted(range(-_NEAR, _NEAR + 1), key=lambda step: (abs(step), step))
        boxes = ((x, words.y + STEP * s - words.size, x + wide, words.y + STEP * s + 3) for s in away)
        inside = [box for box in boxes if box[1] >= 0 and box[3] <= self.box[3]]
        free = [box for box in inside if not any(_touch(box, other) for other in self.taken)]
        chosen = (*free, (x, words.y - words.size, x + wide, words.y + 3))[0]
        self.taken.append(chosen)
        placed = Words(x, chosen[3] - 3, words.text, words.size, "start", 0.0, words.colour, words.bold)
        self.out.shapes += [rectangle(chosen, fill="#ffffff", opacity=0.75), placed]
        return placed


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _shortened(text: str, room: float) -> str:
    """The text, with … where it is wider than the room."""
    while width_of(text, SIZE) > room and " " in text:
        text = text.removesuffix(" …").rpartition(" ")[0] + " …"
    return text
