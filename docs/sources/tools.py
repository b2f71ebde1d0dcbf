"""The tools whose outputs can be imported, from the declarations of their formats."""

import inspect
from itertools import groupby

from sources.tables import table
from steelyard.importing.reading import find_formats, short_name


def listed() -> str:
    """Returns the table of all tools: the name for `--tool`, what the formats read, and the addresses of the tool."""
    rows = []
    for tool, modules in groupby(find_formats(), key=lambda module: str(module.TOOL)):
        members = [(short_name(m), *inspect.cleandoc(m.__doc__ or "").partition("\n\n")) for m in modules]
        sentences = [" ".join(text.split()) for _, text, _, _ in members]
        versions = f"{sentences[0].partition(': ')[0]}: "  # stand once if they are those of all formats
        about = " ".join([sentences[0], *(_without(versions, text) for text in sentences[1:])])
        addresses = dict.fromkeys(word.rstrip(",") for *_, text in members for word in text.split())
        rows.append((tool, f"`{members[0][0]}`", about, ", ".join(addresses)))
    return table(("tool", "`--tool`", "what is read", "address"), rows)


def _without(versions: str, text: str) -> str:
    """Returns the text without the versions at its begin, as a sentence."""
    rest = text.removeprefix(versions)
    return text if rest == text else rest[:1].upper() + rest[1:]
