"""What the door counts, and all numbers as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping

__all__ = ["MEDIA", "Meter"]

MEDIA = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Meter:
    """Requests by route and status, and how long they took until the first byte of the answer. One loop writes it."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method, route, status] += 1
        times = self._times.setdefault(f"{method} {route}", [0] * (len(_SECONDS) + 1))
        times[bisect_left(_SECONDS, seconds)] += 1
        self._sums[f"{method} {route}"] = self._sums.get(f"{method} {route}", 0.0) + seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """All of it, the service's own numbers too."""
        return "\n".join((*self._lines(gauges), ""))

    def _lines(self, gauges: Mapping[str, float]) -> Iterator[str]:
        for name, number in sorted(gauges.items()):
            kind = "counter" if name.endswith("_total") else "gauge"
            yield f"# TYPE tamis_{name} {kind}"
            yield f"tamis_{name} {_shown(number)}"
        yield "# TYPE tamis_http_requests_total counter"
        for (method, route, status), count in sorted(self._requests.items()):
            yield f'tamis_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
        yield "# TYPE tamis_http_request_seconds histogram"
        for route in sorted(self._times):
            yield from self._histogram(route)

    def _histogram(self, route: str) -> Iterator[str]:
        name, total = "tamis_http_request_seconds", 0
        for bound, count in zip((*map(str, _SECONDS), "+Inf"), self._times[route], strict=True):
            total += count
            yield f'{name}_bucket{{route="{route}",le="{bound}"}} {total}'
        yield f'{name}_sum{{route="{route}"}} {_shown(self._sums[route])}'
        yield f'{name}_count{{route="{route}"}} {total}'


def _shown(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))
