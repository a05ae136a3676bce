"""Copy what is whole of something that is damaged. Nothing is ever repaired in place.

tamis repair alerts/ --to alerts-repaired/
tamis repair index/ --to index-repaired/
tamis repair index/ --version 6 --to index-6/

What the copy lacks is told on standard error. A segment is whole or left out; of a log every write is kept whose record
is whole. Where what is left would be a guess, nothing is written: without current.json nobody knows who is dead, a
saved file has one sum for all of it, and a damaged manifest may hide deletions, so that --version must name an older
one. Exit codes: 0 the copy has everything, 1 it lacks what is told or there is none, 2 your mistake.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tamis.cli.check import FILE, FOLDER, kind_of, needing_spark, tell
from tamis.cli.spark_options import whole
from tamis.errors import OptionError, SegmentError
from tamis.store.findings import Findings


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", help="a durable engine's folder, a saved engine's file or a Spark index"
    )
    parser.add_argument("--to", metavar="COPY", required=True, help="where the copy is made; nothing may be there yet")
    parser.add_argument("--version", metavar="N", type=whole, help="of a Spark index, in place of the latest")


def run(arguments: argparse.Namespace) -> int:
    path, to = Path(arguments.path), Path(arguments.to)
    kind = kind_of(path)
    if to.exists() or to.is_symlink():
        raise OptionError(f"{to}: expected a new name for the copy, found something there")
    if arguments.version is not None and kind in (FILE, FOLDER):
        raise OptionError(f"{path}: only a Spark index has versions")
    try:
        found = _repair(kind, path, to, arguments.version)
    except SegmentError as error:
        print(f"tamis repair: {error}; nothing was written", file=sys.stderr)
        return 1
    return tell(found, "repair")


def _repair(kind: str, path: Path, to: Path, version: int | None) -> Findings:
    if kind == FOLDER:
        from tamis.segments.keep.checking import repair_folder

        return repair_folder(path, to)
    if kind == FILE:
        from tamis.store.saved import read_saved, write_saved

        write_saved(to, read_saved(path))
        return Findings([f"{to}: the same"])
    needing_spark()
    from tamis.spark.versions.checking import repair_index

    return repair_index(path, to, version)
