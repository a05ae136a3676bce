"""A service that is stopped at its k-th write, opened again, and held against the naive matcher applied to its log.

A *history* is a list of steps drawn from a seed. The steps are taken one by one, without threads; time and randomness
are arguments. `Stopped` is raised in the midst of a write as the end of the process would come; what was not answered
is sent again with the same key.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tamis.errors import TamisError
from tamis.language import parse
from tamis.matchers.naive import conjunction_holds
from tamis.model import Schema
from tamis.service import Acknowledged, FeedSettings, NewSubscription, Published, Publishing, Service, Settings
from tamis.service.changes import Change
from tamis.store.log import Log, Record

FIRST = Schema.loads(
    """
    [attributes]
    price = "number"
    colour = "string"
    poison = "integer"
    [event_types.offer]
    price = "mandatory"
    colour = "optional multiple"
    poison = "optional"
    """
)
ADDITIONS = [
    '[attributes]\nsize = "integer"\n[event_types.offer]\nsize = "optional"\n',
    '[attributes]\nprice = "number"\n[event_types.bid]\nprice = "mandatory"\n',
    '[domains.rooms]\ntype = "enumerated"\nvalues = ["hall", "bath"]\n[attributes]\nroom = "rooms"\n',
]
START = 1_800_000_000.0


class Stopped(BaseException):
    """The process ended here."""


@dataclass
class Stopper:
    """Told every write; stops at the one it is to stop at."""

    at: int | None = None
    told: int = 0
    seen: Callable[[str], None] = lambda what: None

    def __call__(self, what: str) -> None:
        self.seen(what)
        self.told += 1
        if self.told == self.at:
            raise Stopped


@dataclass
class Sent:
    """A write and what became of it."""

    call: Callable[[Service, Callable[[Any], None]], None]
    kind: str
    request: Any
    outcome: Any = None
    answers: int = 0


@dataclass
class World:
    """What the outside knows: the clock, what was sent, what was answered, what was read."""

    folder: Path
    seed: int
    stopper: Stopper = field(default_factory=Stopper)
    now: float = START
    sent: list[Sent] = field(default_factory=list)
    notified: dict[tuple[str, int], tuple[bytes, tuple[str, ...]]] = field(default_factory=dict)
    acked: dict[str, int] = field(default_factory=dict)
    opened: int = 0
    service: Service | None = None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def abandon(self) -> None:
        if self.service is not None:
            self.service.abandon()
            self.service = None

    def open(self) -> Service:
        """Each time with other cuts of batches and blocks."""
        self.opened += 1
        how = random.Random(self.seed * 1_000 + self.opened)
        settings = Settings(
            batch_events=how.choice([1, 2, 7, 1_000]),
            block_matches=how.choice([1, 3, 50, 4_000_000]),
            memory_bytes=how.choice([0, 200, 1 << 20]),
            cache_bytes=how.choice([0, 1 << 20]),
            checkpoint_changes=how.choice([2, 10, 10_000]),
            page_notifications=how.choice([1, 3, 1_000]),
        )
        entropy = random.Random(self.seed + self.opened)
        self.service = Service.open(
            self.folder, FIRST, settings, clock=lambda: self.now, random=entropy.randbytes, touch=self.stopper
        )
        _poison(self.service)
        return self.service

    # -- steps ------------------------------------------------------------------------------------------------

    def send(self, kind: str, request: Any, call: Callable[[Service, Callable[[Any], None]], None]) -> None:
        sent = Sent(call, kind, request)
        self.sent.append(sent)
        self._put(sent)

    def _put(self, sent: Sent) -> None:
        def done(outcome: Any) -> None:
            sent.answers += 1
            sent.outcome = outcome

        assert self.service is not None
        try:
            sent.call(self.service, done)
        except TamisError as error:
            done(error)

    def again(self) -> None:
        """After a stop: what was not answered is sent again."""
        for sent in self.sent:
            if not sent.answers:
                self._put(sent)

    def finish(self) -> None:
        assert self.service is not None
        while self.service.writer.waiting:
            self.service.write_once()
        while self.service.match_once():
            pass

    def read(self) -> None:
        """Some feed from its cursor, noting what comes."""
        assert self.service is not None
        for feed in self.service.feeds(limit=1_000):
            page = self.service.read_feed(feed.name)
            positions = [one.position for one in page.notifications]
            assert positions == sorted(set(positions))
            assert page.next <= self.service.reached
            for one in page.notifications:
                said = one.event, tuple(one.subscriptions)
                assert self.notified.setdefault((feed.name, one.position), said) == said, "an id was issued again"
            if positions and self.chance.random() < 0.5:
                self.acknowledge(feed.name, positions[-1])

    def acknowledge(self, feed: str, position: int) -> None:
        self.send("ack", (feed, position), lambda service, done: service.acknowledge(feed, position, done))


def _poison(service: Service) -> None:
    """An event with `poison` above zero cannot be matched."""
    registry = service.matcher.registry
    match_many = registry.match_many

    def poisoned(read: Any, threads: int = 1) -> Any:
        def looked_at(used: Any) -> Any:
            batch = read(used)
            if any("poison" in batch.event(row).values for row in range(batch.size)):
                raise MemoryError("poison")
            return batch

        return match_many(looked_at, threads)

    registry.match_many = poisoned  # type: ignore[method-assign]


# -- histories ----------------------------------------------------------------------------------------------------


def steps(world: World, count: int) -> Iterator[Callable[[World], None]]:
    """A random history."""
    chance = random.Random(world.seed)
    for number in range(count):
        yield _step(chance, number)


def _step(chance: random.Random, number: int) -> Callable[[World], None]:
    kinds = [
        *(_publish,) * 6,
        *(_subscribe,) * 4,
        *(_write,) * 6,
        *(_match,) * 4,
        *(_unsubscribe, _read, _later, _lease, _extend, _bulk, _staged, _feed, _end_feed, _checkpoint, _cut),
    ]
    return chance.choice(kinds)(chance, number)


def _event(chance: random.Random, number: int) -> dict[str, Any]:
    event: dict[str, Any] = {"price": chance.choice([1, 5, 9.5, 2**70, -3]), "event_type": "offer"}
    if chance.random() < 0.5:
        event["colour"] = chance.choice(["red", "blue", ["red", "blue"]])
    if chance.random() < 0.03:
        event["poison"] = number
    if chance.random() < 0.1:
        event["strange"] = 1  # R3
    if chance.random() < 0.1:
        event["size"] = number  # right after an extension only
    return event


def _publish(chance: random.Random, number: int) -> Callable[[World], None]:
    events = [_event(chance, number) for _ in range(chance.choice([1, 1, 3, 10]))]
    body = json.dumps(events).encode()
    request = Publishing(body, "json", f"publish {number}")
    return lambda world: world.send("publish", events, lambda service, done: service.publish(request, done))


def _expression(chance: random.Random) -> str:
    price = f"price {chance.choice(['<', '>', '='])} {chance.choice(['5', '9.5', str(2**70), '0'])}"
    colour = f"colour {chance.choice(['=', 'contains'])} {chance.choice(['red', 'blue'])}"
    return chance.choice([price, colour, f"{price} and {colour}", f"not ({price}) or {colour}", "event_type = offer"])


def _new(chance: random.Random) -> NewSubscription:
    feed = chance.choice([None, "ann", "bob"])
    expires = datetime.fromtimestamp(START, UTC) + timedelta(seconds=chance.randrange(100))
    return NewSubscription(
        f"s{chance.randrange(6)}", _expression(chance), feed, expires if chance.random() < 0.2 else None
    )


def _subscribe(chance: random.Random, number: int) -> Callable[[World], None]:
    new, key = _new(chance), f"subscribe {number}"
    return lambda world: world.send("subscribe", new, lambda service, done: service.subscribe(new, done, key=key))


def _unsubscribe(chance: random.Random, number: int) -> Callable[[World], None]:
    id, key = f"s{chance.randrange(6)}", f"unsubscribe {number}"
    return lambda world: world.send("unsubscribe", id, lambda service, done: service.unsubscribe(id, done, key=key))


def _bulk(chance: random.Random, number: int) -> Callable[[World], None]:
    items = [_new(chance) for _ in range(5)]
    key = f"bulk {number}"
    return lambda world: world.send("load", items, lambda service, done: service.subscribe_many(items, done, key=key))


def _staged(chance: random.Random, number: int) -> Callable[[World], None]:
    pieces = [[_new(chance) for _ in range(2)] for _ in range(2)]
    upload = f"upload {number}"

    def step(world: World) -> None:
        for at, piece in enumerate(pieces):
            world.send("stage", at, lambda service, done, at=at, piece=piece: service.stage(upload, at, piece, done))  # type: ignore[misc]
        world.send("load", pieces[0] + pieces[1], lambda service, done: service.commit(upload, 2, done))

    return step


def _feed(chance: random.Random, number: int) -> Callable[[World], None]:
    name, settings = chance.choice(["ann", "bob", "s1"]), FeedSettings("pull", {"number": number})
    return lambda world: world.send("feed", name, lambda service, done: service.put_feed(name, settings, done))


def _end_feed(chance: random.Random, number: int) -> Callable[[World], None]:
    name = chance.choice(["ann", "bob", "s1", "s2"])
    return lambda world: world.send("end feed", name, lambda service, done: service.delete_feed(name, done))


def _extend(chance: random.Random, number: int) -> Callable[[World], None]:
    addition = Schema.loads(chance.choice(ADDITIONS))
    return lambda world: world.send("extend", addition, lambda service, done: service.extend(addition, done))


def _lease(chance: random.Random, number: int) -> Callable[[World], None]:
    name, seconds = chance.choice(["ann", "bob"]), chance.randrange(1, 20)

    def step(world: World) -> None:
        assert world.service is not None
        seen = world.service.reached

        def call(service: Service, done: Callable[[Any], None]) -> None:
            service.lease(name, seconds, min(seen, service.reached), done)

        world.send("lease", name, call)

    return step


def _write(chance: random.Random, number: int) -> Callable[[World], None]:
    return lambda world: (world.service.write_once(), None)[1]  # type: ignore[union-attr]


def _match(chance: random.Random, number: int) -> Callable[[World], None]:
    return lambda world: (world.service.match_once(), None)[1]  # type: ignore[union-attr]


def _checkpoint(chance: random.Random, number: int) -> Callable[[World], None]:
    return lambda world: world.service.checkpoint()  # type: ignore[union-attr]


def _read(chance: random.Random, number: int) -> Callable[[World], None]:
    return lambda world: world.read()


def _later(chance: random.Random, number: int) -> Callable[[World], None]:
    seconds = chance.choice([1, 10, -30, 40])  # a clock may also go back
    return lambda world: setattr(world, "now", world.now + seconds)


def _cut(chance: random.Random, number: int) -> Callable[[World], None]:
    """A power cut undoes what of `derived.db` was not synced: the file as it was before some batches."""

    def step(world: World) -> None:
        assert world.service is not None
        kept = world.folder.parent / f"{world.folder.name} kept"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for path in world.folder.glob("derived.db*"):
            shutil.copy(path, kept / path.name)
        for _ in range(3):
            world.service.match_once()
        world.abandon()
        for path in world.folder.glob("derived.db*"):
            path.unlink()
        for path in kept.iterdir():
            if not path.name.endswith("-shm"):
                shutil.copy(path, world.folder / path.name)
        world.open()
        world.again()

    return step


# -- the truth ----------------------------------------------------------------------------------------------------


@dataclass
class Truth:
    """What the log says, read by the naive matcher."""

    tail: int = 0
    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    texts: dict[int, bytes] = field(default_factory=dict)
    met: dict[int, list[int]] = field(default_factory=dict)
    births: dict[int, tuple[str, str, int, int]] = field(default_factory=dict)
    """Handle → id, expression, feed, position."""
    feeds: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Those that live: name → number, position."""
    living: dict[str, int] = field(default_factory=dict)
    positions: dict[int, Record] = field(default_factory=dict)


def truth_of(folder: Path) -> Truth:
    log = Log(folder / "log.db")
    try:
        schema = Schema.loads(log.schemas()[0][2])
        truth, alive = Truth(), {}
        for record in log.records(-1, 1_000_000):
            assert record.first == truth.tail + 1, "positions follow one another"
            truth.tail = record.last
            for position in range(record.first, record.last + 1):
                truth.positions[position] = record
            if record.kind == "schema":
                schema = Schema.loads(record.body.decode())
            elif record.codec == "change":
                _change(truth, alive, record.first, Change.loads(record.body))
            else:
                _events(truth, alive, record, schema)
        meta = log.meta()
        assert meta is not None
        assert meta.tail == truth.tail
        assert schema == Schema.loads(log.schemas()[-1][2])
        return truth
    finally:
        log.close()


def _change(truth: Truth, alive: dict[int, str], position: int, change: Change) -> None:
    for handle in change.died:
        del truth.living[truth.births[handle][0]], alive[handle]
    for no in change.ended:
        truth.feeds = {name: feed for name, feed in truth.feeds.items() if feed[0] != no}
    for no, name, _, _ in change.feeds:
        assert name not in truth.feeds
        truth.feeds[name] = no, position
    for handle, id, feed, expression, _ in change.born:
        assert handle not in truth.births
        assert id not in truth.living
        truth.births[handle] = id, expression, feed, position
        truth.living[id] = handle
        alive[handle] = expression


def _events(truth: Truth, alive: dict[int, str], record: Record, schema: Schema) -> None:
    read = {handle: parse(text, schema) for handle, text in alive.items()}
    lines = record.body.split(b"\n")
    assert len(lines) == record.last - record.first + 1
    for position, line in enumerate(lines, record.first):
        raw = json.loads(line)
        event = schema.event(raw)
        truth.events[position] = raw
        truth.texts[position] = line
        truth.met[position] = sorted(
            handle for handle, said in read.items() if any(conjunction_holds(schema, one, event) for one in said)
        )


def check(world: World) -> None:
    """All invariants, of a service that has written and matched everything."""
    service = world.service
    assert service is not None
    truth = truth_of(world.folder)
    assert service.tail == service.reached == truth.tail
    _check_answers(world, truth)
    failed = service.failures(0, truth.tail)
    assert set(failed) == {at for at, event in truth.events.items() if "poison" in event}
    _check_blocks(service, truth, set(failed))
    _check_feeds(world, truth, set(failed))
    assert {one.id for piece in service.export() for one in piece} == set(truth.living)


def _check_answers(world: World, truth: Truth) -> None:
    """What was answered is on the log, once."""
    taken: set[int] = set()
    for sent in world.sent:
        assert sent.answers == 1, "answered once"
        if isinstance(sent.outcome, Published) and sent.outcome.first is not None:
            assert sent.outcome.last is not None
            positions = range(sent.outcome.first, sent.outcome.last + 1)
            assert taken.isdisjoint(positions)
            taken.update(positions)
            refused = {one.index for one in sent.outcome.rejected}
            accepted = [event for at, event in enumerate(sent.request) if at not in refused]
            assert [truth.events[at] for at in positions] == accepted
            assert len(accepted) == sent.outcome.accepted
        elif sent.kind == "subscribe" and not isinstance(sent.outcome, TamisError):
            made = sent.outcome.subscription
            here = [birth for birth in truth.births.values() if birth[3] == made.position]
            assert [birth[:2] for birth in here] == [(sent.request.id, sent.request.expression)]
        elif sent.kind == "ack" and isinstance(sent.outcome, Acknowledged):
            pass
    assert taken == set(truth.events), "one key, one publish"


def _check_blocks(service: Service, truth: Truth, failed: set[int]) -> None:
    tiled = 0
    for block in service._reader.blocks(1, truth.tail):
        assert block.first == tiled + 1, "blocks tile"
        tiled = block.last
        for position in range(block.first, block.last + 1):
            expected = [] if position in failed else truth.met.get(position, [])
            assert block.at(position).tolist() == expected, f"position {position}"
    assert tiled == truth.tail


def _check_feeds(world: World, truth: Truth, failed: set[int]) -> None:
    """The index finds what a scan finds, from any cursor; cursors never go back."""
    service = world.service
    assert service is not None
    expected: dict[int, dict[int, list[str]]] = defaultdict(dict)
    for position, handles in truth.met.items():
        for handle in [] if position in failed else handles:
            expected[truth.births[handle][2]].setdefault(position, []).append(truth.births[handle][0])
    assert {feed.name for feed in service.feeds(limit=1_000)} == set(truth.feeds)
    for name, (no, _) in truth.feeds.items():
        for after in {0, truth.tail, world.chance.randrange(truth.tail + 1)}:
            assert read_all(service, name, after) == {
                at: (truth.texts[at], tuple(ids)) for at, ids in expected[no].items() if at > after
            }, f"{name} after {after}"
        for (feed, at), said in world.notified.items():
            if feed == name and at in expected[no]:
                assert said == (truth.texts[at], tuple(expected[no][at]))
        acked = service.feed(name).acknowledged
        assert acked >= world.acked.get(f"{name} {no}", 0), "acknowledgements never regress"
        world.acked[f"{name} {no}"] = acked


def read_all(service: Service, name: str, after: int = 0) -> dict[int, tuple[bytes, tuple[str, ...]]]:
    """Page after page."""
    found: dict[int, tuple[bytes, tuple[str, ...]]] = {}
    while True:
        page = service.read_feed(name, after, 2)
        for one in page.notifications:
            assert one.position > max(found, default=after)
            found[one.position] = one.event, tuple(one.subscriptions)
        if page.next >= service.reached:
            return found
        assert page.next > after
        after = page.next
