"""Figures as matplotlib draws them for files, and the texts that a reader sees in them."""

import json

from steelyard.show.report import pictures
from steelyard.show.report.axes import Json

MM = 1 / 25.4  # inches


def draw(
    plot: Json, width: float = 170, height: float | None = None, letters: float = 8, title: str = "", sides: int = 1
):
    """The figure with this width and height in millimetres, before it becomes a file."""
    pictures.load_matplotlib()
    import matplotlib

    from steelyard.show.report.pictures.drawing import draw as draw_figure
    from steelyard.show.report.pictures.looks import settings

    look = pictures.Look(width * MM, height and height * MM, letters)
    with matplotlib.rc_context(settings(letters)):
        return draw_figure(json.dumps(plot), look, "{}", title, sides)


def level_texts(figure):
    """The visible level texts, with the room that they take."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    hidden = set()  # ticks beyond the ends of their axes
    for axes in figure.axes:
        hidden |= {label for label in axes.get_xticklabels() if not _between(label.get_position()[0], axes.get_xlim())}
        hidden |= {label for label in axes.get_yticklabels() if not _between(label.get_position()[1], axes.get_ylim())}
    texts = [
        text for text in figure.findobj(Text) if text.get_text() and text.get_visible() and not text.get_rotation()
    ]
    return [(text.get_text(), Text.get_window_extent(text)) for text in texts if text not in hidden]


def _between(value: float, ends: tuple[float, float]) -> bool:
    return min(ends) <= value <= max(ends)
