"""Servers as processes of their own, which can be killed and come back at the same address."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

__all__ = ["ServerProcess", "free_port"]

_ADDRESS = re.compile(r"http://\S+")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class ServerProcess:
    """`tamis serve` over a folder. Its first line, which names its address, is waited for; nothing is timed."""

    def __init__(self, data: Path, *, schema: Path | None = None, port: int | None = None, **settings: object) -> None:
        self.data = data
        self.port = free_port() if port is None else port
        self.url = f"http://127.0.0.1:{self.port}"
        flags = [f"--data={data}", f"--port={self.port}", *([f"--schema={schema}"] if schema else [])]
        named = {"log": "errors", "heartbeat_seconds": 0.2, "most_wait_seconds": 3, **settings}
        self._command = [sys.executable, "-m", "tamis.cli", "serve", *flags]
        self._command += [f"--set={name}={value}" for name, value in named.items()]
        self._process: subprocess.Popen[str] | None = None
        self.errors = data.with_name(f"{data.name}.log")
        self.told: list[str] = []

    def start(self) -> ServerProcess:
        with self.errors.open("a") as log:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        self.told = [self._process.stdout.readline(), self._process.stdout.readline()]
        assert _ADDRESS.search(self.told[0]), f"the server did not start: {self.log()}"
        return self

    def kill(self) -> None:
        """As a power cut does it to a process: no handler runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        return self._end(signal.SIGTERM)

    def signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def wait(self) -> int:
        assert self._process is not None
        code = self._process.wait(60)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code

    def log(self) -> str:
        return self.errors.read_text() if self.errors.exists() else ""

    def _end(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self.wait()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> ServerProcess:
        return self.start()

    def __exit__(self, *unused: object) -> None:
        if self.running:
            self.kill()
