"""`python -m olmkit.fbc COMMAND`: work on file-based catalogs without a cluster, as people know it from opm.

A command is a module of olmctl.catalog. Exit status 0: done; 1: refused or failed, and why on stderr; 2: used wrongly;
130: interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from olmctl.catalog import generate, graph, init, render, validate
from olmkit.errors import OlmError

_COMMANDS = (validate, render, init, generate, graph)
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # trees are drawn whatever the locale
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # as of `| head`: nobody reads on
        _let_go_of_stdout()
        return 1
    except OSError as error:
        _let_go_of_stdout()
        print(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error, file=sys.stderr)
        return 1
    except OlmError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _let_go_of_stdout()
        return _INTERRUPTED
    return status


def _let_go_of_stdout() -> None:
    """What could not be printed is given up: flushing it at the exit must not complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m olmkit.fbc", description="Work on file-based catalogs.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
