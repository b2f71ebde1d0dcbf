"""The TAB key in real shells: what `steelyard --show-completion` prints for bash, zsh and fish completes the words of a line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Each completes "steelyard doc" and "steelyard list memory.st", and prints the words.
SCRIPTS = {
    "bash": """
eval "$(steelyard --show-completion)"
COMP_WORDS=(steelyard doc) COMP_CWORD=1; _steelyard_completion steelyard; echo "${COMPREPLY[@]}"
COMP_WORDS=(steelyard list memory.st) COMP_CWORD=2; _steelyard_completion steelyard; echo "${COMPREPLY[@]}"
""",
    "zsh": """
autoload -Uz compinit; compinit -D
eval "$(steelyard --show-completion)"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -D; eval "$(_STEELYARD_COMPLETE=source_zsh steelyard)"; echo rea''dy'
zpty -r shell line '*ready*'
zpty -w -n shell $'steelyard doc\\t'; zpty -r -m shell line '*doctor*'; print -r -- $line
zpty -w -n shell $'\\C-usteelyard list memory.st\\t'; zpty -r -m shell line '*memory.stream*'; print -r -- $line
""",
    "fish": """
steelyard --show-completion | source
complete -C 'steelyard doc'
complete -C 'steelyard list memory.st'
""",
}


@pytest.mark.long
@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_completes_commands_and_benchmarks(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed: make packages")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8", "TERM": "dumb"}
    script = tmp_path / "script"
    script.write_text(SCRIPTS[shell])
    asked = [program, *(["-f"] if shell == "zsh" else []), script]
    done = subprocess.run(
        asked, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "doctor" in done.stdout, done.stderr
    assert "memory.stream" in done.stdout, done.stderr
    assert "application" not in done.stdout


def test_a_shell_asks_for_completions_of_a_word() -> None:
    """The variables that the scripts of all three shells set."""
    steelyard = Path(sys.executable).with_name("steelyard")
    asked = {"_STEELYARD_COMPLETE": "complete_bash", "COMP_WORDS": "steelyard sche", "COMP_CWORD": "1"}
    done = subprocess.run([steelyard], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["schema"]
