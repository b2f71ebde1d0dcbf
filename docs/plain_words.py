"""Lists sentences and names that the style sheet calls hard to read: places to look at, not a gate.

    python docs/plain_words.py            counts
    python docs/plain_words.py --places   each place with its text

It looks at strings of more than three words, docstrings and names of functions in src, and at the sentences of docs, README.md
and CONTRIBUTING.md (without code). A sentence is good when a reader understands it, not when it avoids a pattern.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_WORDS = 30
SENTENCES = {
    "reported or determined of, to, that": re.compile(
        r"\b(is|are|be|was) (reported|determined|observed) (to|of|an?|that)\b"
    ),
    "begins with Of, What, That of, Whom": re.compile(r"^(Of|What|That of|Whom|Those|By how much|How) "),
    "others, own, each as nouns": re.compile(r"\b(of others|each other's|its own's|the others')\b"),
}
LONG = f"more than {MOST_WORDS} words"
NAMES = {
    "function that begins with a participle": re.compile(
        r"^_*(found|known|given|taken|told|seen|shown|made|kept)(_|$)"
    ),
    "function that begins with a preposition": re.compile(
        r"^_*(of|by|with|within|beside|at|in|on|from|to|for|without)_"
    ),
    "variable that does not name its content": re.compile(r"^(found|known|reported|observed|each|own|mine|there)$"),
}
Place = tuple[str, int, str]


def texts_of(path: Path) -> Iterator[Place]:
    """Docstrings and strings of a module, each with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 3:
            yield str(path.relative_to(ROOT)), node.lineno, " ".join(node.value.split())


def names_of(path: Path) -> Iterator[tuple[str, Place]]:
    """Names of functions and of assigned variables, each with its kind."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield "function", (str(path.relative_to(ROOT)), node.lineno, node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "variable", (str(path.relative_to(ROOT)), node.lineno, node.id)


def paragraphs_of(path: Path) -> Iterator[Place]:
    """Paragraphs of a page without code blocks, tables and headings."""
    text = re.sub(
        r"^```.*?^```$", lambda code: "\n" * code[0].count("\n"), path.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    line = 1
    for paragraph in re.split(r"\n(?=\n|- )", text):
        if paragraph.strip() and not paragraph.lstrip().startswith(("|", "#", "    ")):
            yield (
                str(path.relative_to(ROOT)),
                line + paragraph[: len(paragraph) - len(paragraph.lstrip())].count("\n"),
                " ".join(paragraph.split()),
            )
        line += paragraph.count("\n") + 1


def places() -> dict[str, list[Place]]:
    """Every place by the pattern that it shows."""
    found: dict[str, list[Place]] = defaultdict(list)
    modules = sorted((ROOT / "src").rglob("*.py"))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts = [text for module in modules for text in texts_of(module)]
    texts += [text for page in pages for text in paragraphs_of(page)]
    for file, line, text in texts:
        for sentence in re.split(r'(?<=[.:;!?]) +(?=[A-Z*`"])', text):
            for name, pattern in SENTENCES.items():
                if pattern.search(sentence):
                    found[name].append((file, line, sentence))
            if len(sentence.split()) > MOST_WORDS:
                found[LONG].append((file, line, sentence))
    for module in modules:
        for kind, place in names_of(module):
            for name, pattern in NAMES.items():
                if name.startswith(kind) and pattern.search(place[2]):
                    found[name].append(place)
    return found


if __name__ == "__main__":
    for name, listed in places().items():
        print(f"{len(listed):6} {name}")
        if "--places" in sys.argv[1:]:
            for file, line, text in listed:
                print(f"       {file}:{line}: {text[:160]}")
