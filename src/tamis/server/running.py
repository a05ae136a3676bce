"""A server from its settings until it is told to stop.

SIGTERM and Ctrl-C end streams and polls, finish the requests that are being answered, close the service, which matches
what was accepted and leaves a checkpoint, and only then the process.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from tamis.errors import OptionError
from tamis.model import Schema
from tamis.server.app import application
from tamis.server.desk import Desk
from tamis.server.logs import Log
from tamis.server.settings import Settings
from tamis.service import Service

__all__ = ["serve"]

_BACKLOG = 2048


def serve(settings: Settings, schema: Schema | None, tell: Callable[[str], None]) -> None:
    """Serve until a signal comes. `tell` is given the address, once it is open."""
    listener = _listener(settings)
    log = Log(settings.log == "requests")
    _forward_warnings(log)
    service = Service.open(Path(settings.data), schema, settings.service)
    try:
        service.start()
        _Server(settings, service, log).serve_at(listener, tell)
    finally:
        service.close()
        listener.close()
    log.note("stopped", reached=service.reached)


def _forward_warnings(log: Log) -> None:
    """What uvicorn has to say, as lines of the one log."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = log.forward  # type: ignore[method-assign]  # all that a handler of ours would do
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    logger.propagate = False


def _listener(settings: Settings) -> socket.socket:
    """Opened first: whoever cannot listen should not wait for a recovery to be told so."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise OptionError(f"cannot listen at {settings.host}, port {settings.port}: {error.strerror}") from None
    return listener


class _Server(uvicorn.Server):
    """uvicorn, which ends streams first when it is told to stop."""

    def __init__(self, settings: Settings, service: Service, log: Log) -> None:
        self._settings, self._service, self._log = settings, service, log
        self._desk: Desk | None = None
        super().__init__(
            uvicorn.Config(
                self._made,
                factory=True,
                http="httptools",
                loop="uvloop",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
            )
        )

    def serve_at(self, listener: socket.socket, tell: Callable[[str], None]) -> None:
        host, port = listener.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._told: Callable[[], None] = lambda: tell(address)
        self.run(sockets=[listener])

    def _made(self) -> ASGIApp:
        self._desk = Desk(self._service, self._settings)
        return application(self._desk, self._log)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._told()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """uvicorn would raise the signal again once it is done, and end the process before the service is closed."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._desk is not None:
            self._desk.stop()
        await super().shutdown(sockets)
