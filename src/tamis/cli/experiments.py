"""Redo a table or figure of the papers: a table here, a CSV and a picture in --out.

  tamis experiments list
  tamis experiments run lesub-fig9 --scale small --out results/
  tamis experiments run all --scale test
  tamis experiments run lesub-fig9 --scale max --on spark     the same rows and answers, and no timings
  tamis experiments report results/ > results.md              a page of what the CSVs in a folder say

A run that was ended goes on where it was, point by point, when it is started again with the same --out. --scale is
test (seconds), small (a minute or two each), paper (the original sizes) or max (what one machine can hold). ToPSS'
tables ask a PostgreSQL server as well where TAMIS_POSTGRES names one, as in postgresql://user@host/name.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tamis.cli.spark_options import add_spark_options, start_spark
from tamis.experiments import EXPERIMENTS, find_experiment

_SCALES = ("test", "small", "paper", "max")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="what to do", dest="verb", metavar="list | run | report", required=True)
    verbs.add_parser("list", help="the experiments, by name")
    report = verbs.add_parser("report", help="pictures and a page, in Markdown, of results that are there")
    report.add_argument("folder", metavar="DIR", help="where the CSVs are")
    run = verbs.add_parser("run", help="one of them, or all")
    run.add_argument("name", metavar="NAME", help="an experiment, or all")
    run.add_argument("--scale", choices=_SCALES, default="small", help="how large (default small)")
    run.add_argument("--out", default="results", metavar="DIR", help="where CSV and pictures go (default results)")
    run.add_argument("--on", choices=["here", "spark"], default="here", help="where rows are made and answered")
    add_spark_options(run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.verb == "list":
        width = max(map(len, EXPERIMENTS))
        print("\n".join(f"{name:<{width}}  {line}" for name, line in EXPERIMENTS.items()))
        return 0
    if arguments.verb == "report":
        return _report(Path(arguments.folder))
    names = list(EXPERIMENTS) if arguments.name == "all" else [arguments.name]
    experiments = [find_experiment(name) for name in names]
    folder = Path(arguments.out)
    if arguments.on == "spark":
        from tamis.experiments.frame.on_spark import run_on_spark

        spark = start_spark(arguments)
        for experiment in experiments:
            print(run_on_spark(spark, experiment, arguments.scale, folder), flush=True)
        return 0
    from tamis.experiments.frame.running import run as run_here

    for experiment in experiments:
        print(run_here(experiment, arguments.scale, folder), end="\n\n", flush=True)
    return 0


def _report(folder: Path) -> int:
    from tamis.experiments.frame.plots import save_picture
    from tamis.experiments.frame.report import page
    from tamis.experiments.frame.results import read_results

    print(page(folder), end="")
    for name in EXPERIMENTS:
        if (path := folder / f"{name}.csv").exists():
            save_picture(find_experiment(name), read_results(path)[1], folder, ("svg",))
    return 0
