"""A load for a server, in a process of its own: connections that send, wait for the answer, and send again.

    python -m benchmarks.server_load URL PATH CONNECTIONS SECONDS MEDIA < bodies, as JSON list of texts

Plain asyncio on uvloop, since a client library would be most of the time. It prints a line of JSON: how many answers
came, and their times.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle
from urllib.parse import urlsplit

import uvloop


async def _send(host: str, port: int, requests: list[bytes], until: float, first: int, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    bodies = cycle(requests[first:] + requests[:first])
    while time.perf_counter() < until:
        began = time.perf_counter()
        writer.write(next(bodies))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith((b"HTTP/1.1 202", b"HTTP/1.1 200")):
            raise SystemExit(head.decode())
        size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(size)
        times.append(time.perf_counter() - began)
    writer.close()


async def _run(url: str, path: str, connections: int, seconds: float, media: str, bodies: list[str]) -> None:
    place = urlsplit(url)
    assert place.hostname is not None
    assert place.port is not None
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: "
    requests = [f"{head}{len(body.encode())}\r\n\r\n{body}".encode() for body in bodies]
    times: list[float] = []
    began = time.perf_counter()
    spread = len(requests) // connections or 1
    await asyncio.gather(
        *(
            _send(place.hostname, place.port, requests, began + seconds, n * spread % len(requests), times)
            for n in range(connections)
        )
    )
    times.sort()
    told = {"answers": len(times), "seconds": time.perf_counter() - began}
    told |= {"median_ms": 1000 * times[len(times) // 2], "p99_ms": 1000 * times[len(times) * 99 // 100]}
    print(json.dumps(told))


if __name__ == "__main__":
    uvloop.run(_run(*sys.argv[1:3], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5], json.load(sys.stdin)))
