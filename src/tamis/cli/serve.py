"""Serve over HTTP: publish, subscribe, be told. One process, one folder, nothing else to install.

  tamis serve --data auctions --schema auctions.toml --port 8737

Settings come from a file of TOML (--settings), the environment (TAMIS_SERVE_PORT and the like) and the flags here, in
that order; --set gives any of them, and --show-settings prints all with what they mean. It takes
pip install 'tamis[server]'.
"""

from __future__ import annotations

import argparse
import os

from tamis.cli.files import read_schema
from tamis.errors import OptionError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="the folder with the log; made if it is not there")
    parser.add_argument("--schema", metavar="TOML", help="the schema of a new folder; without it any attribute goes")
    parser.add_argument("--host", metavar="ADDRESS", help="127.0.0.1 unless another address of this machine is given")
    parser.add_argument("--port", metavar="N", help="8737 unless given; 0 takes a free one")
    parser.add_argument("--settings", metavar="TOML", help="a file of settings")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="any other setting")
    parser.add_argument("--show-settings", action="store_true", help="print the settings, and serve nothing")


def run(arguments: argparse.Namespace) -> int:
    try:
        from tamis.server.settings import read_settings, shown_settings

        settings = read_settings(arguments.settings, os.environ, _flags(arguments))
        if arguments.show_settings:
            print(shown_settings(settings), end="")
            return 0
        from tamis.server.running import serve
    except ModuleNotFoundError as error:
        raise OptionError(f"{error.name} is not installed: pip install 'tamis[server]'") from None
    serve(settings, read_schema(settings.schema) if settings.schema else None, _tell)
    return 0


def _flags(arguments: argparse.Namespace) -> dict[str, object]:
    found = {name: getattr(arguments, name) for name in ("data", "schema", "host", "port")}
    for one in arguments.set:
        name, equals, value = one.partition("=")
        if not equals:
            raise OptionError(f"--set: expected NAME=VALUE, found {one!r}")
        found[name.strip()] = value.strip()
    return found


def _tell(address: str) -> None:
    print(f"Tamis listens at {address}")
    print(f"  curl --json '{{\"price\": 150}}' {address}/v1/events", flush=True)
