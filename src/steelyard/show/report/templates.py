"""The templates of pages, kept in the user's cache as Python's code."""

import contextlib
from pathlib import Path

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from steelyard.system import files
from steelyard.system.user_cache import inside


class Compiled(FileSystemBytecodeCache):
    """Templates kept as Python's code, a tenth of a report's time; a disk that is full keeps none.

    What another user can have written is compiled anew.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            if not files.others(Path(self._get_cache_filename(bucket))):
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def compiled() -> Compiled | None:
    """The cache of templates; None where no cache can be made."""
    try:
        return Compiled(str(inside("templates")))
    except OSError:
        return None
