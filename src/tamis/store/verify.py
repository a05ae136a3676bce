"""How much of a stored file is looked at when it is opened."""

from __future__ import annotations

from tamis.errors import OptionError
from tamis.model.values import show_raw

__all__ = ["VERIFY", "checked_verify"]

VERIFY = ("full", "structure", "trusted")
"""Sums and structure; structure alone; neither."""


def checked_verify(verify: object) -> str:
    if not isinstance(verify, str) or verify not in VERIFY:
        said = "; what was False is 'trusted' now, what was True is 'full'" if isinstance(verify, bool) else ""
        raise OptionError(
            f"expected verify to be one of {', '.join(map(repr, VERIFY))}, found {show_raw(verify)}{said}"
        )
    return verify
