"""`steelyard figure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.show.command_line.completion import complete_side
from steelyard.show.command_line.options import Baseline, Groups, Json, Paths, Runs, output_option

if TYPE_CHECKING:
    from steelyard.show.report.figure_files import Figures
    from steelyard.show.report.pictures import Look

PLACE = 75


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Name of the figure, such as triad-threads (default: list all).", show_default=False
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIDE]...",
            autocompletion=complete_side,
            help="Runs, or published systems, that it shows (default: the newest run).",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .svg, .pdf or .png (default: NAME.pdf); with --all a folder.",
        ),
    ] = None,
    list_: Annotated[bool, output_option("--list", help="List the figures of the sides; no NAME is given.")] = False,
    all_: Annotated[
        bool, output_option("--all", help="Write all figures into the folder --output; no NAME is given.")
    ] = False,
    form: Annotated[
        str, output_option("--format", metavar="FORMAT", help="Format with --all: svg, pdf or png.")
    ] = "pdf",
    style: Annotated[
        str,
        output_option(
            "--style",
            metavar="STYLE",
            help="Width and font: plain (170 mm), or ieee or acm (one column of their papers, a font like Times).",
        ),
    ] = "plain",
    width: Annotated[
        str | None,
        output_option(
            "--width", metavar="LENGTH", help="Width, such as 85mm, 8.5cm, 3.3in or 240pt (default: that of the style)."
        ),
    ] = None,
    height: Annotated[
        str | None,
        output_option(
            "--height",
            metavar="LENGTH",
            help="Height, such as 60mm (default: by content). A long legend adds to it.",
        ),
    ] = None,
    letters: Annotated[
        float | None,
        output_option(
            "--font-size", metavar="POINTS", min=3, max=48, help="Size of the letters, such as 7 (default: 8)."
        ),
    ] = None,
    groups: Groups = None,
    baseline: Baseline = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    latex: Annotated[bool, output_option("--latex", help="Print the caption for LaTeX, with its escapes.")] = False,
    json_: Json = False,
) -> None:
    """Write one figure of the report as a vector file with its fonts, and print its caption. Without a name, list the figures.

    The caption states the machine, the number of launches, the kind of interval, and the run with its digest.

    Examples: **steelyard figure** (lists the names) · **steelyard figure triad-threads -o triad.pdf --width 85mm** ·
    **steelyard figure triad-threads node17 node3 --style ieee** · **steelyard figure --all node17 -o plots --format svg**
    """
    from steelyard.errors import UsageError, one_line
    from steelyard.model.words import plural
    from steelyard.show.command_line import report_sides
    from steelyard.show.report import figure_files, pictures
    from steelyard.system import files

    if list_ and (output or all_):
        raise UsageError("--list writes no file. Leave out --output and --all.")
    if all_ and not output:
        raise UsageError("--all needs a folder for the figures. Give it with --output FOLDER.")
    file = (output or Path(f"{name}.pdf")) if name and not (list_ or all_) else None
    chosen = [*(names or [])] if file or not name else [name, *(names or [])]
    look = pictures.read_look(style, width, height, letters)
    if file:
        pictures.expect_format(file.suffix.removeprefix("."))
        files.expect_output(file, figure_files.WHAT)
    evaluation, sides = report_sides.read_report(chosen, groups or [], baseline, runs, paths or [], [], [])
    figures = figure_files.collect(evaluation, sides)
    if file and name:
        _write(figures, name, file, look, latex, json_)
    elif all_ and output:
        done = figure_files.write(figures, output, form, look)
        print(f"{plural(len(done), 'figure')}: {one_line(str(output))}")
    else:
        _list(figures, json_)


def _write(figures: "Figures", name: str, file: Path, look: "Look", latex: bool, json_: bool) -> None:
    from steelyard.errors import one_line
    from steelyard.show.report import figure_files
    from steelyard.show.report.json_output import print_json
    from steelyard.show.report.latex_letters import escaped

    one = figures.find(name)
    content = figures.draw(one, file.suffix.removeprefix("."), look)
    if not content:
        raise typer.Exit(4)  # a warning has said why
    written, caption = str(figure_files.write_figure(file, content)), figures.describe(one)
    caption = escaped(caption) if latex else caption
    if json_:
        print_json({"figure": name, "title": one.figure.title, "file": written, "caption": caption})
    else:
        print(f"{one_line(written)}\n{caption}")


def _list(figures: "Figures", json_: bool) -> None:
    from steelyard.show.report.json_output import print_json

    if json_:
        print_json([{"figure": name, "title": one.figure.title} for name, one in figures.plotted.items()])
        return
    longest = max(map(len, figures.plotted), default=0)
    for name, one in figures.plotted.items():
        print(f"{name:{longest}}  {one.figure.title}")
