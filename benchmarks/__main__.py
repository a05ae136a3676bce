"""All benchmarks, one after another: `python -m benchmarks [--quick]`. Spark is not for the quick."""

from __future__ import annotations

import subprocess
import sys

ALL = ("adaptive", "texts", "matchers", "indexes", "safety")


def main() -> int:
    for name in ALL if "--quick" in sys.argv else (*ALL, "spark"):
        print(f"\n=== {name}\n", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
