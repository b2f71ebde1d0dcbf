"""Text for LaTeX."""

import re

# Characters with a meaning in LaTeX, and characters that its usual fonts lack.
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': "''", "\u202f": r"\,", "\xa0": "~", "–": "--", "—": "---", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "±": r"$\pm$",
    "≤": r"$\le$", "≥": r"$\ge$", "≈": r"$\approx$", "∞": r"$\infty$", "→": r"$\to$", "½": r"$\frac{1}{2}$", "²": "$^2$",
    "³": "$^3$", "µ": r"$\mu$", "μ": r"$\mu$", "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "Δ": r"$\Delta$",
    "σ": r"$\sigma$", "“": "``", "”": "''", "‘": "`", "’": "'", "…": r"\ldots{}", "°": r"$^\circ$",
}  # fmt: skip


def escaped(text: str) -> str:
    """Returns the text on one line, with escapes for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in " ".join(re.split(r"[ \t\n\r]+", text.strip())))
