"""HOW subscriptions are written: text ⇄ normal form, and nothing else. `docs/language.md` is normative."""

from tamis.language.grammar import parse_syntax
from tamis.language.normal import MAX_CONJUNCTIONS, disjuncts, normalise
from tamis.language.printer import print_predicate, print_subscription
from tamis.language.resolve import Resolver
from tamis.model import Conjunction, Schema

__all__ = ["MAX_CONJUNCTIONS", "parse", "parse_raw", "print_predicate", "print_subscription"]


def parse(text: str, schema: Schema) -> tuple[Conjunction, ...]:
    """The normal form of an expression: the conjunctions any one of which is enough; none if it never matches."""
    return normalise(parse_raw(text, schema), schema)


def parse_raw(text: str, schema: Schema) -> list[Conjunction]:
    """The conjunctions before they are simplified: what the simplifier is tested against."""
    return disjuncts(parse_syntax(text), Resolver(text, schema))
