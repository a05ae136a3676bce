"""What docs/processes.md shows is what happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.pages import fences, page


def test_the_page_shows_what_its_script_prints(tmp_path: Path) -> None:
    script = "\n".join(fences(page("docs/processes.md"), "python"))
    shown = "".join(fences(page("docs/processes.md"), "text")[:2])
    (tmp_path / "script.py").write_text(script, encoding="utf-8")

    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.stdout.strip() == shown.strip()
