"""JSON in bytes against event-ruler on the same bytes: python -m benchmarks.ruler [--quick]

`software.amazon.event.ruler:event-ruler` is fetched by Maven and run by the machine's Java; without one of them that is
said, and nothing is measured. Both get the subscriptions that a rule of event-ruler can express: no two tests of one
field, no order of texts or instants. Both count the same matches, or the run fails. Processor time of the thread that
matches; the first turns, in which Java compiles, are not counted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis import Engine, Schema
from tamis.language import parse
from tamis.model import Conjunction, Kind, Operator, Predicate, Value
from tamis.workloads.ads import Ads
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload

SEED, VERSION = 1, "1.7.3"
WARM, TURNS = 3, 5
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>benchmarks</groupId><artifactId>ruler</artifactId><version>1</version><dependencies><dependency>
<groupId>software.amazon.event.ruler</groupId><artifactId>event-ruler</artifactId><version>{version}</version>
</dependency></dependencies></project>"""
_O = Operator
_NUMERIC = {_O.EQ: "=", _O.LT: "<", _O.LE: "<=", _O.GT: ">", _O.GE: ">="}


def rule_of(conjunction: Conjunction) -> dict[str, Any] | None:
    """The rule that says the same, if there is one."""
    fields: dict[str, list[Predicate]] = {}
    for predicate in conjunction:
        fields.setdefault(predicate.attribute, []).append(predicate)
    rule: dict[str, Any] = {}
    for name, tests in fields.items():
        said = _numeric(tests) or (_single(tests[0]) if len(tests) == 1 else None)
        if said is None:
            return None
        *outer, last = name.split(".")
        place = rule
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = said
    return rule


def _numeric(tests: list[Predicate]) -> list[Any] | None:
    """Bounds of one number."""
    bounds: list[Any] = []
    for test in sorted(tests, key=lambda one: one.operator in (_O.LT, _O.LE)):  # the lower one comes first
        value = test.operand
        if not isinstance(value, Value) or value.kind is not Kind.NUMBER or test.operator not in _NUMERIC:
            return None
        bounds += [_NUMERIC[test.operator], value.data]
    if bounds[0] == "=" and len(bounds) == 2:
        return [bounds[1]]
    return [{"numeric": bounds}] if len(bounds) <= 4 and "=" not in bounds else None


def _single(test: Predicate) -> list[Any] | None:
    constants = test.constants
    if any(value.kind not in (Kind.STRING, Kind.BOOLEAN) for value in constants):
        return None
    values = [value.data for value in constants]
    match test.operator:
        case _O.EQ | _O.IN | _O.CONTAINS:
            return values
        case _O.NE | _O.NOT_IN:
            return [{"anything-but": values}]
        case _O.STARTS:
            return [{"prefix": values[0]}]
        case _O.PRESENT | _O.MISSING:
            return [{"exists": test.operator is _O.PRESENT}]
    return None


def expressible(workload: Workload, count: int, schema: Schema) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """Of the first subscriptions those that rules can say: number, text, rules."""
    for number, text in enumerate(workload.subscriptions(count, SEED)["expression"].to_pylist()):
        rules = [rule_of(one) for one in parse(text, schema)]
        if rules and all(rule is not None for rule in rules):
            yield number, text, rules  # type: ignore[misc]  # none is None


def prepare(folder: Path) -> list[str] | None:
    """The command that runs event-ruler, or None if the machine cannot."""
    maven, java, compiler = (shutil.which(name) for name in ("mvn", "java", "javac"))
    if maven is None or java is None or compiler is None:
        return None
    (folder / "pom.xml").write_text(_POM.format(version=VERSION))
    fetch = [maven, "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
    if subprocess.run(fetch, cwd=folder, capture_output=True).returncode:
        return None
    source = Path(__file__).parent / "reference" / "Ruler.java"
    classes = f"{folder}/lib/*:{folder}"
    subprocess.run([compiler, "-cp", classes, "-d", str(folder), str(source)], check=True)
    return [java, "-Xmx6g", "-cp", classes, "Ruler"]


def run_ruler(command: list[str], rules: Path, events: Path) -> tuple[float, list[float], int]:
    done = subprocess.run([*command, str(rules), str(events), str(WARM + TURNS)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    built, *turns = (line.split() for line in done.stdout.splitlines())
    return int(built[1]) / 1e9, [int(turn[1]) / 1e9 for turn in turns[WARM:]], int(turns[-1][2])


def compare(workload: Workload, schema: Schema, sizes: tuple[int, int], command: list[str], folder: Path) -> None:
    asked, many = sizes
    listed = list(expressible(workload, asked, schema))
    rows = workload.mappings(many, SEED) if isinstance(workload, Ads) else workload.events(many, SEED).to_pylist()
    events = [{name: value for name, value in row.items() if value is not None} for row in rows]
    lines = "\n".join(json.dumps(event, separators=(",", ":")) for event in events).encode()
    (folder / "events").write_bytes(lines)
    with (folder / "rules").open("w") as stream:
        stream.writelines(f"{number}\t{json.dumps(rule)}\n" for number, _, rules in listed for rule in rules)
    engine: Engine[int] = Engine(schema, wait=True)
    table = pa.table({"id": [number for number, _, _ in listed], "expression": [text for _, text, _ in listed]})
    engine.subscribe_many(table)
    total = engine.match_json(lines).total
    ours = []
    for _ in range(TURNS):
        start = time.thread_time()
        engine.match_json(lines)
        ours.append(time.thread_time() - start)
    built, theirs, found = run_ruler(command, folder / "rules", folder / "events")
    if found != total:
        sys.exit(f"{workload.name}: event-ruler has {found:,} matches, Tamis {total:,}")
    ratios = sorted(one / other for one in theirs for other in ours)
    size = len(lines) // many
    print(f"\n{workload.name}: {len(listed):,} of {asked:,} subscriptions, {many:,} events of {size} bytes")
    print(f"  Tamis {min(ours) / many * 1e6:.2f} µs an event; event-ruler {min(theirs) / many * 1e6:.1f} µs, "
          f"{built:.1f} s to build")  # fmt: skip
    print(f"  {min(theirs) / min(ours):.1f} times as fast ({ratios[0]:.1f} … {ratios[-1]:.1f}), "
          f"the same {total:,} matches", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the subscriptions and events")
    sizes = (10_000, 1_000) if parser.parse_args().quick else (100_000, 5_000)
    with tempfile.TemporaryDirectory() as name:
        command = prepare(Path(name))
        if command is None:
            sys.exit("not measured: this needs Maven with a repository to fetch from, and a Java compiler")
        ads = Ads(open=1)
        for workload, schema in ((LeSub(p=1), LeSub(p=1).schema()), (ads, ads.schema())):
            compare(workload, schema, sizes, command, Path(name))


if __name__ == "__main__":
    main()
