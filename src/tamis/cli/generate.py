"""Generate a workload's subscriptions and events, on Spark.

tamis generate lesub --p 0.98 --subscriptions 100000 --events 20000 --out lesub/
tamis generate w4 --subscriptions 1000000 --out w4/

Writes schema.toml, subscriptions/ and events/ (Parquet) under --out. The same seed gives the same rows anywhere.
"""

from __future__ import annotations

import argparse

from tamis.cli.spark_options import add_spark_options, start_spark, whole
from tamis.workloads.catalogue import WORKLOADS, find_workload


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", metavar="WORKLOAD", help=f"one of {', '.join(WORKLOADS)}")
    parser.add_argument("--subscriptions", type=whole, default=0, metavar="N", help="how many (default 0: none)")
    parser.add_argument("--events", type=whole, default=0, metavar="M", help="how many (default 0: none)")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    parser.add_argument("--seed", type=whole, default=1, help="another seed, other rows (default 1)")
    parser.add_argument("--p", type=float, help="lesub: share of equalities; light: share of ones")
    parser.add_argument("--a", type=float, help="light, web: exponent of Zipf's law")
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    given = {name: getattr(arguments, name) for name in ("p", "a") if getattr(arguments, name) is not None}
    workload = find_workload(arguments.workload, **given)
    spark = start_spark(arguments, new=arguments.out)
    from tamis import spark as ts
    from tamis.spark.running.data_files import write
    from tamis.spark.running.jobs import new_folder
    from tamis.spark.running.progress import progress
    from tamis.spark.versions.storage import join, storage

    with new_folder(arguments.out) as out:
        storage(out).create("schema.toml", workload.schema().dumps().encode())
        print(f"{join(out, 'schema.toml')}: the schema of {workload.name}")
        for name, make, count in (
            ("subscriptions", ts.generate_subscriptions, arguments.subscriptions),
            ("events", ts.generate_events, arguments.events),
        ):
            if count:
                with progress(spark, f"generating {name}"):
                    write(make(spark, workload, count, arguments.seed), join(out, name))
                print(f"{join(out, name)}: {count:,} {name}, seed {arguments.seed}")
    return 0
