"""A structure that cannot hold something says so, with the limit."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tamis.errors import LimitError
from tamis.indexes import INDEXES, time_index
from tamis.indexes.pb_keys import encode, encode_many
from tamis.indexes.table import MOST_VALUES, Table
from tamis.indexes.time_index import TimeIndex
from tamis.model import Enumerated, Integer, Kind, Number, Operator, String, Timestamp, Value

NUMBERS = [
    -(10**401), -(10**400), -(2**1024), -1.7976931348623157e308, -(2**64) - 1, -(2.0**64), -(2**53) - 1, -(2.0**53),
    -1, -0.5, -5e-324, 0, 5e-324, 0.5, 1, 2.0**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, 2.0**63, 2**63 + 1, 1e300,
    1.7976931348623157e308, 2**1024, 2**1024 + 1, 10**400, 10**400 + 1,
]  # fmt: skip


@pytest.mark.parametrize("domain", [Integer(), Integer(0, None), Number(), String(), Timestamp(), Integer(0, 2**20)])
def test_a_table_refuses_a_domain_without_end(domain: Number) -> None:
    with pytest.raises(LimitError) as caught:
        INDEXES["table"](domain)

    assert caught.value.limit == MOST_VALUES


def test_a_table_holds_named_values() -> None:
    table = Table(Enumerated(("XVI", "XVII")))
    table.insert(3, Operator.NE, Value(Kind.STRING, "XVI"))

    assert table.search(Value(Kind.STRING, "XVII")).tolist() == [3]
    assert table.search(Value(Kind.STRING, "XVI")).tolist() == []


def test_a_time_index_past_its_memory_refuses_and_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_index, "MOST_LISTED", 2_000)
    index = TimeIndex(Number())
    rays = [(id, Operator.GT, Value(Kind.NUMBER, id)) for id in range(5_000)]
    with pytest.raises(LimitError):
        index.insert_many(rays)
    for ray in rays[:100]:
        index.insert(*ray)
    monkeypatch.setattr(time_index, "MOST_LISTED", 20)
    with pytest.raises(LimitError):
        index.insert_many([(id, Operator.LT, Value(Kind.NUMBER, id)) for id in range(200, 230)])

    index.check()
    assert len(index.search(Value(Kind.NUMBER, 10_000))) == 100


def test_keys_on_disk_sort_as_their_numbers_do() -> None:
    keys = [encode(Value(Kind.NUMBER, number)) for number in NUMBERS]

    assert sorted(NUMBERS) == NUMBERS
    assert sorted(keys) == keys
    assert len(set(keys)) == len(keys)
    assert encode(Value(Kind.NUMBER, -0.0)) == encode(Value(Kind.NUMBER, 0))
    assert encode(Value(Kind.NUMBER, 2.0**53)) == encode(Value(Kind.NUMBER, 2**53))


@pytest.mark.parametrize("most", [2**53, 10**500])
def test_many_keys_are_those_of_each(most: int) -> None:
    values = [Value(Kind.NUMBER, number) for number in (*NUMBERS, -0.0, 3, -3.25) if abs(number) <= most]

    assert encode_many(values) == [encode(value) for value in values]
    assert encode_many([]) == []
    assert encode_many([Value(Kind.STRING, "é"), Value(Kind.STRING, "")]) == ["é".encode(), b""]


def test_the_table_of_indexes_imports_no_structure_until_it_is_built() -> None:
    program = "import sys, tamis.indexes; print(*[m for m in sys.modules if m.startswith(('tamis.indexes.', 'lmdb'))])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["tamis.indexes.base"]
