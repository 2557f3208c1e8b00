"""The pages of the site: links, the navigation, and blocks."""

import pytest

from release import site

KNOWN = {
    "README.md": "index.md",
    "docs/cli.md": "cli.md",
    "config/samples/README.md": "samples.md",
    "docs/a/b.md": "a/b.md",
}


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        pytest.param("README.md", "[c](docs/cli.md#x)", "[c](cli.md#x)", id="a page of docs loses its directory"),
        pytest.param("docs/a/b.md", "[c](../cli.md)", "[c](../cli.md)", id="a page in a directory"),
        pytest.param("docs/cli.md", "[s](../config/samples)", "[s](samples.md)", id="a directory is its README.md"),
        pytest.param("docs/cli.md", "[m](../Makefile)", "m", id="a file that is no page becomes text"),
        pytest.param("docs/cli.md", "[`a`](a/b.md)", "[`a`](a/b.md)", id="a label of code"),
        pytest.param("docs/cli.md", "`[x](nothing)`", "`[x](nothing)`", id="code has no links"),
        pytest.param(
            "README.md", "![p](docs/assets/site.css)", "![p](assets/site.css)", id="a picture of a page outside docs"
        ),
        pytest.param("docs/a/b.md", "![p](../assets/site.css)", "![p](../assets/site.css)", id="a picture of a page"),
        pytest.param("docs/cli.md", "[x](#y)", "[x](#y)", id="an anchor of the page"),
        pytest.param("docs/cli.md", "[x](https://a.b/c)", "[x](https://a.b/c)", id="another host"),
        pytest.param(
            "docs/cli.md", "```sh no-run\n[x](y)\n```", "```sh\n[x](y)\n```", id="a block loses its marker only"
        ),
    ],
)
def test_a_page_has_the_links_of_the_site(page: str, text: str, expected: str) -> None:
    assert site.site_text(page, text, KNOWN) == expected


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(site.SiteError, match=r"docs/cli\.md has links to files that do not exist: nothing\.md"):
        site.site_text("docs/cli.md", "[x](nothing.md)", KNOWN)
    with pytest.raises(site.SiteError, match=r"docs/cli\.md has links to files that do not exist: nothing\.png"):
        site.site_text("docs/cli.md", "![x](nothing.png)", KNOWN)


def test_the_navigation_lists_each_page_once() -> None:
    texts = site.site_pages()
    assert sorted(site.listed(site.configuration(texts)["nav"])) == sorted(texts)
    with pytest.raises(site.SiteError, match=r"new\.md"):
        site.configuration({**texts, "new.md": "# New\n"})
