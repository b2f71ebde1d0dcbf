"""A sheet as a PDF of one page. Its fonts are those that every reader of PDF has; they are not embedded.

Source: ISO 32000-1:2008, Document management – Portable document format – Part 1: PDF 1.7.
"""

import zlib
from collections.abc import Iterator
from itertools import groupby

from steelyard.report.pictures.sheet import Clipped, Disc, Path, Shape, Sheet, Words, width_of

POINTS = 0.75  # of a CSS pixel
_FONTS = {"F": "Helvetica", "B": "Helvetica-Bold", "S": "Symbol", "Z": "ZapfDingbats"}
# What the Latin fonts lack: font and code.
_SIGNS = dict(zip("αβγδελμνπρστφωΔΣΩ", (("S", ord(c)) for c in "abgdelmnprstfwDSW"), strict=True)) | {
    "∞": ("S", 0xA5), "≤": ("S", 0xA3), "≥": ("S", 0xB3), "≈": ("S", 0xBB), "−": ("S", 0x2D), "→": ("S", 0xAE),
    "↓": ("S", 0xAF), "√": ("S", 0xD6), "▲": ("Z", 0x73), "●": ("Z", 0x6C), "◐": ("Z", 0x6D), "✕": ("Z", 0x36),
}  # fmt: skip
_ROUND = 0.5523  # of the radius: handles of the four curves that are closest to a circle


def write(sheet: Sheet) -> bytes:
    """The file's bytes."""
    clear: dict[float, str] = {}
    steps = [f"{POINTS} 0 0 {-POINTS} 0 {sheet.height * POINTS:.2f} cm 1 j 1 J"]
    for shape in sheet.shapes:
        steps += _shape(shape, clear)
    content = zlib.compress("\n".join(steps).encode("latin-1"), 9)
    fonts = " ".join(f"/{key} {number} 0 R" for number, key in enumerate(_FONTS, 6))
    states = " ".join(f"/{name} << /ca {opacity:g} >>" for opacity, name in clear.items())
    box = f"[0 0 {sheet.width * POINTS:.2f} {sheet.height * POINTS:.2f}]"
    title = "FEFF" + sheet.title.encode("utf-16-be").hex().upper()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R /Resources << /Font << {fonts} >> "
        f"/ExtGState << {states} >> >> >>".encode(),
        f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode() + content + b"\nendstream",
        f"<< /Title <{title}> /Producer (Steelyard) >>".encode(),
        *(_font(name) for name in _FONTS.values()),
    ]
    return _file(objects)


def _font(name: str) -> bytes:
    latin = " /Encoding /WinAnsiEncoding" if name.startswith("Helvetica") else ""
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name}{latin} >>".encode()


def _file(objects: list[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, item in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + item + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _shape(shape: Shape, clear: dict[float, str]) -> Iterator[str]:
    yield "q"
    if isinstance(shape, Clipped):
        left, top, right, bottom = shape.box
        yield f"{left:.2f} {top:.2f} {right - left:.2f} {bottom - top:.2f} re W n"
        for one in shape.shapes:
            yield from _shape(one, clear)
    elif isinstance(shape, Words):
        yield from _words(shape)
    else:
        if isinstance(shape, Path) and shape.opacity < 1:
            yield f"/{clear.setdefault(shape.opacity, f'G{len(clear)}')} gs"
        if shape.stroke:
            yield f"{_colour(shape.stroke)} RG {shape.width:g} w"
        if shape.fill:
            yield f"{_colour(shape.fill)} rg"
        yield from _outline(shape)
        yield {(True, True): "B", (True, False): "S", (False, True): "f"}.get(
            (bool(shape.stroke), bool(shape.fill)), "n"
        )
    yield "Q"


def _outline(shape: Path | Disc) -> Iterator[str]:
    if isinstance(shape, Disc):
        x, y, r, h = shape.x, shape.y, shape.radius, shape.radius * _ROUND
        yield f"{x + r:.2f} {y:.2f} m"
        for a, b, c, d, e, f in (
            (r, h, h, r, 0, r), (-h, r, -r, h, -r, 0), (-r, -h, -h, -r, 0, -r), (h, -r, r, -h, r, 0),
        ):  # fmt: skip
            yield f"{x + a:.2f} {y + b:.2f} {x + c:.2f} {y + d:.2f} {x + e:.2f} {y + f:.2f} c"
        return
    if shape.dash:
        yield f"[{' '.join(f'{d:g}' for d in shape.dash)}] 0 d 0 J"
    yield " ".join(f"{x:.2f} {y:.2f} {'l' if number else 'm'}" for number, (x, y) in enumerate(shape.points))
    if shape.closed:
        yield "h"


def _words(words: Words) -> Iterator[str]:
    from math import cos, radians, sin

    back = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor] * width_of(words.text, words.size)
    c, s = cos(radians(words.angle)), sin(radians(words.angle))
    x, y = words.x - back * c, words.y - back * s
    # The page's y points down here, and letters stand upright: hence the mirrored matrix.
    yield f"BT {_colour(words.colour)} rg {c:.5f} {s:.5f} {s:.5f} {-c:.5f} {x:.2f} {y:.2f} Tm"
    coded = (_code(character, "B" if words.bold else "F") for character in words.text)
    for font, run in groupby(coded, key=lambda one: one[0]):
        yield f"/{font} {words.size:g} Tf <{bytes(code for _, code in run).hex()}> Tj"
    yield "ET"


def _code(character: str, latin: str) -> tuple[str, int]:
    if character in _SIGNS:
        return _SIGNS[character]
    plain = " " if character.isspace() else character
    return latin, plain.encode("cp1252", errors="replace")[0]


def _colour(name: str) -> str:
    return " ".join(f"{int(name[at : at + 2], 16) / 255:.3f}" for at in (1, 3, 5))
