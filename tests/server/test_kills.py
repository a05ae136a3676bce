"""Clients publish, subscribe, extend and listen while the server is killed with `kill -9`: nothing acknowledged is
lost.

Ten kills here; `make test-kills` does fifty. The seed is printed. Kills follow what was acknowledged, not a clock.
"""

from __future__ import annotations

import os
import random
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tamis import Client, Schema
from tests.server.forking import ForkedServer
from tests.server.processes import free_port

KILLS = int(os.environ.get("TAMIS_KILLS", "10"))
GROUPS = 4
FEEDS = ("one", "two")
FOREVER = 1 << 60

pytestmark = pytest.mark.slow


@dataclass
class Life:
    """A subscription from its acknowledged position on, until it was certainly, or perhaps, gone."""

    id: str
    feed: str
    group: int
    born: int
    surely_until: int = FOREVER
    perhaps_until: int = FOREVER


@dataclass
class Run:
    """What clients were told, and what they heard."""

    url: str
    events: dict[int, int] = field(default_factory=dict)
    lives: list[Life] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    heard: dict[str, list[tuple[int, str, tuple[str, ...]]]] = field(default_factory=lambda: defaultdict(list))
    done: threading.Event = field(default_factory=threading.Event)
    progress: threading.Condition = field(default_factory=threading.Condition)
    acknowledged: int = 0
    failures: list[BaseException] = field(default_factory=list)

    def client(self) -> Client:
        return Client(self.url, patience=120)

    def tell(self) -> None:
        with self.progress:
            self.acknowledged += 1
            self.progress.notify_all()

    def wait_for(self, more: int) -> None:
        with self.progress:
            until = self.acknowledged + more
            self.progress.wait_for(lambda: self.acknowledged >= until or self.failures, timeout=120)

    def thread(self, what: Callable[..., None], *arguments: object) -> threading.Thread:
        def guarded() -> None:
            try:
                what(self, *arguments)
            except BaseException as error:
                self.failures.append(error)
                raise

        made = threading.Thread(target=guarded, daemon=True)
        made.start()
        return made


def publish(run: Run, seed: int) -> None:
    chance = random.Random(seed)
    with run.client() as client:
        while not run.done.is_set():
            groups = [chance.randrange(GROUPS) for _ in range(chance.choice([1, 1, 5]))]
            receipt = client.publish([{"group": group, "seed": seed} for group in groups])
            run.events |= {receipt.first + at: group for at, group in enumerate(groups)}
            run.tell()


def subscribe(run: Run, seed: int) -> None:
    chance, living = random.Random(seed), {}
    with run.client() as client:
        while not run.done.is_set():
            id, group = f"{seed}-{chance.randrange(20)}", chance.randrange(GROUPS)
            before: Life | None = living.pop(id, None)
            if before is not None and chance.random() < 0.3:
                since = max(run.events, default=0)
                client.unsubscribe(id)
                before.surely_until, before.perhaps_until = since, client.publish({"group": -1}).first
            else:
                told = client.subscribe(id, f"group = {group}", feed=before.feed if before else chance.choice(FEEDS))
                living[id] = Life(id, told.feed, group, told.position)
                run.lives.append(living[id])
                if before is not None:
                    before.surely_until = before.perhaps_until = told.position
            run.tell()


def extend(run: Run, seed: int) -> None:
    with run.client() as client:
        for number in range(10_000):
            if run.done.is_set():
                return
            name = f"extra_{number}"
            client.extend(Schema.loads(f'open = true\n[attributes]\n{name} = "number"\n'))
            run.attributes.add(name)
            run.tell()
            run.wait_for(20)


def listen(run: Run, feed: str) -> None:
    with run.client() as client:
        for one in client.listen(feed, after=0):
            run.heard[feed].append((one.position, one.id, tuple(one.subscriptions)))
            if one.event["group"] == "last":
                return


def test_nothing_acknowledged_is_lost_by_kills(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    with ForkedServer(tmp_path / "data", free_port()) as server:
        run = Run(server.url)
        with run.client() as client:
            for feed in FEEDS:
                client.put_feed(feed)
        listeners = [run.thread(listen, feed) for feed in FEEDS]
        writers = [run.thread(publish, n) for n in (1, 2)] + [run.thread(subscribe, n) for n in (3, 4)]
        writers.append(run.thread(extend, 5))
        for _ in range(KILLS):
            run.wait_for(chance.randrange(1, 40))
            server.kill()
            server.start()
        run.wait_for(10)
        run.done.set()
        for writer in writers:
            writer.join(120)
        last = finish(run)
        for listener in listeners:
            listener.join(120)
        check(run, last)
        with run.client() as client:
            assert run.attributes <= client.schema.attributes.keys()


def finish(run: Run) -> int:
    """One event that every feed hears, after all others."""
    with run.client() as client:
        born = max(client.subscribe(f"last {feed}", "group = 'last'", feed=feed).position for feed in FEEDS)
        last = client.publish({"group": "last"}).first
        assert born < last
        return last


def check(run: Run, last: int) -> None:
    assert run.failures == []
    assert len(run.events) > KILLS
    for feed in FEEDS:
        heard = {position: (id, ids) for position, id, ids in run.heard[feed]}
        order = list(dict.fromkeys(position for position, _, _ in run.heard[feed]))
        assert order == sorted(order), f"{feed}: first hearings are in order"
        assert all(id == f"{position}@{feed}" for position, (id, _) in heard.items())
        assert last in heard
        for position, group in run.events.items():
            lives = [one for one in run.lives if one.feed == feed and one.group == group and one.born < position]
            surely = {one.id for one in lives if position < one.surely_until}
            perhaps = {one.id for one in lives if position < one.perhaps_until}
            found = set(heard.get(position, ("", ()))[1])
            assert surely <= found <= perhaps, (feed, position, group, surely, found, perhaps)
