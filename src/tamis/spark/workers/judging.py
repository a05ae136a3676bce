"""What a worker does to validate: per event null, or the rule it breaks."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tamis.batches.asking import Refusal
from tamis.errors import EventError
from tamis.model import Schema
from tamis.model.names import Used
from tamis.spark.columns import ATTRIBUTE, REASON, RULE
from tamis.spark.workers.event_reading import find_refused

__all__ = ["VERDICT", "Judge"]

VERDICT = f"{RULE} string, {ATTRIBUTE} string, {REASON} string"
_ARROW = pa.struct([(RULE, pa.string()), (ATTRIBUTE, pa.string()), (REASON, pa.string())])


@dataclass(frozen=True)
class Judge:
    """Sent to the workers; the class is known to them by name, so the schema is all that travels."""

    schema: Schema
    used: Used | None = None
    """What is looked at, where that is not everything."""

    def judge(self, events: pa.Array) -> pa.Array:
        """A `VERDICT` per event."""
        verdicts: list[dict[str, str | None] | None] = [None] * len(events)

        def refuse(row: int, error: Refusal) -> None:
            verdicts[row] = _verdict(error)

        find_refused(events, self.schema, refuse, self.used)
        return pa.array(verdicts, _ARROW)


def _verdict(error: Refusal) -> dict[str, str | None]:
    rule, attribute = (error.rule, error.attribute) if isinstance(error, EventError) else (None, None)
    return {RULE: rule, ATTRIBUTE: attribute, REASON: str(error).removeprefix(f"{rule}: ")}
