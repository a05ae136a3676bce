"""The example's files and the package tell the same story."""

from __future__ import annotations

from pathlib import Path

from tamis.workloads import auctions
from tamis.workloads.publishers import MAPPINGS, write_example

EXAMPLE = Path(__file__).parents[2] / "examples" / "auctions"


def test_the_example_has_the_packages_schema_and_mappings() -> None:
    assert (EXAMPLE / "schema.toml").read_text(encoding="utf-8") == auctions.SCHEMA
    found = {path.stem: path.read_text(encoding="utf-8") for path in (EXAMPLE / "mappings").iterdir()}
    assert found == dict(MAPPINGS)


def test_the_same_seed_writes_the_same_feeds(tmp_path: Path) -> None:
    first, again, other = (
        write_example(tmp_path / name, 60, 20, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )

    for name, feed in first.items():
        assert feed.read_bytes() == again[name].read_bytes()
        assert feed.read_bytes() != other[name].read_bytes()
