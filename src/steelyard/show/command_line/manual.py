"""The pages of the manual, which an installed package has in its folder `docs`, and a clone beside `src`."""

from pathlib import Path

import steelyard

NOT_SHOWN = ("index",)


def list_pages() -> dict[str, Path]:
    """Returns the pages by name, those of the manual before those of the benchmarks; empty if they were not installed."""
    house = Path(steelyard.__file__).parent
    folder = next((docs for docs in (house / "docs", house.parents[1] / "docs") if docs.is_dir()), house)
    found = [*sorted(folder.glob("*.md")), *sorted((folder / "benchmarks").glob("*.md"))]
    return {path.stem: path for path in found if path.stem not in NOT_SHOWN}


def name_page(words: str) -> str:
    """Returns the name of a page that may be given as a path, such as "docs/import.md"."""
    return words.removeprefix("docs/").removeprefix("benchmarks/").removesuffix(".md")


def read_title(path: Path) -> str:
    """Returns the heading of a page."""
    with path.open(encoding="utf-8") as file:
        return next((line.lstrip("# ").strip() for line in file if line.startswith("# ")), "")
