"""Requests that schemathesis makes of /openapi.json, against a server of their own: `make test-openapi`.

Left out are the two streams, which would be waited for, and checks of what HTTP does not ask for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import schemathesis

from tests.server.processes import ServerProcess

_UNCHECKED = ("unsupported_method", "positive_data_acceptance", "use_after_free", "ensure_resource_availability")
"""Methods that are not offered are 405 with Allow, which is tested elsewhere. Data that fits a schema may still be
refused, as no schema says what an expression may say. What was deleted may be made again by its name."""


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream", "application/toml")
def _as_bytes(context: object, value: object) -> bytes:
    """What is no text, and so breaks the schema, breaks UTF-8 as well: some of it would be right as lines."""
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b"\xff"


def main() -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(Path(folder) / "data", most_wait_seconds=0.05) as server,
    ):
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/openapi.json"]
        command += ["--exclude-path-regex", "stream$", f"--exclude-checks={','.join(_UNCHECKED)}", *sys.argv[1:]]
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.server.from_openapi"}
        done = subprocess.run(command, check=False, env=environment)
        print(server.log())
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
