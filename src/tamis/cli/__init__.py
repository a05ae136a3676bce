"""The command-line door: one file per command, listed in `_COMMANDS`.

Exit codes: 0 done, 2 the user's mistake (one line on stderr), 1 ours; of `check` and `repair` 1 is damage.
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
    "explain": "why an event does or does not match a subscription",
    "schema": "check, infer or extend a schema",
    "check": "look at all that is kept in a folder, a file or an index",
    "repair": "copy what is whole of something damaged",
