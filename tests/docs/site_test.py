"""The site of the docs: what it has, that it fetches nothing, and that mistakes fail its build."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FETCHED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)"')


def build(root: Path, into: Path) -> subprocess.CompletedProcess[str]:
    command = [root / "docs" / "site" / "build.sh", into]
    environment = {"PATH": "/usr/bin:/bin", "PACKSIM_DOCS_VENV": str(ROOT / ".venv-docs")}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


class Site(unittest.TestCase):
    """The project's own pages."""

    site: Path
    built: subprocess.CompletedProcess[str]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = Path(folder.name) / "site"
        cls.built = build(ROOT, cls.site)

    def test_it_builds_without_a_warning(self) -> None:
        self.assertEqual((self.built.returncode, self.built.stdout, self.built.stderr), (0, "", ""))

    def test_every_page_of_docs_and_every_source_that_pages_link_to_is_there(self) -> None:
        for page in (ROOT / "docs").rglob("*.md"):
            name = "index.html" if page.stem == "README" else page.stem + ".html"
            self.assertTrue((self.site / page.relative_to(ROOT).with_name(name)).exists(), page)
        # docs/use_the_core.md links to the C header, docs/production.md to the folder of examples.
        self.assertIn("packsim_pack", (self.site / "packing/c_api/packsim.h.html").read_text())
        self.assertIn('href="train_ddp.py.html"', (self.site / "examples/index.html").read_text())

    def test_no_page_fetches_anything_from_elsewhere(self) -> None:
        pages = list(self.site.rglob("*.html"))
        self.assertGreater(len(pages), 60)
        for page in pages:
            for match in FETCHED.finditer(page.read_text()):
                target = (match[1] or match[2]).split("?")[0]
                # "/..." leads elsewhere in a page that is opened as a file; 404.html is for servers alone.
                if page.name == "404.html":
                    self.assertTrue(target.startswith("/") and not target.startswith("//"), target)
                else:
                    self.assertTrue((page.parent / target).exists(), f"{page}: {target}")
        for style in self.site.rglob("*.css"):
            self.assertNotRegex(style.read_text(), r"url\((['\"]?)(?:https?:)?//|@import", style)

    def test_search_finds_pages_and_no_sources(self) -> None:
        index = json.loads((self.site / "search/search_index.json").read_text())
        places = {row["location"].partition("#")[0] for row in index["docs"] if "HBP" in row["text"]}
        self.assertIn("docs/strategies.html", places)
        self.assertNotIn("packing/c_api/packsim.h.html", {row["location"] for row in index["docs"]})
        # Opened as a file, the page reads the index as a script and searches without a Worker.
        self.assertTrue((self.site / "search/search_index.js").read_text().startswith("var __index = {"))
        self.assertIn("site/iframe-worker.js", (self.site / "index.html").read_text())


class SmallProject(unittest.TestCase):
    """Two pages and a source, with the project's own configuration and hooks."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(
            ROOT / "docs" / "site", self.root / "docs" / "site", ignore=shutil.ignore_patterns("__pycache__")
        )
        config = self.root / "docs" / "site" / "mkdocs.yml"
        config.write_text(config.read_text().partition("nav:\n")[0] + "nav: [README.md, docs/page.md]\n")
        self.write("README.md", "# Start\n\n[page](docs/page.md#a-heading), [code](src/a.cpp), [src](src)\n")
        self.write("docs/page.md", "# Page\n\n## A heading\n\n```\n[in a block](nowhere.md)\n```\n")
        self.write("src/a.cpp", "int a = [](docs) {};\n")

    def write(self, place: str, text: str) -> None:
        path = self.root / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def test_links_to_sources_and_folders_lead_to_pages(self) -> None:
        built = build(self.root, self.root / "site")
        self.assertEqual((built.returncode, built.stderr), (0, ""))
        start = (self.root / "site/index.html").read_text()
        self.assertIn('href="src/a.cpp.html"', start)
        self.assertIn('href="src/index.html"', start)
        self.assertIn('href="a.cpp.html"', (self.root / "site/src/index.html").read_text())

    def test_all_mistakes_fail_the_build_at_once(self) -> None:
        self.write("docs/page.md", "# Page\n\n## Another heading\n\n[gone](gone.md), [out](../../out.md)\n")
        self.write("docs/new.md", "# New\n")
        config = self.root / "docs" / "site" / "mkdocs.yml"
        config.write_text(config.read_text().replace("docs/page.md]", "docs/page.md, docs/old.md]"))
        built = build(self.root, self.root / "site")
        self.assertEqual((built.returncode, built.stdout), (1, ""))
        for mistake in (
            "'docs/page.md' contains a link 'gone.md'",
            "'docs/page.md' contains a link '../../out.md'",
            "'docs/page.md' does not contain an anchor '#a-heading'",
            "docs/new.md",  # has no place in the navigation
            "'docs/old.md' is included in the 'nav' configuration, which is not found",
            "Aborted with 5 warnings",
        ):
            self.assertIn(mistake, built.stderr)


if __name__ == "__main__":
    unittest.main()
