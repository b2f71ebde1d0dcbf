"""The report's figures as files for papers and slides: matplotlib draws them from the same JSON as the page."""

import contextlib
import importlib.util
import io
import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.model.units import parse_length
from steelyard.system import user_cache
from steelyard.system.installation import install_extra

FORMATS = ("svg", "pdf", "png")
_LEAST, _MOST = 1.0, 1000 / 25.4  # inches


# Width, and whether the letters are like Times: the columns of IEEE's and ACM's proceedings, and a page.
STYLES = {"plain": ("170mm", False), "ieee": ("3.5in", True), "acm": ("3.33in", True)}
LETTERS = 8.0


@dataclass(frozen=True)
class Look:
    """The width and the height of a figure in inches (None: by its content), and the size of its letters in points.

    `serif`: the letters are like Times.
    """

    width: float
    height: float | None
    letters: float
    serif: bool = False


def read_look(style: str, width: str | None, height: str | None, letters: float | None) -> Look:
    """Returns the look of a style with lengths such as '85mm'. UsageError for what is no length, or beyond the limits."""
    if style not in STYLES:
        raise UsageError(f"There is no style '{style}' (given by --style). {nearest(style, STYLES)}")
    of_style, serif = STYLES[style]
    across = _read_length(width or of_style, "--width")
    return Look(across, _read_length(height, "--height") if height else None, letters or LETTERS, serif)


def expect_format(form: str) -> None:
    """Raises UsageError for an unknown format of figures."""
    if form not in FORMATS:
        raise UsageError(f"There is no format '{form}' for figures. {nearest(form, FORMATS)}")


def _read_length(text: str, option: str) -> float:
    try:
        inches = parse_length(text) / 0.0254
    except ValueError as error:
        raise UsageError(f"{error} (given by {option}).") from None
    if not _LEAST <= inches <= _MOST:
        raise UsageError(
            f"'{text}' (given by {option}) is not the size of a figure. Use a length from 25.4mm to 1000mm."
        )
    return inches


def picture(plot: str, title: str, form: str, look: Look, records: str = "{}", sides: int = 1) -> bytes:
    """Returns the file of the figure whose JSON is `plot`. `records`: JSON of what figures with a mark a record share.

    With several `sides`, the title stands above the figure, and not only in the file's metadata. MachineFailed without
    matplotlib.
    """
    load_matplotlib()
    import matplotlib

    from steelyard.show.report.pictures.drawing import draw
    from steelyard.show.report.pictures.looks import settings

    about = {"Title": title} | {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    content = io.BytesIO()
    with matplotlib.rc_context(settings(look.letters, look.serif)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        drawn = draw(plot, look, records, title, sides)
        drawn.savefig(content, format=form, metadata=about, dpi=300 if form == "png" else 72)
    return content.getvalue()


@cache
def load_matplotlib() -> None:
    """Imports matplotlib in the folder of its own settings. MachineFailed if it is not installed.

    Elsewhere it would read settings in the current folder, and start a program that a relative entry of PATH names.
    """
    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise MachineFailed(
            "Figures as files need the Python package matplotlib (the extra 'figures'), which is not installed. "
            f"Do: {install_extra('figures')}"
        )
    os.environ.setdefault("MPLCONFIGDIR", str(user_cache.inside("matplotlib")))  # its list of fonts
    with contextlib.chdir(Path(spec.origin).parent / "mpl-data"):
        import matplotlib.font_manager  # noqa: F401
