"""Hypothesis strategies for schemas, expressions and events, made to collide.

Domains are small and constants sit on their edges: an event's values are the constants of the expressions, or lie
next to them. What a strategy yields is always valid: `expressions(schema)` can be parsed, `raw_events(schema)`
can be read.

    schema = data.draw(schemas())
    text = data.draw(expressions(schema))
    event = schema.event(data.draw(raw_events(schema)))
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

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
    Schema,
    String,
    Timestamp,
    Untyped,
    Use,
)

__all__ = ["constants", "domains", "expressions", "raw_events", "raw_values", "schemas"]

NAMES = ("a", "b", "c", "price", "seller.rating", "in", "dining room", "Größe", 'say "`hi`"')
"""Attribute names, plain and odd."""

TYPES = ("antiques", "furniture", "or", "it's")

NUMBERS = (-1, 0, 1, 2, 3, 5, -0.0, 0.5, 1.0, 2.5, 3.0, 2**53, 2**53 + 1, 2.0**53, -(2**63), 2**64, 1e300, 10**400)
STRINGS = (
    "",
    "a",
    "a\x00",
    "aa",
    "ab",
    "abc",
    "b",
    "B",
    "3",
    "true",
    "é",
    "e\u0301",
    "it's",
    "\ud7ff",
    "\ue000",
    "\U0001f600",
    "\U0010ffff",
    "\U0010ffff\U0010ffff",
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
MEMBERS = ("XVI", "XVII", "dining table", "table", "oak", "and", "it's", "é")

_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_RESERVED = frozenset(
    "and or not in between is missing present starts with contains true false timestamp".split()  # noqa: SIM905
)


# -- schemas ------------------------------------------------------------------------------------------------------


def domains() -> st.SearchStrategy[Domain]:
    """Every type of domain, ranges, partial orders and hierarchies with several parents among them."""
    plain = st.sampled_from([Integer(), Number(), String(), Boolean(), Timestamp(), Untyped()])
    ranges = st.sampled_from([Integer(0, 5), Integer(1, 2), Integer(0, 0), Integer(None, 3), Integer(2, None)])
    return st.one_of(plain, ranges, _enumerated(), _hierarchical())


@st.composite
def _enumerated(draw: st.DrawFn) -> Enumerated:
    names = draw(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=6, unique=True))
    pairs = [(low, high) for at, low in enumerate(names) for high in names[at + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=6, unique=True)) if pairs else []
    return Enumerated(tuple(draw(st.permutations(names))), tuple(chosen))


@st.composite
def _hierarchical(draw: st.DrawFn) -> Hierarchical:
    names = draw(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=8, unique=True))
    parents = {}
    for at, name in enumerate(names):
        above = st.lists(st.sampled_from(names[:at]), max_size=3, unique=True) if at else st.just([])
        parents[name] = tuple(draw(above))
    return Hierarchical.of(parents)


@st.composite
def _declared(draw: st.DrawFn) -> Schema:
    named = draw(st.dictionaries(st.sampled_from(["period", "kind of", "size"]), domains(), max_size=2))
    attributes = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True)):
        if named and draw(st.booleans()):
            domain_name = draw(st.sampled_from(sorted(named)))
            attributes[name] = Attribute(name, named[domain_name], domain_name)
        else:
            attributes[name] = Attribute(name, draw(domains()))
    use = st.builds(Use, st.booleans(), st.booleans())
    uses = st.dictionaries(st.sampled_from(sorted(attributes)), use, max_size=5)
    event_types = draw(st.dictionaries(st.sampled_from(TYPES), uses, max_size=3))
    return Schema(named, attributes, event_types, open=draw(st.sampled_from([False, False, False, True])))


def schemas() -> st.SearchStrategy[Schema]:
    """The open schema, closed schemas with and without event types, and open ones that declare attributes."""
    return st.one_of(st.just(Schema(open=True)), _declared(), _declared())


# -- values -------------------------------------------------------------------------------------------------------


def raw_values(domain: Domain) -> st.SearchStrategy[object]:
    """Raw values the domain accepts: its constants, their other spellings and their neighbours."""
    match domain:
        case Integer():
            near = st.sampled_from([n for whole in _wholes(domain) for n in (whole - 1, whole, whole + 1)])
            spelt = st.sampled_from([int, int, int, float, Decimal])
            return st.builds(_respelt, near.filter(lambda n: _within(domain, n)), spelt)
        case Number():
            return st.one_of(st.sampled_from(NUMBERS), _near_numbers())
        case String():
            return st.one_of(st.sampled_from(STRINGS), st.builds(str.__add__, *[st.sampled_from(STRINGS)] * 2))
        case Boolean():
            return st.booleans()
        case Timestamp():
            return st.one_of(st.sampled_from(MOMENTS), _moments())
        case Finite():
            return st.sampled_from(domain.names)
    return st.one_of(raw_values(Number()), raw_values(String()), raw_values(Boolean()), _moments())


def _wholes(domain: Integer) -> list[int]:
    bounds = [bound for bound in (domain.min, domain.max) if bound is not None]
    wholes = [n for n in NUMBERS if isinstance(n, int) and _within(domain, n)]
    return wholes + bounds


def _within(domain: Integer, whole: int) -> bool:
    return (domain.min is None or whole >= domain.min) and (domain.max is None or whole <= domain.max)


def _respelt(whole: int, spelling: type) -> object:
    return whole if abs(whole) > 2**64 or int(spelling(whole)) != whole else spelling(whole)


def _near_numbers() -> st.SearchStrategy[object]:
    floats = st.sampled_from([float(n) for n in NUMBERS if abs(n) < 1e301])
    return st.one_of(
        st.builds(math.nextafter, floats, st.sampled_from([math.inf, -math.inf])).filter(math.isfinite),
        st.sampled_from([n for n in NUMBERS if isinstance(n, int)]).map(lambda n: n + 1),
        st.sampled_from([Decimal("0.5"), Decimal(2**53 + 1), Decimal("2.50")]),
    )


def _moments() -> st.SearchStrategy[object]:
    return st.sampled_from(
        [
            datetime(2024, 5, 31, 12, tzinfo=UTC),
            datetime(2024, 5, 31, 12),  # noqa: DTZ001  # naive on purpose: it is UTC
            datetime(2024, 5, 31, 12, 0, 0, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            date(2024, 5, 31),
        ]
    )


# -- events -------------------------------------------------------------------------------------------------------


@st.composite
def raw_events(draw: st.DrawFn, schema: Schema) -> dict[str, object]:
    """Mappings that `schema.event` accepts: missing, single, repeated and several values, nested names."""
    raw: dict[str, object] = {}
    if schema.event_types and not schema.open:
        types = draw(st.lists(st.sampled_from(sorted(schema.event_types)), min_size=1, max_size=2))
        if len(schema.event_types) > 1 or draw(st.booleans()):
            raw[EVENT_TYPE] = types[0] if len(types) == 1 else types
        uses = schema.view(types).uses
    else:
        types = draw(st.lists(st.sampled_from(TYPES), max_size=2))
        if types:
            raw[EVENT_TYPE] = types
        names = (*schema.attributes, *(NAMES if schema.open else ()))
        uses = dict.fromkeys(names, Use(mandatory=False, multiple=True))
    for name, use in uses.items():
        domain = schema.domain(name)
        assert domain is not None
        if use.mandatory or draw(st.integers(0, 3)):
            raw[name] = draw(_choices(domain, use))
    return _nested(raw) if draw(st.booleans()) else raw


def _choices(domain: Domain, use: Use) -> st.SearchStrategy[object]:
    one = raw_values(domain)
    several = st.lists(one, min_size=1, max_size=4) if use.multiple else one.map(lambda value: [value, None, value])
    absent = st.nothing() if use.mandatory else st.sampled_from([None, [], [None]])
    return st.one_of(one, one, several, absent)


def _nested(raw: dict[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for name, choice in raw.items():
        outer, dot, inner = name.partition(".")
        nested[outer] = {inner: choice} if dot else choice
    return nested


# -- expressions --------------------------------------------------------------------------------------------------


@st.composite
def expressions(draw: st.DrawFn, schema: Schema) -> str:
    """Expressions valid for the schema, on few attributes so that their predicates meet."""
    names = [*schema.attributes, *(NAMES[:4] if schema.open else ()), EVENT_TYPE]
    focus = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
    return draw(_combined(schema, focus, draw(st.integers(1, 6))))


@st.composite
def _combined(draw: st.DrawFn, schema: Schema, focus: Sequence[str], leaves: int) -> str:
    if leaves == 1:
        text = draw(_tests(schema, draw(st.sampled_from(focus))))
    else:
        left = draw(st.integers(1, leaves - 1))
        word = draw(st.sampled_from(["and", "and", "or", "AND", "Or"]))
        parts = [draw(_combined(schema, focus, size)) for size in (left, leaves - left)]
        text = f" {word} ".join(parts)
        if draw(st.booleans()):
            text = f"({text})"
    negated = draw(st.integers(0, 5)) == 0
    return f"not ({text})" if negated else text


@st.composite
def _tests(draw: st.DrawFn, schema: Schema, name: str) -> str:
    """One attribute put to one test that its domain allows."""
    domain = schema.domain(name)
    assert domain is not None
    left = draw(_spelt_name(name))
    ways = ["compare", "compare", "in", "contains", "presence"]
    ways += ["between"] if domain.ordered else []
    ways += ["starts"] if isinstance(domain, String | Untyped) else []
    ways += ["reference"] if _partners(schema, name) else []
    constant = constants(domain)
    match draw(st.sampled_from(ways)):
        case "compare":
            constant = constants(domain, booleans=False) if domain.ordered else constant
            operators = ["=", "==", "!=", "<>", *(["<", "<=", ">", ">="] if domain.ordered else [])]
            return f"{left} {draw(st.sampled_from(operators))}{draw(st.sampled_from([' ', '']))}{draw(constant)}"
        case "in":
            listed = ", ".join(draw(_lists_of_one_kind(domain)))
            return f"{left} {draw(st.sampled_from(['in', 'not in', 'NOT IN']))} ({listed})"
        case "contains":
            return f"{left} {draw(st.sampled_from(['contains', 'not contains', 'Contains']))} {draw(constant)}"
        case "presence":
            return f"{left} is {draw(st.sampled_from(['missing', 'present', 'not missing', 'NOT present']))}"
        case "between":
            bound = constants(domain, booleans=False)
            return f"{left} {draw(st.sampled_from(['between', 'not between']))} {draw(bound)} and {draw(bound)}"
        case "starts":
            prefix = _quoted(draw(st.sampled_from(STRINGS)))
            return f"{left} {draw(st.sampled_from(['starts with', 'not starts with']))} {prefix}"
    other = draw(st.sampled_from(_partners(schema, name)))
    operators = ["=", "!=", *(["<", "<=", ">", ">="] if _comparable(schema, name, other) else [])]
    return f"{left} {draw(st.sampled_from(operators))} @{draw(_spelt_name(other, at=False))}"


def _partners(schema: Schema, name: str) -> list[str]:
    """Attributes that may stand right of this one."""
    mine = schema.domain(name)
    assert mine is not None
    found = []
    for other in [*schema.attributes, *(NAMES[:4] if schema.open else ())]:
        theirs = schema.domain(other)
        assert theirs is not None
        if other != name and (None in (mine.kind, theirs.kind) or mine.kind is theirs.kind):
            found.append(other)
    return found


def _comparable(schema: Schema, name: str, other: str) -> bool:
    mine, theirs = schema.domain(name), schema.domain(other)
    assert mine is not None
    assert theirs is not None
    named = isinstance(mine, Finite) or isinstance(theirs, Finite)
    return mine.ordered and theirs.ordered and (not named or mine == theirs)


def constants(domain: Domain, *, booleans: bool = True) -> st.SearchStrategy[str]:
    """Constants of the domain as they are written in an expression."""
    match domain:
        case Integer():
            return st.sampled_from(_wholes(domain)).map(str)
        case Number():
            return st.sampled_from(NUMBERS).map(str)
        case String():
            return st.sampled_from(STRINGS).map(_quoted)
        case Boolean():
            return st.sampled_from(["true", "false", "TRUE"])
        case Timestamp():
            spelling = st.sampled_from(["{}", "timestamp {}", "TIMESTAMP {}"])
            return st.builds(lambda text, moment: text.format(_quoted(moment)), spelling, st.sampled_from(MOMENTS))
        case Finite():
            return st.sampled_from(domain.names).flatmap(_spelt_member)
    kinds = [constants(Number()), constants(String()), st.sampled_from(MOMENTS).map(lambda m: f"timestamp '{m}'")]
    return st.one_of(*kinds, *([constants(Boolean())] if booleans else []))


def _lists_of_one_kind(domain: Domain) -> st.SearchStrategy[list[str]]:
    if isinstance(domain, Untyped):
        return st.one_of(
            *[_lists_of_one_kind(one) for one in (Number(), String(), Boolean())],
            st.lists(st.sampled_from(MOMENTS).map(lambda m: f"timestamp '{m}'"), min_size=1, max_size=4),
        )
    return st.lists(constants(domain), min_size=1, max_size=4)


def _spelt_name(name: str, *, at: bool = True) -> st.SearchStrategy[str]:
    quoted = ['"' + name.replace('"', '""') + '"', "`" + name.replace("`", "``") + "`"]
    plain = [name] * 4 if _is_plain(name) else []
    return st.sampled_from([*plain, *quoted, *([f"@{plain[0]}"] if at and plain else [])])


def _spelt_member(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([_quoted(name), *([name] if _is_plain(name) else [])])


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and name.lower() not in _RESERVED


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
