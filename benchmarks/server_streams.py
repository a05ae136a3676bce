"""Readers of streams, in a process of their own: when did each notification arrive?

    python -m benchmarks.server_streams URL STREAMS NOTIFICATIONS

Each reads a feed of its own, `f0` and on. An event carries `sent`, a time of the machine's one clock. Prints `open`
once all streams are, and when so many notifications came a line of JSON with the times they took.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from urllib.parse import urlsplit

import uvloop

_SENT = re.compile(rb'"sent":\s?([0-9.]+)')


async def _read(host: str, port: int, feed: str, ready: asyncio.Semaphore, heard: asyncio.Queue[float]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET /v1/feeds/{feed}/stream?after=now HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    ready.release()
    while line := await reader.readline():
        if found := _SENT.search(line):
            heard.put_nowait(time.time() - float(found[1]))
    writer.close()


async def _run(url: str, streams: int, count: int) -> None:
    place, ready, heard = urlsplit(url), asyncio.Semaphore(0), asyncio.Queue[float]()
    assert place.hostname is not None
    assert place.port is not None
    readers = [asyncio.create_task(_read(place.hostname, place.port, f"f{n}", ready, heard)) for n in range(streams)]
    for _ in readers:
        await ready.acquire()
    print("open", flush=True)
    times = sorted([await heard.get() for _ in range(count)])
    told = {"heard": len(times), "median_ms": 1000 * times[count // 2], "p99_ms": 1000 * times[count * 99 // 100]}
    print(json.dumps(told), flush=True)
    for one in readers:
        one.cancel()


if __name__ == "__main__":
    uvloop.run(_run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
