"""What mkdocs.yml cannot say: pages from outside docs/, lists of pages, the reference, and a look at what was built.

Links stay as they are right in the repository, where people read the pages too; they are turned to the site's places
here. A link to a file that the site does not have, such as a module, leaves its text.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]

HOMES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.md",
    "examples/README.md": "examples/index.md",
    "examples/saved_searches.py": "examples/saved_searches.md",
    "examples/price_alert.py": "examples/price_alert.md",
    "examples/spark_notebook.ipynb": "examples/spark_notebook.md",
    "examples/auctions/README.md": "examples/auctions.md",
}
"""What lies outside docs/ → its place in the site."""

LISTS = {
    "algorithms": "Matching algorithms",
    "indexes": "Predicate indexes",
    "decisions": "Decisions",
}
"""Folders of docs/ that get a page with a list of theirs."""

MODULES = {"tamis": "src/tamis/__init__.py", "tamis.spark": "src/tamis/spark/__init__.py"}
"""What the reference shows: the names that a module exports."""

_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


# -- what mkdocs calls -------------------------------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = _listed(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    for place, text in [*_homes(), *_lists(), *_reference()]:
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return relink(markdown, page.file.src_uri)


def on_post_build(config: MkDocsConfig) -> None:
    from mkdocs.exceptions import PluginError

    found = list(strangers(Path(config.site_dir)))
    if found:
        raise PluginError("the site must be readable without a network, but asks other hosts:\n" + "\n".join(found))


# -- pages that stand in no file of docs/ ------------------------------------------------------------------------------


def _homes() -> Iterator[tuple[str, str]]:
    for source, place in HOMES.items():
        path = ROOT / source
        yield place, _SHOWN.get(path.suffix, _as_text)(path)


def _as_text(path: Path) -> str:
    return _fenced("", path.read_text(encoding="utf-8"), path.stem.capitalize())


def _as_code(path: Path) -> str:
    return _fenced("python", path.read_text(encoding="utf-8"), path.name)


def _as_markdown(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _as_notebook(path: Path) -> str:
    """Its cells, with what they printed when it was saved."""
    pieces = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        pieces.append(source + "\n" if cell["cell_type"] == "markdown" else _fenced("python", source))
        pieces += [_fenced("", "".join(output["text"])) for output in cell.get("outputs", [])]
    return "\n".join(pieces)


def _fenced(language: str, text: str, title: str = "") -> str:
    head = f"# {title}\n\n" if title else ""
    lines = text.strip("\n")
    return f"{head}```{language}\n{lines}\n```\n"


_SHOWN = {".md": _as_markdown, ".py": _as_code, ".ipynb": _as_notebook}


def _lists() -> Iterator[tuple[str, str]]:
    for folder, title in LISTS.items():
        lines = [f"- [{_title(path)}]({path.name})" for path in _pages(folder)]
        yield f"{folder}/index.md", "\n".join([f"# {title}", "", *lines, ""])


def _reference() -> Iterator[tuple[str, str]]:
    for module, source in MODULES.items():
        names = [f"::: {module}.{name}" for name in _exported(ROOT / source)]
        yield f"reference/{module}.md", "\n\n".join([f"# {module}", *names, ""])


def _listed(nav: Any) -> Any:
    """The navigation with folders replaced by their pages."""
    if isinstance(nav, list):
        return [_listed(one) for one in nav]
    if isinstance(nav, dict):
        return {title: _listed(one) for title, one in nav.items()}
    if nav.endswith("/"):
        return [f"{nav}index.md", *[f"{nav}{path.name}" for path in _pages(nav.rstrip("/"))]]
    return nav


def _pages(folder: str) -> list[Path]:
    return sorted((ROOT / "docs" / folder).glob("*.md"))


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _exported(path: Path) -> list[str]:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and [ast.unparse(one) for one in statement.targets] == ["__all__"]:
            names: list[str] = ast.literal_eval(statement.value)
            return names
    raise ValueError(f"{path}: expected a list __all__")


# -- links -------------------------------------------------------------------------------------------------------------


def relink(markdown: str, place: str) -> str:
    """The page with its links, right in the repository, made right in the site. Code is left alone."""
    source = {home: source for source, home in HOMES.items()}.get(place, f"docs/{place}")
    codes = [code[0] for code in _CODE.finditer(markdown)]
    prose = _relinked(_CODE.sub("\0", markdown), source, place)
    return re.sub("\0", lambda _: codes.pop(0), prose)


def _relinked(prose: str, source: str, place: str) -> str:
    def turn(link: re.Match[str]) -> str:
        path, mark, anchor = link[2].partition("#")
        if not path or ":" in path:
            return link[0]
        home = _home(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if home is None:
            return link[1]
        return f"[{link[1]}]({posixpath.relpath(home, posixpath.dirname(place) or '.')}{mark}{anchor})"

    return _LINK.sub(turn, prose)


def _home(path: str) -> str | None:
    """Where the site has what the repository has at `path`."""
    if path in HOMES:
        return HOMES[path]
    inside = path.removeprefix("docs/")
    if inside == path:
        return None
    return f"{inside}/index.md" if inside in LISTS else inside


# -- nothing from elsewhere --------------------------------------------------------------------------------------------


class _Loads(HTMLParser):
    """What a page makes a browser fetch; a link to click on is not among it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"src", "srcset", "data", "poster"} | ({"href"} if tag == "link" else set())
        self.found += [value for name, value in attrs if name in wanted and value]


def strangers(site: Path) -> Iterator[str]:
    """Page and address of each thing that a page would fetch from another host."""
    for path in sorted(site.rglob("*.html")):
        loads = _Loads()
        loads.feed(path.read_text(encoding="utf-8"))
        yield from (f"{path.relative_to(site)}: {url}" for url in loads.found if _is_elsewhere(url))
    for path in sorted(site.rglob("*.css")):
        urls = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", path.read_text(encoding="utf-8"))
        yield from (f"{path.relative_to(site)}: {url}" for pair in urls for url in pair if _is_elsewhere(url))


def _is_elsewhere(url: str) -> bool:
    return re.match(r"(?:https?:)?//", url) is not None
