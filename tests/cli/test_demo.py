"""`tamis demo` tells the auction story."""

from __future__ import annotations

import re

import pytest

from tamis.cli import main

Capture = pytest.CaptureFixture[str]


def test_the_demo_tells_who_waits_what_comes_and_who_hears_of_it(capsys: Capture) -> None:
    code = main(["demo", "--subscriptions", "200", "--events", "100"])

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    story = [
        "An auction house announces listings of antiques and furniture",
        "200 people wait for something, for instance:",
        "100 listings come in; 2 are refused (R2 1×, R3 1×):",
        "R3: the attribute 'colour'",
        "matches in",
        "listings interest nobody",
        "    → ",
        "docs/language.md",
    ]
    places = [out.find(part) for part in story]
    assert -1 not in places, story[places.index(-1)]
    assert places == sorted(places)


def test_everyone_named_has_every_reason(capsys: Capture) -> None:
    main(["demo", "--subscriptions", "100", "--events", "50"])

    named = capsys.readouterr().out.split("    → ")[1:]
    assert named
    for one in named:
        assert re.match(r"[a-z]+-\d+\n(        .* (is|contains) .*\n)+", one), one


def test_the_same_seed_tells_the_same_story(capsys: Capture) -> None:
    told = []
    for seed in ("1", "1", "2"):
        main(["demo", "--subscriptions", "50", "--events", "30", "--seed", seed])
        told.append(re.sub(r"in [0-9.]+ s", "", capsys.readouterr().out))

    assert told[0] == told[1]
    assert told[0] != told[2]


def test_a_story_of_nobody_and_nothing_ends_well(capsys: Capture) -> None:
    code = main(["demo", "--subscriptions", "0", "--events", "0"])

    assert code == 0
    assert "0 matches" in capsys.readouterr().out
