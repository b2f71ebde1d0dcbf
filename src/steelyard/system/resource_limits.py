"""Finds limits of this process (ulimit, a batch system) under which other libraries hang or end it without a sentence.

OpenBLAS, which NumPy and SciPy load, repeats a failed allocation for ever and raises SIGINT if it cannot start a thread. A file
that cannot be opened because too many are open looks like a missing one. So these limits are tested once, at the start.
"""

import contextlib
import mmap
import os
import threading

MEMORY = 640 << 20  # bytes of address space: NumPy, SciPy and DuckDB need some 500 MiB on two processors
QUERY = 800 << 20  # the same for a query, in which DuckDB reads JSON
FILES = 40  # files open at a time: a report of many runs, DuckDB, and pipes to programs
THREADS = 8  # beside the first: DuckDB's, a guard of its limits, a second process, the reader of a program's output


def limit_threads() -> None:
    """Lets OpenBLAS use one thread in this process. The programs that it starts get `os.environ`, which stays as it is."""
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.putenv("OPENBLAS_NUM_THREADS", "1")


def find_shortage() -> str:
    """Returns a sentence about the first limit that is too low; "" if there is none. It takes less than a millisecond."""
    with contextlib.ExitStack() as stack:
        try:
            for _ in range(FILES):
                stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return f"This process cannot have {FILES} more open files. Raise the limit of open files, for example: ulimit -n 1024"
    if (shortage := find_memory_shortage(MEMORY)) or _can_start_threads():
        return shortage
    return (
        f"The system allows this user no {THREADS} more threads. Raise the limit (ulimit -u, or that of the job), or end other "
        "programs."
    )


def find_memory_shortage(memory: int) -> str:
    """Returns a sentence if this process cannot get so many more bytes of address space; "" if it can."""
    with contextlib.suppress(OSError, MemoryError):
        mmap.mmap(-1, memory, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        return ""
    return (
        f"There is not enough memory: this process cannot get the {memory >> 20} MiB of address space that it needs. "
        "Raise the limit (ulimit -v, or the memory limit of the job)."
    )


def _can_start_threads() -> bool:
    end, threads = threading.Event(), []
    try:
        for _ in range(THREADS):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            threads.append(thread)
    except (RuntimeError, MemoryError):
        return False
    finally:
        end.set()
        for thread in threads:
            thread.join()
    return True
