"""A Spark session with every setting explained. The steps take any session's DataFrames: this one is a convenience."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from tamis.spark.running.java import java_home
from tamis.spark.steps.arguments import check_type

__all__ = ["LOCAL_SETTINGS", "QUICK_SETTINGS", "SETTINGS", "SparkSession", "session"]

_LOGGING = Path(__file__).with_name("log4j2.properties")

# Answers are arrays that our workers made and Spark reads id by id. Arrow's checks of each place against the array's
# end, and of nulls where Spark has looked already, are a third of what Spark spends on one row per match.
_TRUST_ARROW = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"

SETTINGS: Mapping[str, str] = {
    # Users' own Java options go to extraJavaOptions, and are not overwritten.
    "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {_TRUST_ARROW}",
    "spark.executor.defaultJavaOptions": _TRUST_ARROW,
    # Timestamps are instants. In another zone Spark would read text without a zone as local time; Tamis reads UTC.
    "spark.sql.session.timeZone": "UTC",
    # Our own line says how far the job is; Spark's bar would be written over it.
    "spark.ui.showConsoleProgress": "false",
    # 200, the default, is for clusters; more tasks than cores only cost their start here. AQE may still coalesce.
    "spark.sql.shuffle.partitions": "4",
    # Rows per Arrow batch. A batch is matched at once, and below a few thousand rows the calls cost more than the work.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
    # `toPandas` and `createDataFrame` by Arrow rather than by pickle.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Python workers are forks of a daemon that has our kernels loaded: they start sooner and share its memory.
    "spark.python.daemon.module": "tamis.spark.workers.daemon",
    # State of streams (`deduplicate`, `throttle`) outside the heap; Spark's default keeps all of it in memory.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # No files of Hive's in the working folder.
    "spark.sql.catalogImplementation": "in-memory",
}

LOCAL_SETTINGS: Mapping[str, str] = {
    # The driver talks to itself; without this a laptop that changes networks loses its own driver.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""Where executor and driver are one process."""


QUICK_SETTINGS: Mapping[str, str] = {
    # Java's quick compiler alone, and the collector with the least to set up: what runs for a minute never earns back
    # what the thorough ones cost. A third less processor time for the demo.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Compiling a query costs more than running it on a few thousand rows; re-planning it does, too.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # Nobody looks at the page of a job that lasts a minute, and its port may be taken.
    "spark.ui.enabled": "false",
}
"""For a minute's work on small data; wrong for anything larger."""


def session(master: str = "local[*]", memory: str = "2g", settings: Mapping[str, str] | None = None) -> SparkSession:
    """The running session, or a new one on a Java that is new enough. `JavaError` says what to install.

    `memory` is the driver's, and in local mode also the executor's. `settings` come last and win.
    """
    check_type(master, str, "master")
    check_type(memory, str, "memory")
    if settings is not None:
        check_type(settings, Mapping, "settings")
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need what this Python has installed
    builder = SparkSession.builder.appName("tamis").master(master).config("spark.driver.memory", memory)
    local = LOCAL_SETTINGS if master.startswith("local") else {}
    for name, setting in {**SETTINGS, **local, **(settings or {})}.items():
        builder = builder.config(name, setting)
    return builder.getOrCreate()
