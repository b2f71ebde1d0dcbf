"""Turns the output of a failed build into an error for the user."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard.errors import MachineFailed, ProgramFailed
from steelyard.system.user_cache import cache


def explain(output: str, code: int) -> None:
    """Raises what the build's output says."""
    failure = re.search(r"^FAILED: .*?\n(?P<command>.*?)\n(?P<said>.*)", output, re.MULTILINE | re.DOTALL)
    command, output_text = failure.group("command", "said") if failure else ("ninja", output)
    output_text = re.sub(r"^ninja: build stopped: .*\n?", "", output_text, flags=re.MULTILINE)
    if "No space left on device" in output or "Disk quota exceeded" in output:
        raise MachineFailed(
            f"The disk of the cache {cache()} is full, so a compiled program could not be written. Make space there, or set "
            "STEELYARD_CACHE to a folder with enough space. Programs that are already compiled are kept."
        )
    if re.search(r"fatal error: Killed|out of memory|virtual memory exhausted|Cannot allocate memory", output):
        raise MachineFailed(
            "The compiler ran out of memory. Give the build more memory, or compile fewer programs at the same time (taskset "
            "-c 0 steelyard build). Programs that are already compiled are kept."
        )
    raise ProgramFailed("Compiling", command.partition(".part && mv")[0], code, output_text)


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turns an error of the file system into a sentence on the cache."""
    try:
        yield
    except OSError as error:
        raise MachineFailed(
            f"The programs cannot be written to the cache {cache()}: {error.strerror or error}. "
            "Set STEELYARD_CACHE to a writable folder with enough space."
        ) from error
