"""What happens on the way of one event."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.segments.ask.roads import Roads


@pytest.fixture
def roads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roads that single events have taken, one after the other."""
    taken: list[str] = []

    def watch(name: str) -> None:
        first = getattr(Roads, name)

        def watched(self: Roads, *rest: Any) -> Any:
            asks = first(self, *rest)
            taken.extend([name] if asks or name == "careful" else [])
            return asks

        monkeypatch.setattr(Roads, name, watched)

    watch("plain")
    watch("careful")
    return taken
