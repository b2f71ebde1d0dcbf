"""The entry point. Ctrl-C ends it at once and without a traceback, also while the rest is still being imported."""

import os
import signal
import sys


def _gone(*_: object) -> None:
    os.write(2, b"steelyard: interrupted\n")
    os._exit(130)  # nothing has started yet that needs a clean-up


# Ctrl-C stays ignored where it is, as in processes that a script starts in the background.
_wanted = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _wanted:
    signal.signal(signal.SIGINT, _gone)


def main() -> None:
    """Runs the command line."""
    if sys.flags.optimize > 1:
        os.write(
            2,
            b"steelyard: PYTHONOPTIMIZE=2 (or python -OO) removes help texts that Steelyard needs. Unset it, or use 1 (-O).\n",
        )
        sys.exit(2)
    try:
        from steelyard.command_line import cli

        if _wanted:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main()
    except KeyboardInterrupt:
        _gone()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the interpreter's shutdown is left


if __name__ == "__main__":
    main()
