"""Builds the site of the documentation: `python -m release.site` writes build/site.

The site consists of the Markdown pages of the repository. Their links are those of the repository, where README.md and
config/samples/README.md are outside docs/; this module copies the pages into one directory and changes the links with them.
Links to files that are no pages become text. A link to something that does not exist, a page that mkdocs.yml does not list,
and a warning of the site generator (such as an anchor that does not exist) is an error. Nothing is read from a network.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from devcluster.processes import REPOSITORY
from release.suite import BUILD

CONFIGURATION = REPOSITORY / "mkdocs.yml"
OTHER_PAGES: Mapping[str, str] = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "config/samples/README.md": "samples.md",
}
"""Path in the repository -> path in the site, of the pages outside docs/."""
_FENCE = re.compile(r"^( *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"(!\[[^\]]*\])\((?!https?:)([^)\s]+)\)")
_MARKER = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
"""The info string of a block for tests/pages.py, which the site generator does not know."""
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_INLINE_CODE = re.compile(r"(`+[^`]*`+)")


class SiteError(Exception):
    """The site cannot be built; the text names each page and what is wrong in it."""


def pages() -> dict[str, str]:
    """Path in the repository -> path in the site, of all pages."""
    docs = {path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "docs").rglob("*.md")}
    return {**OTHER_PAGES, **{page: page.removeprefix("docs/") for page in sorted(docs)}}


def site_text(page: str, text: str, known: Mapping[str, str]) -> str:
    """The text of a page with the links of the site. Raises SiteError for a link to something that does not exist."""
    missing: list[str] = []
    directory = posixpath.dirname(known[page])

    def replace(link: re.Match[str]) -> str:
        label, target, anchor = link[1], link[2], link[3] or ""
        if not target:
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        path = f"{path}/README.md" if (REPOSITORY / path / "README.md").is_file() else path
        if path in known:
            return f"[{label}]({posixpath.relpath(known[path], directory or '.')}{anchor})"
        if not (REPOSITORY / path).exists():
            missing.append(target)
        return label

    def replace_picture(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2]))
        if not (REPOSITORY / path).is_file():
            missing.append(link[2])
        return f"{link[1]}({posixpath.relpath(path.removeprefix('docs/'), directory or '.')})"

    def prose(part: str) -> str:
        # Links of which the label is code have to stay whole: the code is set aside while links are replaced.
        codes: list[str] = []

        def aside(code: re.Match[str]) -> str:
            codes.append(code[0])
            return f"\0{len(codes) - 1}\0"

        replaced = _PICTURE.sub(replace_picture, _LINK.sub(replace, _INLINE_CODE.sub(aside, part)))
        return re.sub("\0(\\d+)\0", lambda mark: codes[int(mark[1])], replaced)

    result = "".join(
        _MARKER.sub(r"\1", part) if number % 2 else prose(part) for number, part in enumerate(_FENCE.split(text))
    )
    if missing:
        raise SiteError(f"{page} has links to files that do not exist: {', '.join(missing)}")
    return result


def _title(text: str) -> str:
    """The first heading of a page."""
    return next(line.lstrip("# ") for line in text.splitlines() if line.startswith("# "))


def navigation(items: list[Any], texts: Mapping[str, str]) -> list[Any]:
    """The navigation of mkdocs.yml, with a pattern (`decisions/*.md`) replaced by the pages that match it, by name."""
    result: list[Any] = []
    for item in items:
        if isinstance(item, str) and "*" in item:
            matching = sorted(page for page in texts if Path(page).match(item))
            result += [{_title(texts[page]): page} for page in matching]
        elif isinstance(item, dict):
            result += [
                {title: navigation(inner, texts) if isinstance(inner, list) else inner} for title, inner in item.items()
            ]
        else:
            result.append(item)
    return result


def listed(items: list[Any]) -> Iterator[str]:
    """The pages of a navigation."""
    for item in items:
        for inner in item.values() if isinstance(item, dict) else [item]:
            yield from listed(inner) if isinstance(inner, list) else [inner]


def site_pages() -> dict[str, str]:
    """Path in the site -> text, of all pages. Raises SiteError for broken links."""
    known = pages()
    texts, errors = {}, []
    for page, target in known.items():
        try:
            texts[target] = site_text(page, (REPOSITORY / page).read_text(), known)
        except SiteError as error:
            errors.append(str(error))
    if errors:
        raise SiteError("\n".join(errors))
    return texts


def configuration(texts: Mapping[str, str]) -> dict[str, Any]:
    """The configuration of the site generator. Raises SiteError unless the navigation lists each page once."""
    config: dict[str, Any] = yaml.safe_load(CONFIGURATION.read_text())
    config["nav"] = navigation(config["nav"], texts)
    found = sorted(listed(config["nav"]))
    if found != sorted(texts):
        wrong = sorted(set(found) ^ set(texts)) or sorted({page for page in found if found.count(page) > 1})
        raise SiteError(f"{CONFIGURATION.name} does not list each page once: {', '.join(wrong)}")
    return config


def build(directory: Path = BUILD) -> int:
    """Write the site into `directory`/site. Returns the exit status of the site generator, which is not 0 after a warning."""
    texts = site_pages()
    source = directory / "docs"
    for old in (source, directory / "site"):
        shutil.rmtree(old, ignore_errors=True)
    for path, text in texts.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    shutil.copytree(REPOSITORY / "docs" / "pictures", source / "pictures")
    styles = source / "assets" / "site.css"
    styles.parent.mkdir()
    shutil.copyfile(REPOSITORY / "docs" / "assets" / "site.css", styles)
    config = directory / "mkdocs.yml"
    config.write_text(yaml.safe_dump(configuration(texts), sort_keys=False, allow_unicode=True))
    print(f"writing {directory / 'site'}", flush=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(config)]
    done = subprocess.run(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        print(_COLOR.sub("", done.stdout).split("Traceback")[0], file=sys.stderr)
    return done.returncode


def main() -> int:
    """Build the site. Exit status 1 when a link, a page or the navigation is wrong."""
    try:
        status = build()
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    if status == 0:
        print(f"{len(pages())} pages: {BUILD / 'site' / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
