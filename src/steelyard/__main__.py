"""The entry point. A signal ends it at once and without a traceback, also while the rest is still being imported."""

import gc
import os
import signal
import sys
from types import FrameType

from steelyard.system import resource_limits

# Nearly all objects stay until the end. With the usual 700, the search for others takes a sixth of the time of a report.
COLLECTING = (50_000, 20, 1000)
# Other systems lack signals and modules that are used below.
_ELSEWHERE = {
    "darwin": "This is macOS, and Steelyard needs Linux. Use it in a Linux container or virtual machine, which it then measures.",
    "win32": "This is Windows, and Steelyard needs Linux. Use it in WSL: wsl --install, then install Steelyard in that Linux.",
}
if not sys.platform.startswith("linux"):
    print(
        f"steelyard: {_ELSEWHERE.get(sys.platform, f'This is {sys.platform}, and Steelyard needs Linux.')}",
        file=sys.stderr,
    )
    sys.exit(4)


def _gone(number: int, frame: FrameType | None) -> None:
    while frame and frame.f_code is _gone.__code__:  # an earlier signal, which is handled still, gives the exit code
        number, frame = frame.f_locals["number"], frame.f_back
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # another one may have come just now, and is handled here
    os.write(2, b"steelyard: interrupted\n")
    os._exit(128 + number)  # nothing has started yet that needs a clean-up


# A signal stays ignored where it is: Ctrl-C in processes that a script starts in the background, SIGHUP under nohup.
_SIGNALS = [
    number
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
]
for _number in _SIGNALS:
    signal.signal(_number, _gone)


def _open_streams() -> None:
    """Opens the null device for standard input, output and error that are closed, so that no other file takes their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def main() -> None:
    """Runs the command line."""
    _open_streams()
    if sys.flags.optimize > 1:
        os.write(
            2,
            b"steelyard: PYTHONOPTIMIZE=2 (or python -OO) removes help texts that Steelyard needs. Unset it, or use 1 (-O).\n",
        )
        sys.exit(2)
    if shortage := resource_limits.find_shortage():
        print(f"steelyard: {shortage}", file=sys.stderr)
        sys.exit(4)
    resource_limits.limit_threads()
    gc.set_threshold(*COLLECTING)
    from steelyard.show.command_line import cli
    from steelyard.system import signals

    try:
        cli.main()
    finally:
        signals.ignore()  # also after an error that nobody expects


if __name__ == "__main__":
    main()
