"""Look at everything that is kept: sums, invariants, what a crash left.

tamis check alerts/
tamis check engine.tamis
tamis check index/

PATH is the folder of a durable engine, the file of a saved one, or a Spark index in a local folder; no Java is
needed. Nothing is altered. Exit codes: 0 all is whole, 1 something is damaged, 2 your mistake.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tamis.errors import OptionError, TamisError
from tamis.store.findings import Findings

__all__ = ["FILE", "FOLDER", "INDEX", "kind_of", "needing_spark", "tell"]

FOLDER, INDEX, FILE = "folder", "index", "file"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", help="a durable engine's folder, a saved engine's file or a Spark index"
    )
    parser.add_argument("--quiet", action="store_true", help="tell what is damaged, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.path)
    kind = kind_of(path)
    if kind == FOLDER:
        from tamis.segments.keep.checking import check_folder

        found = check_folder(path)
    elif kind == INDEX:
        needing_spark()
        from tamis.spark.versions.checking import check_index

        found = check_index(path)
    else:
        found = _check_file(path)
    return tell(found, "check", quiet=arguments.quiet)


def kind_of(path: Path) -> str:
    """What lies there, by its names."""
    try:
        if path.is_file():
            return FILE
        names = {one.name for one in path.iterdir()}
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if "manifests" in names:
        return INDEX
    if "current.json" in names or any(name.startswith(("log-", "segment-")) for name in names):
        return FOLDER
    raise OptionError(f"{path}: expected an engine's folder, a saved engine or a Spark index, found another folder")


def needing_spark() -> None:
    try:
        import tamis.spark  # noqa: F401
    except ModuleNotFoundError as error:
        raise OptionError(f"no package {error.name!r} here; run: pip install 'tamis[spark]'") from None


def _check_file(path: Path) -> Findings:
    from tamis import Engine

    found = Findings()
    try:
        with found.looking(path):
            engine = Engine.open(path)
            engine.check()
            found.notes.append(f"{path}: {len(engine):,} subscriptions, algorithm {engine.algorithm!r}")
    except TamisError as error:  # sums fit, and an expression does not
        found.damage.append(f"{path}: {error}")
    return found


def tell(found: Findings, command: str, *, quiet: bool = False) -> int:
    """Print what was found; the exit code."""
    for line in [] if quiet else found.notes:
        print(line)
    for line in found.damage:
        print(f"tamis {command}: {line}", file=sys.stderr)
    return 0 if found.whole else 1
