"""Hypothesis strategies for schemas, expressions and events, made to collide.

Domains are small and constants sit on their edges: an event's values are the constants of the expressions, or lie
next to them. What a strategy yields is always valid: `expressions(schema)` can be parsed, `raw_events(schema)`
can be read.

    schema = data.draw(schemas())
    text = data.draw(expressions(schema))
    event = schema.event(data.draw(raw_events(schema)))

Underneath, everything is made by a `Dice` that only ever asks for an index: Hypothesis rolls it in tests, and
`random.Random(seed).randrange` in runs of millions, where drawing from strategies would be most of the time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TypeVar

from hypothesis import strategies as st

from tamis.model import (
    EVENT_TYPE,
    Attribute,
    Boolean,
    Domain,
    Enumerated,
    Finite,
    Hierarchical,
    Integer,
    Number,
    Records,
    Schema,
    String,
    Timestamp,
    Untyped,
    Use,
)

__all__ = ["Dice", "expressions", "make_event", "make_expression", "make_schema", "make_test", "raw_events", "schemas"]

T = TypeVar("T")

NAMES = ("a", "b", "timestamp", "price", "seller.rating", "in", "dining room", "Größe", 'say "`hi`"')
"""Attribute names, plain and odd."""

LIST = "lines"
"""The name of what holds records, if anything does."""

TYPES = ("antiques", "furniture", "or", "it's")
MEMBERS = ("XVI", "XVII", "dining table", "table", "oak", "and", "it's", "é")
"""Names in enumerations and hierarchies."""

WHOLE = (-1, 0, 1, 2, 3, 5, 2**53, 2**53 + 1, -(2**63), 2**64, 10**400)
NUMBERS = (*WHOLE, -0.0, 0.5, 1.0, 2.5, 3.0, 2.0**53, 1e300)
NEAR = (
    *(math.nextafter(n, to) for n in (0.0, 0.5, 1.0, 2.5, 2.0**53, 2.0**64) for to in (math.inf, -math.inf)),
    *(n + 1 for n in WHOLE),
    Decimal("0.5"),
    Decimal(2**53 + 1),
    Decimal("2.50"),
)
"""Numbers that are, or are not quite, one of `NUMBERS`."""

STRINGS = (
    *("", "a", "a\x00", "aa", "ab", "abc", "b", "B", "3", "true", "it's", "é", "e\u0301"),
    *("ß", "SS", "ſs", "A", "aB", "%", "_", "a_b", "\\"),
    *("\ud7ff", "\ue000", "\U0001f600", "\U0010ffff", "\U0010ffff\U0010ffff"),
)
MOMENTS = (
    "2024-05-31T12:00:00Z",
    "2024-05-31T14:00:00+02:00",
    "2024-05-31T12:00:00.000000001Z",
    "2024-05-31",
    "2024-05-31T00:00:00",
    "1969-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
)
DATETIMES = (
    datetime(2024, 5, 31, 12, tzinfo=UTC),
    datetime(2024, 5, 31, 12),  # noqa: DTZ001  # naive on purpose: it is UTC
    datetime(2024, 5, 31, 12, 0, 0, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    date(2024, 5, 31),
)
RANGES = ((0, 5), (1, 2), (0, 0), (None, 3), (2, None))

_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_RESERVED = frozenset(
    ("and", "or", "not", "in", "between", "is", "missing", "present", "starts", "with", "contains", "true", "false")
)


def schemas() -> st.SearchStrategy[Schema]:
    """The open schema, closed schemas with and without event types, and open ones that declare attributes."""
    return _rolled(make_schema)


def expressions(schema: Schema) -> st.SearchStrategy[str]:
    """Expressions valid for the schema, on few attributes so that their predicates meet."""
    return _rolled(lambda dice: make_expression(dice, schema))


def raw_events(schema: Schema) -> st.SearchStrategy[dict[str, object]]:
    """Mappings that `schema.event` accepts: missing, single, repeated and several values, nested names."""
    return _rolled(lambda dice: make_event(dice, schema))


def dice() -> st.SearchStrategy[Dice]:
    """Rolls for as much as any schema, expression or event needs, in one draw: a draw for each takes longer than most
    tests. What is left over says nothing, and where they are too few the simplest follows."""
    return st.binary(min_size=128, max_size=128).map(_dice_of)


def _dice_of(drawn: bytes) -> Dice:
    rolls = iter(drawn)
    return Dice(lambda sides: next(rolls, 0) % sides)


def _rolled(make: Callable[[Dice], T]) -> st.SearchStrategy[T]:
    return dice().map(make)


class Dice:
    """Choices made by indices; 0 is always the simplest, so that Hypothesis shrinks towards it."""

    def __init__(self, roll: Callable[[int], int]) -> None:
        self.roll = roll

    def one(self, options: Sequence[T]) -> T:
        return options[self.roll(len(options))] if len(options) > 1 else options[0]

    def chance(self, one_in: int) -> bool:
        return self.roll(one_in) == one_in - 1

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Different options, in any order."""
        left, found = list(options), []
        for _ in range(min(least + self.roll(most - least + 1), len(left))):
            found.append(left.pop(self.roll(len(left))))
        return found


# -- schemas ------------------------------------------------------------------------------------------------------


def make_schema(dice: Dice) -> Schema:
    if dice.chance(4):
        return Schema(open=True)
    named = {name: make_domain(dice) for name in dice.some(("period", "kind of", "size"), 0, 2)}
    attributes = {name: _attribute(dice, name, named) for name in dice.some(NAMES, 1, 5)}
    if dice.chance(3):
        attributes[LIST] = Attribute(LIST, _records(dice, 1))
    event_types = {
        name: {attribute: Use(dice.chance(2), dice.chance(2)) for attribute in dice.some(tuple(attributes), 0, 5)}
        for name in dice.some(TYPES, 0, 3)
    }
    return Schema(named, attributes, event_types, open=dice.chance(4))


def _attribute(dice: Dice, name: str, named: dict[str, Domain]) -> Attribute:
    if named and dice.chance(2):
        domain_name = dice.one(tuple(named))
        return Attribute(name, named[domain_name], domain_name)
    return Attribute(name, make_domain(dice))


def make_domain(dice: Dice) -> Domain:
    """Any type of domain, ranges, partial orders and hierarchies with several parents among them."""
    plain = (Integer(), Number(), String(), Boolean(), Timestamp(), Untyped())
    match dice.roll(9):
        case 6:
            return Integer(*dice.one(RANGES))
        case 7:
            names = dice.some(MEMBERS, 1, 6)
            pairs = [(low, high) for at, low in enumerate(names) for high in names[at + 1 :]]
            return Enumerated(tuple(dice.some(names, len(names), len(names))), tuple(dice.some(pairs, 0, 6)))
        case 8:
            names = dice.some(MEMBERS, 1, 8)
            return Hierarchical.of({name: dice.some(names[:at], 0, 3) for at, name in enumerate(names)})
        case at:
            return plain[at]


def _records(dice: Dice, depth: int) -> Records:
    """Records with a few fields, in which there may be a list again."""
    fields = {name: make_domain(dice) for name in dice.some(NAMES[:6], 1, 3)}
    if depth < 2 and dice.chance(4):
        fields[LIST] = _records(dice, depth + 1)
    return Records.of(fields)


# -- events -------------------------------------------------------------------------------------------------------


def make_event(dice: Dice, schema: Schema) -> dict[str, object]:
    raw: dict[str, object] = {}
    if schema.event_types and not schema.open:
        types = dice.some(tuple(schema.event_types), 1, 2)
        if len(schema.event_types) > 1 or dice.chance(2):
            raw[EVENT_TYPE] = types[0] if len(types) == 1 else types
        uses = schema.view(types).uses
    else:
        types = dice.some(TYPES, 0, 2) if schema.typed else []
        if types:
            raw[EVENT_TYPE] = types
        lists = (LIST,) if schema.typed or dice.chance(6) else ()
        names = (*schema.attributes, *((*NAMES[:5], *lists) if schema.open else ()))
        uses = dict.fromkeys(names, Use(mandatory=False, multiple=True))
    for name, use in uses.items():
        if use.mandatory or not dice.chance(4):
            if schema.records(name) is not None and (name == LIST or isinstance(schema.domain(name), Records)):
                raw[name] = _listed(dice, schema, name, use)
            else:
                raw[name] = _choice(dice, _domain(schema, name), use)
    return _nested(raw) if dice.chance(2) else raw


def _domain(schema: Schema, name: str) -> Domain:
    domain = schema.domain(name)
    assert domain is not None
    return domain


def _listed(dice: Dice, schema: Schema, name: str, use: Use) -> object:
    """A list of records; where nothing is declared, plain values at times."""
    inner = schema.records(name)
    assert inner is not None
    if not use.mandatory and dice.chance(6):
        undeclared = [None, [], [1, "a"]]
        return dice.one(undeclared[:2] if isinstance(schema.domain(name), Records) else undeclared)
    count = 1 + (dice.roll(3) if use.multiple else 0)
    listed = [make_event(dice, inner) for _ in range(count)]
    return [*listed, None] if dice.chance(8) else listed


def _choice(dice: Dice, domain: Domain, use: Use) -> object:
    if not use.mandatory and dice.chance(10):
        return dice.one((None, [], [None]))
    if use.multiple and dice.chance(2):
        return [make_value(dice, domain) for _ in range(1 + dice.roll(4))]
    value = make_value(dice, domain)
    return value if not dice.chance(8) else [value, None, value]


def make_value(dice: Dice, domain: Domain) -> object:
    """A raw value the domain accepts: a constant of the expressions, another spelling of it, or its neighbour."""
    match domain:
        case Integer():
            near = [n for whole in _wholes(domain) for n in (whole, whole - 1, whole + 1) if _within(domain, n)]
            return _respelt(dice, dice.one(near))
        case Number():
            return dice.one(NEAR) if dice.chance(4) else dice.one(NUMBERS)
        case String():
            return dice.one(STRINGS) + (dice.one(STRINGS) if dice.chance(4) else "")
        case Boolean():
            return dice.chance(2)
        case Timestamp():
            return dice.one(DATETIMES) if dice.chance(3) else dice.one(MOMENTS)
        case Finite():
            return dice.one(domain.names)
    kind = dice.roll(6)
    return (
        make_value(dice, (Number(), Number(), String(), String(), Boolean())[kind]) if kind < 5 else dice.one(DATETIMES)
    )


def _wholes(domain: Integer) -> list[int]:
    bounds = [bound for bound in (domain.min, domain.max) if bound is not None]
    return [n for n in WHOLE if _within(domain, n)] + bounds


def _within(domain: Integer, whole: int) -> bool:
    return (domain.min is None or whole >= domain.min) and (domain.max is None or whole <= domain.max)


def _respelt(dice: Dice, whole: int) -> object:
    spelling = dice.one((int, int, float, Decimal))
    return whole if abs(whole) > 2**64 or int(spelling(whole)) != whole else spelling(whole)


def _nested(raw: dict[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for name, choice in raw.items():
        outer, dot, inner = name.partition(".")
        nested[outer] = {inner: choice} if dot else choice
    return nested


# -- expressions --------------------------------------------------------------------------------------------------


def make_expression(dice: Dice, schema: Schema) -> str:
    return _combined(dice, schema, dice.some(_names(dice, schema), 1, 3), leaves=1 + dice.roll(6))


def _names(dice: Dice, schema: Schema) -> list[str]:
    """Attributes, the fields of records and lists of records among them."""
    names = [*schema.attributes, *((*NAMES[:4], LIST) if schema.open else ())]
    inner = schema.records(LIST)
    if inner is not None and dice.chance(2):
        names += [f"{LIST}.{name}" for name in ([*inner.attributes] or NAMES[:3])]
    return [*names, *((EVENT_TYPE,) if schema.typed else ())]


def _combined(dice: Dice, schema: Schema, focus: Sequence[str], leaves: int) -> str:
    if leaves > 1 and dice.chance(8):
        members = [_combined(dice, schema, focus, 1 + dice.roll(2)) for _ in range(leaves)]
        text = f"at least {1 + dice.roll(leaves)} of ({', '.join(members)})"
    elif leaves == 1:
        text = make_test(dice, schema, dice.one(focus))
    else:
        left = 1 + dice.roll(leaves - 1)
        word = dice.one(("and", "and", "AND", "or", "Or"))
        text = f" {word} ".join(_combined(dice, schema, focus, size) for size in (left, leaves - left))
        text = f"({text})" if dice.chance(2) else text
    return f"not ({text})" if dice.chance(6) else text


def make_test(dice: Dice, schema: Schema, name: str) -> str:
    """One attribute put to one test that its domain allows."""
    domain, left = _domain(schema, name), _spelt(dice, name)
    inner = schema.records(name)
    if inner is not None and (isinstance(domain, Records) or (name == LIST and not dice.chance(3))):
        if dice.chance(6):
            return f"{left} {_presence(dice, domain)}"
        within = dice.some([one for one in _names(dice, inner) if one != LIST or schema.typed], 1, 3)
        return f"{dice.one(('any', 'any', 'ANY'))}({left}: {_combined(dice, inner, within, 1 + dice.roll(3))})"
    partners = _partners(schema, name)
    ways = [_compare, _compare, _compare, _in, _contains, _presence]
    ways += [_between] if domain.ordered else []
    ways += [_text_test, _text_test, _folded_test] if isinstance(domain, String | Untyped) else []
    way = dice.roll(len(ways) + bool(partners))
    if way < len(ways):
        return f"{left} {ways[way](dice, domain)}"
    other = dice.one(partners)
    ordered = ("<", "<=", ">", ">=") if _comparable(domain, _domain(schema, other)) else ()
    return f"{left} {dice.one(('=', '!=', *ordered))} @{_spelt(dice, other).removeprefix('@')}"


def _compare(dice: Dice, domain: Domain) -> str:
    ordered = ("<", "<=", ">", ">=") if domain.ordered else ()
    operator = dice.one(("=", *ordered, "!=", "==", "<>"))
    constant = make_constant(dice, domain, booleans=operator not in ordered)
    return f"{operator}{dice.one((' ', ''))}{constant}"


def _in(dice: Dice, domain: Domain) -> str:
    one_kind = dice.one((Number(), String(), Boolean())) if isinstance(domain, Untyped) else domain
    listed = [make_constant(dice, one_kind) for _ in range(1 + dice.roll(4))]
    return f"{dice.one(('in', 'not in', 'NOT IN'))} ({', '.join(listed)})"


def _contains(dice: Dice, domain: Domain) -> str:
    return f"{dice.one(('contains', 'not contains', 'Contains'))} {make_constant(dice, domain)}"


def _presence(dice: Dice, domain: Domain) -> str:
    return f"is {dice.one(('present', 'missing', 'not missing', 'NOT present'))}"


def _between(dice: Dice, domain: Domain) -> str:
    low, high = (make_constant(dice, domain, booleans=False) for _ in range(2))
    return f"{dice.one(('between', 'not between'))} {low} and {high}"


def _text_test(dice: Dice, domain: Domain) -> str:
    words = dice.one(("starts with", "ends with", "includes", "like", "ilike"))
    constant = _pattern(dice) if words.endswith("like") else dice.one(STRINGS)
    return f"{dice.one(('', 'not '))}{words} {_quoted(constant)}{_folding(dice)}"


def _folded_test(dice: Dice, domain: Domain) -> str:
    """What is about whole strings, in whatever case."""
    if dice.chance(3):
        listed = ", ".join(_quoted(dice.one(STRINGS)) for _ in range(1 + dice.roll(3)))
        return f"{dice.one(('in', 'not in'))} ({listed}) ignoring case"
    return f"{dice.one(('=', '!=', 'contains', 'not contains'))} {_quoted(dice.one(STRINGS))} Ignoring CASE"


def _folding(dice: Dice) -> str:
    return dice.one(("", "", " ignoring case"))


def _pattern(dice: Dice) -> str:
    r"""Texts and wildcards; of the texts' own signs some are escaped, and a lone `\\` is not left at the end."""
    pieces = [
        dice.one(("%", "_", "%", dice.one(STRINGS).replace("\\", "\\\\"), dice.one(("a", "b", "\\%", "\\_", "\\a"))))
        for _ in range(1 + dice.roll(4))
    ]
    return "".join(pieces)


def make_constant(dice: Dice, domain: Domain, *, booleans: bool = True) -> str:
    """A constant of the domain as it is written in an expression."""
    match domain:
        case Integer():
            return str(dice.one(_wholes(domain)))
        case Number():
            return str(dice.one(NUMBERS))
        case String():
            return _quoted(dice.one(STRINGS))
        case Boolean():
            return dice.one(("true", "false", "TRUE"))
        case Timestamp():
            return dice.one(("", "timestamp ", "TIMESTAMP ")) + _quoted(dice.one(MOMENTS))
        case Finite():
            name = dice.one(domain.names)
            return name if _is_plain(name) and dice.chance(2) else _quoted(name)
    kind = dice.roll(6 if booleans else 5)
    if kind == 4:
        return "timestamp " + _quoted(dice.one(MOMENTS))
    return make_constant(dice, (Number(), Number(), String(), String(), String(), Boolean())[kind])


def _partners(schema: Schema, name: str) -> list[str]:
    """Attributes that may stand right of this one."""
    mine = _domain(schema, name).kind
    others = [*schema.attributes, *(NAMES[:4] if schema.open else ())]
    kinds = [(other, _domain(schema, other).kind) for other in others if other != name]
    kinds = [(other, kind) for other, kind in kinds if not isinstance(_domain(schema, other), Records)]
    return [other for other, theirs in kinds if mine is None or theirs is None or mine is theirs]


def _comparable(mine: Domain, theirs: Domain) -> bool:
    named = isinstance(mine, Finite) or isinstance(theirs, Finite)
    return mine.ordered and theirs.ordered and (not named or mine == theirs)


def _spelt(dice: Dice, name: str) -> str:
    quoted = ['"' + name.replace('"', '""') + '"', "`" + name.replace("`", "``") + "`"]
    return dice.one([name, name, name, f"@{name}", *quoted] if _is_plain(name) else quoted)


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and name.lower() not in _RESERVED


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
