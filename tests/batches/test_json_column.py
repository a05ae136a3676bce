"""A column of JSON texts: each is read as if it stood alone, whatever its neighbours are."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tamis import EventError, Schema, TamisError
from tamis.batches.asking import Raw
from tamis.batches.json_column import JsonColumn, read_json_column
from tamis.batches.json_lines import read_text
from tamis.model import Event
from tamis.model.names import Used
from tests.batches.test_json_bytes import Said, _is_json, check, draw_events, some_names, spelt
from tests.strategies import Dice, make_schema

ODD: tuple[bytes | None, ...] = (
    *(None, b"", b" \n ", b"{", b"}", b"{}{}", b"{},{}", b'{"a":', b"1}", b"[1]", b"{}\n{}", b'{"a": "\n"}', b"{}"),
    *(b'{"a": 1}\n', b'\n{"a":\n2}', b'\xef\xbb\xbf{"a": 3}', b'{"id": 4, "a": 5}', b'{"id": {"a": 1}, "a": 6}'),
    *(b'{"a": "\xff"}', b"\x00", b'{"id": [1], "a": [7]}', b'{"a": "\\u12"}', b'{"id.b": 4, "a": 5}', b"12", b'"a"'),
)


def raw_of(text: bytes | None) -> Raw:
    """As a worker on Spark reads one."""
    try:
        raw = read_text(None if text is None else text.decode())
    except UnicodeDecodeError as error:
        return EventError(str(error))
    if isinstance(raw, dict):
        raw.pop("id", None)
    return raw


def judged(schema: Schema, text: bytes | None, used: Used | None) -> Event | Said:
    raw = raw_of(text)
    try:
        if isinstance(raw, EventError):
            raise raw
        return schema.event(raw, used)
    except TamisError as error:
        return type(error), str(error)


def check_column(schema: Schema, texts: list[bytes | None], used: Used | None) -> None:
    refused: dict[int, Said] = {}
    column = JsonColumn(_strings(texts), lambda row: raw_of(texts[row]), "id")

    batch = read_json_column(
        column, schema, lambda row, error: refused.update({row: (type(error), str(error))}), used=used
    )

    check(schema, batch, refused, [judged(schema, text, used) for text in texts])


def _strings(texts: list[bytes | None]) -> pa.Array:
    """As Spark sends them: nobody has looked whether they are UTF-8."""
    column = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(texts), column.buffers(), column.null_count)


@pytest.mark.parametrize("part", range(4))
def test_each_text_is_what_the_schema_says_of_it(part: int) -> None:
    for seed in range(part * 25, part * 25 + 25):
        print(f"seed {seed}")
        dice = Dice(random.Random(f"column {seed}").randrange)
        schema = Schema(open=True) if dice.chance(2) else make_schema(dice)
        raws = [raw for raw in draw_events(dice, schema, 20) if _is_json(raw)]
        texts: list[bytes | None] = [spelt(dice, raw).encode("utf-8", "surrogatepass") for raw in raws]
        texts = [text and text.replace(b"\t", b"\n") for text in texts]
        if dice.chance(2):
            texts = [one for text in texts for one in (text, dice.one(ODD))]
        check_column(schema, texts, some_names(dice, schema, raws) if schema.open else None)


def test_a_text_ends_where_it_ends() -> None:
    schema = Schema.loads('attributes = { a = "integer" }')

    check_column(schema, list(ODD), None)
    for first in ODD:
        for second in ODD:
            check_column(Schema(open=True), [first, second], Used.of(("a", "b", "id.b")))
            check_column(schema, [first, second, first], None)


def test_of_validated_events_no_rule_is_asked() -> None:
    schema = Schema.loads('attributes = { a = "integer" }')
    texts = pa.array(['{"a": 1, "id": 3}', '{"a": 2, "unheard": 4}'])
    column = JsonColumn(texts, lambda row: raw_of(texts[row].as_py().encode()), "id")

    batch = read_json_column(column, schema, pytest.fail, used=Used.of(("a",)), validated=True)

    assert [part.values.tolist() for part in batch.parts["a"]] == [[1, 2]]  # type: ignore[union-attr]
