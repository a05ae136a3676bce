"""What a look at something kept has shown: what is there, and what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tamis.errors import SegmentError

__all__ = ["Findings"]


@dataclass
class Findings:
    """Sentences. Damage is what the engine would refuse; notes are what one may want to know besides."""

    notes: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return not self.damage

    @contextmanager
    def looking(self, at: object) -> Iterator[None]:
        """Whatever is wrong with it is damage, and one goes on with the next."""
        try:
            yield
        except SegmentError as error:
            self.damage.append(str(error))
        except AssertionError as error:
            self.damage.append(f"{at}: an invariant does not hold: {error}")
