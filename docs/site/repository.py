"""Which files of the repository the site has, and where a link of a page leads there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

_LINK = re.compile(r"\]\(([^)\s]+)\)")  # as tests/architecture/links_test.cpp finds them
_BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_PICTURES = {".svg", ".png"}
_ELSEWHERE = re.compile(r"^(?:[a-z]+:|#)")


class Repository:
    """Pages, pictures and sources that are reached from the README or lie in docs/.

    Every file keeps its path, so links between pages stay as they are. A source becomes a page of its own, at
    its path with ".md" after it; a folder without a README gets one, which lists its files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pages: set[str] = set()
        self.pictures: set[str] = set()
        self.sources: set[str] = set()
        self.folders: set[str] = set()
        self._take("README.md")
        for page in sorted((root / "docs").rglob("*.md")):
            self._take(page.relative_to(root).as_posix())

    def with_links_of_site(self, page: str, text: str) -> str:
        """The text of `page` with links to sources and folders turned into links to their pages."""

        def link(match: re.Match[str]) -> str:
            target, hash_sign, anchor = match[1].partition("#")
            to = self._place(page, target)
            if to in self.sources:
                target += ".md"
            elif to is not None and (self.root / to).is_dir():
                target = target.rstrip("/") + "/README.md"
            return f"]({target}{hash_sign}{anchor})"

        return _outside_blocks(text, lambda part: _LINK.sub(link, part))

    def source_page(self, source: str) -> str:
        language = source.rpartition(".")[2] if "." in source else "text"
        return f"# {source}\n\n````{language}\n{(self.root / source).read_text()}\n````\n"

    def folder_page(self, folder: str) -> str:
        names = [path.name for path in self._files_of(folder)]
        return f"# {folder}/\n\n" + "".join(f"- [{name}]({name})\n" for name in names)

    def _place(self, page: str, target: str) -> str | None:
        """The path in the repository that a link of `page` leads to; None if nothing is there."""
        if not target or _ELSEWHERE.match(target):
            return None
        to = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        return to if not to.startswith("..") and (self.root / to).exists() else None

    def _files_of(self, folder: str) -> list[Path]:
        return sorted(path for path in (self.root / folder).iterdir() if path.is_file())

    def _kind(self, path: Path) -> set[str]:
        if path.is_dir():
            return self.folders
        if path.suffix == ".md":
            return self.pages
        return self.pictures if path.suffix in _PICTURES else self.sources

    def _take(self, place: str) -> None:
        path = self.root / place
        if path.is_dir() and (path / "README.md").exists():
            place, path = place + "/README.md", path / "README.md"
        kind = self._kind(path)
        if place in kind:
            return
        kind.add(place)
        if kind is self.folders:
            for file in self._files_of(place):
                self._take(file.relative_to(self.root).as_posix())
        elif kind is self.pages:
            for part in _BLOCK.split(path.read_text())[::2]:
                for target in _LINK.findall(part):
                    to = self._place(place, target.partition("#")[0])
                    if to is not None:
                        self._take(to)


def _outside_blocks(text: str, change: Callable[[str], str]) -> str:
    parts = _BLOCK.split(text)
    parts[::2] = [change(part) for part in parts[::2]]
    return "".join(parts)
