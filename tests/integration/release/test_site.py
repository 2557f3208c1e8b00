"""The site is built without a warning, and what is wrong in a page is an error that names it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from release import site


class _Links(HTMLParser):
    """What a page loads from elsewhere, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        source = values.get("src") or (values.get("href") if tag == "link" and values.get("rel") != "canonical" else "")
        if source and urlsplit(source).netloc:
            self.loaded.append(source)


def test_the_site_has_all_pages_and_loads_nothing_from_another_host(tmp_path: Path) -> None:
    assert site.build(tmp_path) == 0
    for page in site.pages().values():
        html = (tmp_path / "site" / page).with_suffix(".html").read_text()
        assert _Links(html).loaded == [], page
        prose = re.sub(r"^ *```.*?^ *```$", "", (tmp_path / "docs" / page).read_text(), flags=re.DOTALL | re.MULTILINE)
        assert html.count("<h2 ") == len(re.findall(r"^## ", prose, re.MULTILINE)), page


def test_an_anchor_that_does_not_exist_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {**site.site_pages(), "glossary.md": "# Glossary\n\n[x](catalog.md#nothing)\n"}
    monkeypatch.setattr(site, "site_pages", lambda: texts)
    assert site.build(tmp_path) != 0
    assert "glossary.md:3" in capsys.readouterr().err
