"""Sentences on the terminal and on pages."""

from collections.abc import Iterable, Iterator

from rich.console import Console

from steelyard.show.report.lines import cut, fold, safe

MOST = 2  # lines of a sentence on a short screen


def name_figure(title: str, conditions: str) -> str:
    """Returns "Triad bandwidth (2 threads)"."""
    return f"{title} ({conditions})" if conditions else title


def print_sentences(on: Console, sentences: Iterable[str], whole: bool) -> None:
    """Prints each sentence in lines that keep the blanks at its beginning; `whole`: as many lines as it needs."""
    for sentence in sentences:
        blanks = " " * (len(sentence) - len(sentence.lstrip()))
        room = on.width - len(blanks)
        lines = fold(sentence, room) if whole else cut(sentence, room, MOST)
        for number, line in enumerate(lines):
            on.print(safe(f"{blanks}{'  ' * bool(number and blanks)}{line}"), highlight=False, soft_wrap=True)


def nest(sentences: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each sentence with the indented ones behind it, for a page."""
    head, parts = "", list[str]()
    for sentence in sentences:
        if sentence.startswith(" "):
            parts.append(sentence.strip())
            continue
        if head:
            yield head, tuple(parts)
        head, parts = sentence, []
    if head:
        yield head, tuple(parts)
