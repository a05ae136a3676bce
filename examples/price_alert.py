"""Price alerts that outlive the program: python price_alert.py FOLDER DAY

Alerts live in a durable folder: what `subscribe` and `unsubscribe` did is on disk before they return. Run the program
for day 1 and again for day 2, and the second run goes on with the alerts that the first one left.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import tamis

SCHEMA = tamis.Schema.loads("""
[attributes]
symbol = "string"
price = "number"
low = "number"
high = "number"

[event_types.price]
symbol = "mandatory"
price = "mandatory"
low = "mandatory"
high = "mandatory"
""")

ALERTS = {
    "ann": "symbol = 'OAK' and price < 95",
    "bob": "symbol = 'OAK' and price >= @high",
    "eve": "symbol in ('ELM', 'ASH') and (price < 40 or price > 60)",
}


def prices(day: int) -> Iterator[dict[str, object]]:
    """A walk for each symbol, the same for the same day, with the lowest and the highest price so far."""
    walk = random.Random(day)
    last = {"OAK": 100.0, "ELM": 50.0, "ASH": 50.0}
    low, high = dict(last), dict(last)
    for _ in range(200):
        symbol = walk.choice(list(last))
        price = last[symbol] = round(last[symbol] * walk.uniform(0.97, 1.03), 2)
        low[symbol], high[symbol] = min(low[symbol], price), max(high[symbol], price)
        yield {"symbol": symbol, "price": price, "low": low[symbol], "high": high[symbol]}


def main(folder: Path, day: int) -> None:
    with tamis.Engine.open(folder, schema=SCHEMA, create=True) as engine:
        if len(engine) == 0:
            engine.subscribe_many(ALERTS.items())
            print(f"new: {', '.join(map(str, engine.ids()))}")
        else:
            print(f"from before: {', '.join(map(str, engine.ids()))}")
        for tick in prices(day):
            for person in engine.match(tick):
                print(f"{person}: {tick['symbol']} at {tick['price']}")
                engine.unsubscribe(person)  # one alert is enough
        print(f"still waiting: {', '.join(map(str, engine.ids())) or 'nobody'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
