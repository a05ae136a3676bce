"""Pictures that can be read in print and by the colour-blind: each line has a colour, a marker and a dash of its own.

Colours are those of Okabe and Ito, of which no two look alike to any eye; markers and dashes say the same without any
colour. A name looks the same in all pictures. matplotlib is imported when a picture is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.errors import OptionError
from tamis.experiments.frame.experiment import Experiment, Rows, column, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_lines", "has_plots", "save_picture", "style_of"]


class _Style(NamedTuple):
    colour: str
    marker: str
    dash: Any


_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLES = tuple(map(_Style, _COLOURS, _MARKERS, _DASHES))

_KNOWN: Mapping[str, int] = MappingProxyType(
    {"quarantining": 0, "fair-predicate": 1, "equality-preferred": 2, "adaptive": 4}
    | {"counting-lists": 0, "counting-bits": 1, "counting-matrix": 2, "sql-grouping": 3, "sql-sequential": 5}
    | {"table": 0, "ordered-list": 1, "rapid": 0, "tree": 1}
)


def style_of(name: str, at: int) -> _Style:
    """The look of a name; one that is not known gets that of its place."""
    return _STYLES[_KNOWN.get(name, at) % len(_STYLES)]


def draw_lines(
    axes: Axes, rows: Rows, *, x: str, y: str, by: str, spread: tuple[str, str] | None = None, named: str = "{}"
) -> None:
    """A line per value of `by`; bars from the least to the most repeat if there are columns for these."""
    for at, name in enumerate(dict.fromkeys(str(row[by]) for row in rows)):
        some = [row for row in rows if str(row[by]) == name and row[x] is not None and row[y] is not None]
        if not some:
            continue
        style = style_of(name, at)
        look: Any = {"color": style.colour, "marker": style.marker, "linestyle": style.dash, **_THIN}
        axes.errorbar(column(some, x), column(some, y), _bars(some, y, spread), label=named.format(name), **look)


_THIN: Mapping[str, float] = MappingProxyType({"markersize": 4.5, "linewidth": 1.4, "elinewidth": 0.8, "capsize": 2})


def _bars(rows: Rows, y: str, spread: tuple[str, str] | None) -> Any:
    if spread is None:
        return None
    low, high = spread
    middle = column(rows, y)
    below = [one - number(row, low) for one, row in zip(middle, rows, strict=True)]
    above = [number(row, high) - one for one, row in zip(middle, rows, strict=True)]
    return [below, above]


def has_plots() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


_LOOK: Any = MappingProxyType(
    {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.size": 9,
        "grid.alpha": 0.3,
        "grid.linewidth": 0.5,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "svg.fonttype": "none",  # text stays text: small files, and it can be searched
        "svg.hashsalt": "tamis",  # the same rows give the same file
    }
)


def save_picture(experiment: Experiment, rows: Rows, folder: Path, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw an experiment's rows, in each kind of file."""
    if not has_plots():
        raise OptionError("pictures need matplotlib; run: pip install 'tamis[experiments]'")
    import matplotlib
    from matplotlib.figure import Figure

    paths = [folder / f"{experiment.name}.{kind}" for kind in kinds]
    with matplotlib.rc_context({**_LOOK}):
        figure = Figure(figsize=experiment.size_inches, layout="constrained")
        experiment.draw(rows, figure)
        for path in paths:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
