"""JSON in bytes: whatever its spelling, the events are those that Python's `json` reads and `Schema.event` accepts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tamis import Engine, EventError, LimitError, OptionError, Schema, TamisError
from tamis.batches import json_bytes
from tamis.batches.batch import Batch
from tamis.batches.json_bytes import JsonText, read_json
from tamis.batches.json_source import open_json
from tamis.batches.mappings import batch_of_mappings
from tamis.model import Event, parse_json
from tamis.model.names import Used
from tests.batches.test_doors import draw_events, values_of
from tests.strategies import Dice, make_event, make_expression, make_schema

Said = tuple[type, str]


def said_of(schema: Schema, text: str, used: Used | None) -> Event | Said:
    try:
        return schema.event(parse_json(text), used)
    except TamisError as error:
        return type(error), str(error)


def check(schema: Schema, batch: Batch, refused: dict[int, Said], expected: Sequence[Event | Said]) -> None:
    wrong = {row: said for row, said in enumerate(expected) if not isinstance(said, Event)}
    right = [said for said in expected if isinstance(said, Event)]
    assert refused == wrong
    assert batch.size == len(right)
    assert [batch.event(row) for row in range(batch.size)] == right
    assert [values_of(batch, row) for row in range(batch.size)] == [
        {name: set(values) for name, values in event.values.items()} for event in right
    ]


def read(schema: Schema, data: bytes, used: Used) -> tuple[Batch, dict[int, Said]]:
    refused: dict[int, Said] = {}
    text = JsonText.told(memoryview(data))
    batch = read_json(text, schema, lambda row, error: refused.update({row: (type(error), str(error))}), used=used)
    return batch, refused


# -- spellings ----------------------------------------------------------------------------------------------------


def spelt(dice: Dice, found: object) -> str:
    """JSON text that stands for what `found` is, as few would write it."""
    space = dice.one(("", "", " ", "\t ", "\r"))
    if isinstance(found, dict):
        members = [f"{text_of(dice, name)}{space}:{space}{spelt(dice, one)}" for name, one in found.items()]
        if found and dice.chance(8):  # of two the last wins
            other = dice.one(("1", '{"x":2}', "[]", '"é"'))
            members.insert(0, f"{text_of(dice, dice.one(list(found)))}:{other}")
        return "{" + space + f"{space},{space}".join(members) + space + "}"
    if isinstance(found, list | tuple):
        return "[" + space + f"{space},".join(spelt(dice, one) for one in found) + space + "]"
    if isinstance(found, str):
        return text_of(dice, found)
    if isinstance(found, float) and found == found and abs(found) != float("inf"):
        return dice.one((repr(found), f"{found:e}", f"{found:.17E}", f"{found:.25e}", json.dumps(found)))
    if isinstance(found, int) and not isinstance(found, bool) and 0 < abs(found) < 10**6 and dice.chance(4):
        return dice.one((f"{found}.0", f"{found}e0", f"{found}00E-2", f"{found}"))
    return json.dumps(found)


def text_of(dice: Dice, text: str) -> str:
    if dice.chance(4):
        units = text.encode("utf-16-be", "surrogatepass")
        return '"' + "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2)) + '"'
    return json.dumps(text, ensure_ascii=bool(dice.chance(2)))


def as_lines(dice: Dice, texts: list[str]) -> bytes:
    return "".join(text + dice.one(("\n", "\r\n", "\n\n", " \n \t\n")) for text in texts).encode(
        "utf-8", "surrogatepass"
    )


def as_array(dice: Dice, texts: list[str]) -> bytes:
    space = dice.one(("", " ", "\n", "\r\n\t"))
    joined = f"{space},{space}".join(texts)
    return f"{space}[{space}{joined}{space}]{space}".encode("utf-8", "surrogatepass")


def some_names(dice: Dice, schema: Schema, events: list[dict[str, object]]) -> Used:
    names = {*schema.names(), *(name for event in events for name in event), "seller.rating", "unheard", "a.b"}
    return Used.of(name for name in sorted(names) if not dice.chance(3))


def _is_json(raw: object) -> bool:
    try:
        return "NaN" not in (text := json.dumps(raw)) and "Infinity" not in text
    except TypeError:
        return False


@pytest.mark.parametrize("part", range(6))
def test_lines_arrays_and_mappings_are_what_the_schema_says_of_each_event(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {"sound": 0, "refused": 0}
    for seed in range(part * 30, part * 30 + 30):
        dice = Dice(random.Random(f"json {seed}").randrange)
        schema = Schema(open=True) if dice.chance(2) else make_schema(dice)
        raws = [raw for raw in draw_events(dice, schema, 20) if _is_json(raw)]
        used = some_names(dice, schema, raws)
        texts = [spelt(dice, raw) for raw in raws]
        expected = [said_of(schema, text, used) for text in texts]
        for size in (1 << 22, 64):
            monkeypatch.setattr(json_bytes, "_AT_ONCE", size)
            for data in (as_lines(dice, texts), as_array(dice, texts)):
                check(schema, *read(schema, data, used), expected)
                check(schema, *read(schema, data, Used.of(used.names, whole=True)), expected)
        refused: dict[int, Said] = {}
        mappings = [json.loads(text) for text in texts]
        batch = batch_of_mappings(
            mappings,
            schema,
            lambda row, error, refused=refused: refused.update({row: (type(error), str(error))}),  # type: ignore[misc]
            used if schema.open else None,
        )
        check(schema, batch, refused, expected)
        seen["refused"] += len(refused)
        seen["sound"] += batch.size

    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize("part", range(4))
def test_the_engine_answers_json_as_the_oracle_answers_mappings(part: int) -> None:
    for seed in range(part * 12, part * 12 + 12):
        dice = Dice(random.Random(f"answers {seed}").randrange)
        schema = Schema(open=True) if dice.chance(2) else make_schema(dice)
        subscriptions = [(n, make_expression(dice, schema)) for n in range(25)]
        engine, oracle = Engine(schema), Engine(schema, algorithm="naive")
        for one in (engine, oracle):
            one.subscribe_many(subscriptions)
        raws = [raw for raw in (make_event(dice, schema) for _ in range(40)) if _is_json(raw)]
        texts = [spelt(dice, raw) for raw in raws]
        expected = [sorted(map(int, oracle.match(json.loads(text)))) for text in texts]

        for data in (as_lines(dice, texts), as_array(dice, texts)):
            assert [sorted(map(int, ids)) for ids in engine.match_json(data)] == expected, seed
            assert [sorted(map(int, ids)) for ids in oracle.match_json(data)] == expected, seed
        mappings = [json.loads(text) for text in texts]
        assert [sorted(map(int, ids)) for ids in engine.match_many(mappings)] == expected, seed
        assert [sorted(map(int, engine.match(raw))) for raw in mappings] == expected, seed


# -- what is JSON, and what is none -------------------------------------------------------------------------------

PIECES = (
    *(
        '{"a":1}',
        '{"a": [1, 2.5e3, "x\\u00e9"], "b": {"c": null}}',
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        '"',
        "\\",
        "true",
        "fals",
    ),
    *(
        "null",
        "-",
        "0",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "-0",
        "1E5",
        "NaN",
        "Infinity",
        " ",
        "\t",
        "\x00",
        "\x1f",
        "\\u12",
    ),
    *(
        "\\ud800",
        "\\udc00",
        "é",
        "\x7f",
        "😀",
        "\\/",
        "\\x",
        "[]",
        "{}",
        '{"',
        '":',
        '"a"',
        "9" * 30,
        "1e400",
        "\ufeff",
    ),
)
BYTES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98\x80", b"\xe2\x82", b"\x80")


def _no_constant(name: str) -> object:
    raise ValueError(name)


def python_reads(line: bytes) -> bool:
    """Whether Python's `json` takes it for an object; NaN and the like are no JSON, whatever Python says."""
    try:
        found = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict)


def mutated(roll: Callable[[int], int], data: bytes) -> bytes:
    for _ in range(1 + roll(3)):
        at, how = roll(len(data) + 1), roll(5)
        piece = PIECES[roll(len(PIECES))].encode() if roll(4) else BYTES[roll(len(BYTES))]
        if how == 0:
            data = data[:at] + data[at + 1 + roll(3) :]
        elif how == 1:
            data = data[:at] + bytes([roll(256)]) + data[at + 1 :]
        elif how == 2:
            data = data[:at]
        else:
            data = data[:at] + piece + data[at + (how == 4) :]
    return data.replace(b"\n", b" ")


def verdicts(data: bytes, used: Used) -> tuple[list[bool], dict[int, Said]]:
    """What the kernel says; the slow road must say the same."""
    batch, refused = read(Schema(open=True), data, used)
    rows = batch.size + len(refused)
    slowly, refused_slowly = read(Schema(open=True), data, Used.of(used.names, whole=True))
    assert (slowly.size, set(refused_slowly)) == (batch.size, set(refused)), (data, refused, refused_slowly)
    return [row not in refused for row in range(rows)], refused


def check_verdicts(seed: object, count: int) -> int:
    roll = random.Random(f"mutants {seed}").randrange
    lines = []
    for _ in range(count):
        dice = Dice(roll)
        raw = {
            dice.one(("a", "b", "é", "x y")): dice.one((1, "a", [1, "é"], {"c": {"d": [{}]}}, -2.5, None))
            for _ in "123"
        }
        line = spelt(dice, raw).encode("utf-8", "surrogatepass")
        lines.append(mutated(roll, line) if roll(4) else line.replace(b"\n", b" "))
    lines = [line for line in lines if line.strip(b" \t\r") and not line.startswith(b"\xef\xbb\xbf")]
    expected = [python_reads(line) for line in lines]
    for first in range(0, len(lines), 50):
        some = lines[first : first + 50]
        if some[0].lstrip(b" \t\r")[:1] == b"[":
            some = [b"{}", *some[1:]]
            expected[first] = True
        found, refused = verdicts(b"\n".join(some), Used.of(("nobody",)))
        assert found == expected[first : first + 50], [
            (line, refused.get(at)) for at, line in enumerate(some) if found[at] != expected[first + at]
        ]
    return sum(expected)


def test_what_python_does_not_read_is_refused_and_nothing_else() -> None:
    accepted = check_verdicts(0, 3_000)

    assert 300 < accepted < 2_700


@pytest.mark.parametrize("seed", range(40))
def test_an_array_is_read_up_to_its_first_mistake(seed: int) -> None:
    dice = Dice(random.Random(f"arrays {seed}").randrange)
    texts = [spelt(dice, {"a": n, "b": ["é", {"c": n}]}) for n in range(5)]
    data = mutated(random.Random(f"array {seed}").randrange, as_array(dice, texts))
    if data.lstrip(b" \t\r\n")[:1] != b"[":
        return
    try:
        found = json.loads(data.decode(), parse_constant=_no_constant)
        good = isinstance(found, list)
    except ValueError:
        good = False

    _, refused = verdicts(data, Used.of(("nobody",)))
    malformed = [row for row, (_, said) in refused.items() if said.startswith("expected JSON at line")]

    assert (len(malformed) == 0) is good
    if good:
        assert set(refused) == {row for row, one in enumerate(found) if not isinstance(one, dict)}


NUMBERS = ("0", "-0", "-0.0", "1e-400", "1e400", "0.1", "1.7976931348623157e308", "5e-324", "2.4703282292062327e-324")


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_what_python_reads(seed: int) -> None:
    roll = random.Random(f"numbers {seed}")
    numbers = list(NUMBERS)
    for _ in range(2_000):
        digits = "".join(roll.choice("0123456789") for _ in range(roll.randrange(1, 22))).lstrip("0") or "0"
        number = roll.choice(("", "-")) + digits
        if roll.random() < 0.7:
            number += "." + "".join(roll.choice("0123456789") for _ in range(roll.randrange(1, 22)))
        if roll.random() < 0.5:
            number += roll.choice("eE") + roll.choice(("", "+", "-")) + str(roll.randrange(0, 330))
        numbers.append(number)
    numbers += [repr(roll.uniform(-1e3, 1e3)) for _ in range(1_000)] + [
        str(roll.randrange(-(2**70), 2**70)) for _ in range(200)
    ]
    used = Used.of(("n",))

    batch, refused = read(Schema(open=True), "\n".join(f'{{"n":{number}}}' for number in numbers).encode(), used)

    expected = [json.loads(number) for number in numbers]
    finite = [one for one in expected if abs(one) != float("inf")]
    assert batch.size == len(finite)
    found: dict[int, object] = {}
    for part in batch.parts["n"]:
        found |= zip(part.rows.tolist(), part.values.tolist(), strict=True)
    assert [found[row] for row in range(batch.size)] == finite
    assert len(refused) == len(expected) - len(finite)


# -- by line and column -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"a": 1}\n\n{"a": }', "event 1: expected JSON at line 3, column 7: a value, found '}'"),
        ('{"é": 1, "b" 2}'.encode(), "line 1, column 14: ':' after a name, found '2'"),
        (b'{"a": 1', "line 1, column 8: ',' or '}', found the end of the text"),
        (b'{"a": [1 2]}', "line 1, column 10: ',' or ']', found '2'"),
        (
            b'{"a": "x\ny"}',
            "line 1, column 9: a character of a string, or its closing quote, found the end of the line",
        ),
        (b'{"a": "\xff"}', "line 1, column 8: a character of a string, or its closing quote, found byte 0xff"),
        (b'{"a": -}', "line 1, column 8: a digit of a number, found '}'"),
        (b'{"a": NaN}', "line 1, column 7: a value, found 'N'"),
        (b"{'a': 1}", 'line 1, column 2: a name in double quotes, found "\'"'),
        (b'{"a": 1} {}', "line 1, column 10: the end of the line, found '{'"),
        (b'[{"a": 1},\n {"a": 1}\n {}]', "line 3, column 2: ',' or ']' after an event"),
        (b'[{"a": 1},]', "line 1, column 11: a value, found ']'"),
        (b"[{}] {}", "line 1, column 6: ',' or ']' after an event, and nothing after the last ']', found '{'"),
        (b'{"a": ' + b"[" * 600, "at most 512 brackets inside one another"),
        (b"3", "event 0: expected an event as a JSON object, found 3"),
    ],
)
def test_what_is_not_json_is_named_by_line_and_column(data: bytes, place: str) -> None:
    engine = Engine()
    engine.subscribe("ann", "a = 1")

    with pytest.raises(EventError) as caught:
        engine.match_json(data)

    assert place in str(caught.value)


def test_reading_goes_on_at_the_next_line() -> None:
    batch, refused = read(Schema(open=True), b'{"a": 1}\n{"a": \n{"a": "x}\n[]\n{"a": 2}', Used.of(("a",)))

    assert list(refused) == [1, 2, 3]
    assert [[value.data for value in batch.event(row).values["a"]] for row in range(batch.size)] == [[1], [2]]


def test_of_duplicate_names_the_last_wins_whole() -> None:
    engine = Engine()
    engine.subscribe_many([("b", "a.b = 1"), ("c", "a.c = 2"), ("x", "x = 1")])

    answers = engine.match_json(b'{"a":{"b":1},"a":{"c":2}}\n{"x":[1],"x":null}\n{"x":2,"\\u0078":1}\n{"a.b":1}')

    assert list(answers) == [["c"], [], ["x"], ["b"]]


def test_a_name_given_nested_and_with_a_dot_is_refused_if_it_is_used() -> None:
    engine = Engine()
    engine.subscribe("b", "a.b = 1")

    assert list(engine.match_json(b'{"c":{"d":1},"c.d":1}')) == [[]]
    with pytest.raises(EventError, match="given twice"):
        engine.match_json(b'{"a":{"b":1},"a.b":1}')


def test_of_an_open_schema_only_what_is_used_is_refused() -> None:
    engine = Engine()
    engine.subscribe("ann", "a = 1")
    odd = b'{"a": 1, "b": [[1]], "": 2, "c": "\\ud800", "d": 1e999, "e": ' + b"9" * 5_000 + b', "f": ' + b"[" * 99
    data = odd + b"]" * 99 + b"}"

    assert list(engine.match_json(data)) == [["ann"]]
    assert engine.match(json.loads(data, parse_int=float)) == ["ann"]
    assert list(engine.match_many([json.loads(data, parse_int=float)] * 20)) == [["ann"]] * 20
    for wrong in (b"[[1]]", b'"\\ud800"', b"1e999", b"9" * 5_000):
        with pytest.raises(EventError):
            engine.match_json(b'{"a": ' + wrong + b"}")
    with pytest.raises(LimitError):
        engine.match_json(b'{"a": [' + b"1," * 100_000 + b"1]}")


def test_of_a_closed_schema_everything_is_checked() -> None:
    engine = Engine(
        Schema.loads('[attributes]\na = "integer"\nb = "string"\n[event_types.t]\na = "mandatory"\nb = "optional"\n')
    )
    engine.subscribe("ann", "a = 1")

    assert list(engine.match_json(b'{"a": 1}\n{"a": 1.0, "b": "x", "c": null}')) == [["ann"], ["ann"]]
    for rule, wrong in (
        ("R3", b'{"a": 1, "c": 1}'),
        ("R2", b'{"b": "x"}'),
        ("R2", b'{"a": 1, "b": 2}'),
        ("R2", b'{"a": [1, 2]}'),
    ):
        with pytest.raises(EventError) as caught:
            engine.match_json(wrong)
        assert caught.value.rule == rule


def test_instants_are_read_by_the_schema_or_just_like_it() -> None:
    schema = Schema.loads('[attributes]\nt = "timestamp"\n')
    texts = [
        *(
            "2024-05-31",
            "2024-05-31T12:00:00",
            "2024-05-31T12:00:00Z",
            "2024-02-29T23:59:59.1Z",
            "2024-05-31T12:00:00.123456789Z",
        ),
        *(
            "2023-02-29",
            "2024-13-01",
            "2024-05-31T24:00:00Z",
            "2024-05-31T12:00:60",
            "2024-05-31T12:00:00.",
            "2024-05-31 12:00:00",
        ),
        *(
            "2024-05-31T14:00:00+02:00",
            "0001-01-01",
            "9999-12-31T23:59:59.999999999Z",
            "1969-12-31T23:59:59.5",
            "2024-05-31T",
            "x",
        ),
        *(
            "2024-05-31T12:00:00.1234567891Z",
            "1700-03-01",
            "2200-12-31T00:00:00Z",
            "1900-02-29",
            "2000-02-29",
            "20240531",
            "2024-W01-1",
        ),
    ]
    raws = [json.dumps({"t": text}) for text in texts]

    check(schema, *read(schema, "\n".join(raws).encode(), Used.of(())), [said_of(schema, raw, None) for raw in raws])


def test_the_kernels_say_the_same_when_they_are_not_compiled() -> None:
    tests = "schema_says or first_mistake or line_and_column or closed_schema or instants or paths_and_files"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        __file__,
        "-k",
        tests,
    ]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-3000:]


# -- where it comes from ------------------------------------------------------------------------------------------


def test_bytes_paths_and_files_are_read(tmp_path: Path) -> None:
    engine = Engine()
    engine.subscribe("ann", "a = 1")
    data = b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n'
    path = tmp_path / "events.jsonl"
    path.write_bytes(data)

    with path.open("rb") as file:
        for source in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), str(path), path, file):
            assert list(engine.match_json(source)) == [["ann"], []]  # type: ignore[arg-type]
    assert list(engine.match_json(b"")) == list(engine.match_json(b" \n")) == list(engine.match_json(b"[ ]")) == []


def test_a_str_is_a_path_never_json(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("{}")
    with pytest.raises(OptionError, match="a str is a path: JSON itself is given as bytes"):
        open_json('{"a": 1}')
    with path.open() as file, pytest.raises(OptionError, match="open it as 'rb'"):
        open_json(file)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="expected JSON as bytes"):
        open_json(3)  # type: ignore[arg-type]


def test_an_open_schema_learns_from_a_sample_of_json() -> None:
    engine = Engine()
    engine.match_json(b'{"a": 1, "b": {"c": "x"}}\n{"d": true}\n')

    assert engine.stats()["attributes"] == {"a": ["number"], "b.c": ["string"], "d": ["boolean"]}
