"""A process that has imported all a server needs, and forks one whenever it is told to: a start costs no second.

start ARGUMENTS…    forks `tamis serve ARGUMENTS…`, which prints its two lines
kill                SIGKILL for it, and `dead` once it is gone
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

__all__ = ["ForkedServer"]


class ForkedServer:
    """A server that is killed and started many times, at one address, on one folder."""

    def __init__(self, data: Path, port: int, **settings: object) -> None:
        self.url = f"http://127.0.0.1:{port}"
        named = {"log": "errors", "heartbeat_seconds": 0.2, **settings}
        self._arguments = [f"--data={data}", f"--port={port}", *(f"--set={name}={one}" for name, one in named.items())]
        self.errors = data.with_name(f"{data.name}.log")
        with self.errors.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.server.forking"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def start(self) -> None:
        assert "http://" in self._told("start", *self._arguments), self.errors.read_text()
        self._answer()

    def kill(self) -> None:
        assert self._told("kill") == "dead\n"

    def _told(self, *words: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> ForkedServer:
        self.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.kill()
        self._process.communicate()


def main() -> None:
    import tamis.server.running  # noqa: F401  # and all that it needs
    from tamis import Engine
    from tamis.cli import main as command

    engine: Engine[str] = Engine(wait=True)  # the kernels are loaded once, and not by each child
    engine.subscribe_many([(str(n), f"group = {n}") for n in range(5)])
    engine.match_json(b'{"group": 3}')
    child = 0
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        if verb == "kill":
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print("dead", flush=True)
        elif (child := os.fork()) == 0:
            os._exit(command(["serve", *arguments]))


if __name__ == "__main__":
    main()
