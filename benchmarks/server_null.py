"""The same web stack with a route that decodes its body and answers, and does nothing else: what publishing is held to.

python -m benchmarks.server_null PORT
"""

from __future__ import annotations

import sys

import msgspec
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router


async def answer(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    return Response(msgspec.json.encode({"first": 1, "last": 1, "accepted": 1, "rejected": []}), 202)


if __name__ == "__main__":
    app = Router([Route("/v1/events", answer, methods=["POST"])])
    config = uvicorn.Config(
        app, port=int(sys.argv[1]), http="httptools", loop="uvloop", log_config=None, access_log=False, lifespan="off"
    )
    uvicorn.Server(config).run()
