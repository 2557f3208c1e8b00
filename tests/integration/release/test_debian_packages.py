"""The apt sources that the base comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.debian_packages import apt_sources

DEB822 = "Types: deb\nURIs: http://packages.example.com/debian\nSuites: {}\nComponents: main\n"


@pytest.mark.parametrize(
    ("name", "text", "is_chosen"),
    [
        pytest.param("sources.list", "deb http://packages.example.com/debian bookworm main\n", True, id="one line"),
        pytest.param("sources.list", "# deb http://packages.example.com/debian bookworm main\n", False, id="a comment"),
        pytest.param("sources.list.d/debian.sources", DEB822.format("bookworm bookworm-updates"), True, id="deb822"),
        pytest.param("sources.list.d/debian.sources", DEB822.format("trixie"), False, id="another release"),
        pytest.param(
            "sources.list.d/sdk.list", "deb https://example.com/apt sdk-bookworm main\n", False, id="a suite of others"
        ),
    ],
)
def test_the_sources_of_the_release_are_those_that_name_its_suite(
    tmp_path: Path, name: str, text: str, is_chosen: bool
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    assert apt_sources(tmp_path) == ([tmp_path / name] if is_chosen else [])
