"""Compile the inner loops of the default engine now, so that no call has to wait for them: for images.

  tamis warm

It takes about half a minute, and a moment if there is nothing to do. The machine code is kept beside the package, in
the folder that NUMBA_CACHE_DIR names, or in the user's cache; it is good for this kind of processor.
"""

from __future__ import annotations

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    """There is nothing to choose."""


def run(arguments: argparse.Namespace) -> int:
    from tamis.kernels import warmth
    from tamis.warming import warm

    with warmth.compiling() as file:
        if warmth.is_warm():
            print("The inner loops are compiled already.")
            return 0
        shown = sys.stderr.isatty()

        def tell(progress: warmth.Compiling) -> None:
            warmth.tell(file, progress)
            if shown:
                print(f"\r\x1b[K{100 * progress.done // progress.of} %", end="", file=sys.stderr, flush=True)

        warm(tell)
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print("The inner loops are compiled.")
    return 0
