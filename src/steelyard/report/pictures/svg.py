"""A sheet as an SVG file: text stays text, and nothing is loaded."""

from html import escape

from steelyard.report.pictures.sheet import Clipped, Disc, Path, Shape, Sheet, Words

FONTS = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def write(sheet: Sheet) -> bytes:
    """The file's bytes."""
    size = f'width="{sheet.width:g}" height="{sheet.height:g}" viewBox="0 0 {sheet.width:g} {sheet.height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" role="img">'
    clips: list[str] = []
    body = [_shape(shape, clips) for shape in sheet.shapes]
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(sheet.title)}</title>", *clips, paper, *body, "</svg>", ""]).encode()


def _shape(shape: Shape, clips: list[str]) -> str:
    if isinstance(shape, Clipped):
        left, top, right, bottom = shape.box
        name = f"clip{len(clips) + 1}"
        box = f'x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}"'
        clips.append(f'<clipPath id="{name}"><rect {box}/></clipPath>')
        return f'<g clip-path="url(#{name})">' + "".join(_shape(one, clips) for one in shape.shapes) + "</g>"
    if isinstance(shape, Words):
        turn = f' transform="rotate({shape.angle:.2f} {shape.x:.2f} {shape.y:.2f})"' if shape.angle else ""
        bold = ' font-weight="bold"' if shape.bold else ""
        place = f'x="{shape.x:.2f}" y="{shape.y:.2f}" font-size="{shape.size:g}" text-anchor="{shape.anchor}"'
        return f'<text {place} fill="{shape.colour}"{bold}{turn}>{escape(shape.text)}</text>'
    if isinstance(shape, Disc):
        return f'<circle cx="{shape.x:.2f}" cy="{shape.y:.2f}" r="{shape.radius:.2f}"{_style(shape)}/>'
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
    dash = f' stroke-dasharray="{" ".join(f"{d:g}" for d in shape.dash)}"' if shape.dash else ""
    clear = f' fill-opacity="{shape.opacity:g}"' if shape.opacity < 1 else ""
    return f'<{"polygon" if shape.closed else "polyline"} points="{points}"{_style(shape)}{dash}{clear}/>'


def _style(shape: Path | Disc) -> str:
    stroke = f' stroke="{shape.stroke}" stroke-width="{shape.width:g}"' if shape.stroke else ""
    return f' fill="{shape.fill or "none"}"{stroke}'
