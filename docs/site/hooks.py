"""Hooks of MkDocs: the site has the pages of the whole repository, each at its own path.

Pages are written to be read in the repository. MkDocs sees one folder; these hooks hand it the README, the
pages of calibration/ and the like, and a page for every source that a page links to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

SITE = Path(__file__).resolve().parent
sys.path.insert(0, str(SITE))
from repository import Repository  # noqa: E402

ASSETS = ("style.css", "iframe-worker.js")


def on_files(files: Files, config: Any) -> Files:
    """The repository's files take the place of those that MkDocs found in docs/; the theme's stay."""
    global repository
    repository = Repository(SITE.parent.parent)
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for place in sorted(repository.pages | repository.pictures):
        files.append(File.generated(config, place, abs_src_path=str(repository.root / place)))
    for asset in ASSETS:
        files.append(File.generated(config, f"site/{asset}", abs_src_path=str(SITE / asset)))
    for place in sorted(repository.sources):
        _append_unlisted(files, config, place + ".md", repository.source_page(place))
    for place in sorted(repository.folders):
        _append_unlisted(files, config, place + "/README.md", repository.folder_page(place))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Pages as in the repository; in a source, what looks like a link is code."""
    is_source = page.file.src_uri.removesuffix(".md") in repository.sources
    return markdown if is_source else repository.with_links_of_site(page.file.src_uri, markdown)


def _append_unlisted(files: Files, config: Any, page: str, text: str) -> None:
    """Neither in the navigation nor in search, which is for the docs."""
    content = f"---\nsearch:\n  exclude: true\n---\n{text}"
    files.append(File.generated(config, page, content=content, inclusion=InclusionLevel.NOT_IN_NAV))
