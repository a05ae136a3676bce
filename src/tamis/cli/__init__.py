"""The command-line door: one file per command, listed in `_COMMANDS`.

Exit codes: 0 done, 2 the user's mistake (one line on stderr), 1 ours; of `check` and `repair` 1 is damage, of
`lint` something found.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from tamis.errors import LanguageError, TamisError

__all__ = ["main"]

_COMMANDS = {
    "demo": "the auction story end to end, readable in a minute",
    "generate": "the papers' workloads, on Spark",
    "index": "compile subscriptions into an index, on Spark",
    "match": "events against subscriptions, on Spark",
    "serve": "publish and subscribe over HTTP",
    "stream": "match events as they arrive, on Spark",
    "explain": "why an event does or does not match a subscription",
    "lint": "what is wrong with subscriptions: dead, equal, covered, misspelt or dear ones",
    "schema": "check, infer or extend a schema",
    "experiments": "redo a table or figure of the papers",
    "warm": "compile the inner loops now, not at the first call",
    "check": "look at all that is kept in a folder, a file or an index",
    "repair": "copy what is whole of something damaged",
}
"""Name → the line in `tamis --help`; the module of that name has `configure(parser)` and `run(arguments)`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the value is the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # where ✓ cannot be shown, \u2713 is better than a traceback
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except TamisError as error:
        print(f"tamis {arguments.command}: {error}", file=sys.stderr)
        if isinstance(error, LanguageError) and error.text:
            print(error.pointer(), file=sys.stderr)
        return 2
    except BrokenPipeError:  # `tamis … | head` is no error; what is left goes nowhere, so that the exit is silent
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


class _Parser(argparse.ArgumentParser):
    """argparse, with mistakes told in one line like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    from tamis import __version__

    parser = _Parser(
        prog="tamis",
        description="Content-based publish/subscribe: events in, the ids of satisfied subscriptions out.",
        epilog="'tamis COMMAND --help' says more. Exit codes: 0 done, 2 your mistake, 1 ours.",
    )
    parser.add_argument("--version", action="version", version=f"tamis {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, line in _COMMANDS.items():
        module = import_module(f"tamis.cli.{name}")
        command = commands.add_parser(
            name, help=line, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser
