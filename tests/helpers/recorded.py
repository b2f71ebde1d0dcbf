"""Machines as texts: kernel files that a test describes without writing them to a disk."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from steelyard.measure.machine import describe
from steelyard.measure.machine.cpulist import parse_cpu_list
from steelyard.measure.machine.files import KernelFiles
from steelyard.model import Machine

LINK = "-> "
Tree = dict[str, str]


@dataclass(frozen=True)
class RecordedFiles(KernelFiles):
    """Kernel files from a dictionary: path → text; a text that begins with "-> " is a symbolic link."""

    root: Path = Path("/recorded")
    tree: Tree = field(default_factory=dict)
    folders: dict[str, set[str]] = field(default_factory=dict)

    def read_bytes(self, path: str) -> tuple[bytes | None, str]:
        text = self.tree.get(path)
        return (None, f"there is no {path} here") if text is None or text.startswith(LINK) else (text.encode(), "")

    def link(self, path: str) -> str:
        return self.tree.get(path, "").removeprefix(LINK)

    def names(self, folder: str) -> list[str]:
        number = re.compile(r"(\d*)$")
        return sorted(self.folders.get(folder, ()), key=lambda name: (number.sub("", name), len(name), name))

    def exists(self, path: str) -> bool:
        return path in self.tree or path in self.folders


def recorded(tree: Tree) -> RecordedFiles:
    """The files of `tree`, with the folders that follow from their paths."""
    folders: dict[str, set[str]] = {}
    for path in tree:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folders.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    return RecordedFiles(tree=tree, folders=folders)


def described(tree: Tree) -> Machine:
    """What Steelyard tells of a machine with these files."""
    with mock.patch("steelyard.measure.machine.description.KernelFiles", return_value=recorded(tree)):
        return describe(Path("/recorded"))


def read_machine(text: str) -> tuple[Tree, dict[str, str]]:
    """The files of a machine's text, and what is expected of it.

    A line is `path = content` with "\\n" and "\\0" written out; `/…/cpu[0-3,8]/a b = content` gives each of these
    processors the files a and b, in which "{}" is the processor's number; `expect name = value` is what others tell.
    """
    tree: Tree = {}
    expected = {}
    for line in text.splitlines():
        left, _, content = line.partition(" = ")
        if left.startswith("expect "):
            expected[left.removeprefix("expect ")] = content
            continue
        content = content.replace("\\n", "\n").replace("\\0", "\0")
        head, bracket, rest = left.partition("[")
        if not bracket:
            tree[left] = content
            continue
        numbers, _, files = rest.partition("]/")
        for number in parse_cpu_list(numbers):
            value = content.replace("{}", str(number))
            tree.update({f"{head}{number}/{file}": value for file in files.split(" ")})
    return tree, expected
