"""The tools whose outputs can be imported, from the declarations of their formats."""

import inspect

from sources.tables import table
from steelyard.importing.reading import find_formats


def listed() -> str:
    """Returns the table of all tools: the name for `--tool`, what the formats read, and the addresses of the tool."""
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for form in find_formats():
        about, _, addresses = inspect.cleandoc(form.about).partition("\n\n")
        texts.setdefault((form.tool, form.name), {})[" ".join(about.split())] = addresses.strip()
    rows = [
        (tool, f"`{name}`", " ".join(given), ", ".join(dict.fromkeys(given.values())))
        for (tool, name), given in texts.items()
    ]
    return table(("tool", "`--tool`", "what is read", "address"), rows)
