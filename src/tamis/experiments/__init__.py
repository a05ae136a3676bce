"""The papers' experiments, redone: one file per table or figure, one line each in `EXPERIMENTS`.

tamis experiments list
tamis experiments run lesub-fig9 --scale small --out results/
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from tamis.errors import OptionError
from tamis.model.domains import hint

if TYPE_CHECKING:
    from tamis.experiments.frame.experiment import Experiment

__all__ = ["EXPERIMENTS", "find_experiment"]

EXPERIMENTS: Mapping[str, str] = MappingProxyType(
    {
        "topss-fig2": "ToPSS, figure 2: predicate matching by tables and lists, time and memory",
        "topss-fig3": "ToPSS, figure 3: subscription matching with a byte matrix, a bit matrix, lists",
        "topss-fig4": "ToPSS, figure 4: memory, lists with and without what deletion needs",
        "topss-table1": "ToPSS, table 1: matching one event by databases, a bit matrix, lists",
        "topss-table2": "ToPSS, table 2: loading all at once into databases, a bit matrix, lists",
        "lesub-fig9": "Le Subscribe, figure 9: time over the number of subscriptions, in one process and between two",
        "lesub-fig10": "Le Subscribe, figure 10: the influence of p, the share of equalities",
        "lesub-fig11": "Le Subscribe, figure 11: equalities only",
        "lesub-exception": "Le Subscribe, section 4: equalities that are not selective",
        "lesub-insertion": "Le Subscribe, section 4: the time to add one subscription",
        "pb-tree-table1": "PB+tree, table 1: how six predicate indexes grow, and pages on disk",
        "rapid-section3": "RAPIDMatch, section 3: counting against trees, by work",
        "rapid-fig3": "RAPIDMatch, figure 3: RAPIDMatch and TreeMatch over the number of subscriptions",
        "rapid-fig4": "RAPIDMatch, figure 4: the same over the events' distributions",
        "rapid-fig5": "RAPIDMatch, figure 5: time per match, Zipf",
        "rapid-fig6": "RAPIDMatch, figure 6: time per match, exponential",
        "rapid-propositions": "RAPIDMatch, propositions 3 and 4: space, and the worst event's nodes",
        "field-map": "all sixteen algorithms over a grid of workloads: who wins where",
    }
)
"""Name → what it redoes. The module of that name, with `_` for `-`, has the `EXPERIMENT`, and loads what it needs."""


def find_experiment(name: str) -> Experiment:
    """`OptionError` for a name that there is not."""
    if name not in EXPERIMENTS:
        raise OptionError(
            f"no experiment is called {name!r}{hint(name, EXPERIMENTS)} (there are: {', '.join(EXPERIMENTS)})"
        )
    found: Experiment = import_module(f"tamis.experiments.{name.replace('-', '_')}").EXPERIMENT
    return found
