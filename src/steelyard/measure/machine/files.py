"""Reads the kernel's files below a root, so that a recorded tree describes a machine as / does."""

import os
import string
from dataclasses import dataclass
from pathlib import Path

from steelyard.measure.machine.cpulist import readable_cpu_list, readable_cpu_mask

# A sysfs attribute is at most one page; the tables in /proc and of the firmware stay far below this.
_MOST_BYTES = 1 << 20
_PAGE = 4096
_LIVE = Path("/")
_BLANKS = string.whitespace + "\0"  # a zero byte ends the strings of a device tree, and the lists of some kernels


@dataclass(frozen=True)
class Reading:
    """The content of a file, stripped. `text` None: it could not be read; `reason` says why."""

    text: str | None
    reason: str = ""


@dataclass(frozen=True)
class KernelFiles:
    """The kernel's files below `root`. No method raises for a file that is missing, forbidden or incomplete."""

    root: Path

    @property
    def live(self) -> bool:
        """Returns whether these are the files of the running machine, and not recorded ones."""
        return self.root == _LIVE

    def _below_root(self, path: str) -> str:
        return str(self.root).rstrip("/") + path

    def read(self, path: str) -> Reading:
        """Returns the text of `path`, or the reason why it cannot be read."""
        content, reason = self.read_bytes(path)
        return Reading(None if content is None else content.decode("utf-8", "replace").strip(_BLANKS), reason)

    def read_bytes(self, path: str) -> tuple[bytes | None, str]:
        """Returns the bytes of `path` (at most 1 MiB) and "", or None and the reason why it cannot be read."""
        try:
            # Plain descriptors: 256 processors have thousands of files, and buffers cost more than reads.
            descriptor = os.open(self._below_root(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as problem:
            return None, _explain_problem(problem, path)
        try:
            content = b""
            while len(content) < _MOST_BYTES and (part := os.read(descriptor, 1 << 16)):
                content += part
                if len(part) < _PAGE and path.startswith("/sys/"):  # there a short read is the last one
                    break
            return content, ""
        except OSError as problem:
            return None, _explain_problem(problem, path)
        finally:
            os.close(descriptor)

    def text(self, path: str) -> str | None:
        """Returns the stripped text of `path`, or None."""
        return self.read(path).text

    def number(self, path: str) -> int | None:
        """Returns the whole number in `path`, or None."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def cpus(self, folder: str, *names: str) -> tuple[int, ...] | None:
        """Returns the processors, ascending, from the first readable file. A name that ends in "list" is a list, others masks.

        After an empty set the next file is read. Name masks first: every kernel has them, and the lists of some old kernels
        name only one processor.
        """
        for name in names:
            text = self.text(f"{folder}/{name}")
            numbers = readable_cpu_list(text) if name.endswith("list") else readable_cpu_mask(text)
            if numbers:
                return numbers
        return None

    def link(self, path: str) -> str:
        """Returns the target of the symbolic link `path`, as it is written; "" if it is not a link."""
        try:
            return os.readlink(self._below_root(path))
        except OSError:
            return ""

    def names(self, folder: str) -> list[str]:
        """Returns the names in `folder`, sorted by their numbers (cpu2 before cpu10); empty if it cannot be listed."""
        try:
            return sorted(os.listdir(self._below_root(folder)), key=_number_key)
        except OSError:
            return []

    def processors(self) -> dict[int, str]:
        """Returns the folder of each processor that the kernel lists, by its number."""
        folder = "/sys/devices/system/cpu"
        numbers = {name: natural(name.removeprefix("cpu")) for name in self.names(folder) if name.startswith("cpu")}
        return {number: f"{folder}/{name}" for name, number in numbers.items() if number is not None}

    def exists(self, path: str) -> bool:
        """Returns whether `path` exists."""
        return os.path.exists(self._below_root(path))

    def pairs(self, path: str, whole: bool = False) -> dict[str, str]:
        """Returns the `key: value` lines up to the first empty line, or all (`whole`). The first of equal keys counts."""
        values: dict[str, str] = {}
        for line in (self.text(path) or "").splitlines():
            if not line.strip() and not whole:
                break
            key, colon, value = line.partition(":")
            if colon:
                values.setdefault(key.strip(), value.strip())
        return values


def natural(text: str | None) -> int | None:
    """Returns the text as a whole number from 0; None for anything else."""
    stripped = (text or "").strip()
    # 20 digits are enough for every 64-bit number; more digits are a mistake, and slow to convert.
    return int(stripped) if stripped.isascii() and stripped.isdecimal() and len(stripped) <= 20 else None


def parse_kibibytes(value: str | None) -> int | None:
    """Converts '4678212 kB', the kernel's notation of kibibytes, to bytes; None for anything else."""
    number = natural((value or "").removesuffix("kB"))
    return number * 1024 if number is not None and (value or "").endswith("kB") else None


def _number_key(name: str) -> tuple[str, int, str]:
    digits = name[len(name.rstrip("0123456789")) :]
    return name.rstrip("0123456789"), int(digits[:18]) if digits else -1, name


def _explain_problem(problem: OSError, path: str) -> str:
    if isinstance(problem, PermissionError):
        return f"{path} may be read by root only"
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return f"there is no {path} here: not in this kernel, or hidden by a hypervisor or a container"
    return f"{path} could not be read: {problem.strerror or problem}"
