"""The notes of a release are its section of the changelog; a tag or a changelog that does not fit is refused."""

from __future__ import annotations

import re

import pytest

from release.notes import release_notes

CHANGELOG = """# Changelog

## Unreleased

- Something new.

## 0.2.0

A summary.

### Installing
- A line.

## 0.2

- Another version.

## 0.1.0 (first)

- The first one.

## 0.0.1
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("0.2.0", "A summary.\n\n### Installing\n- A line.\n", id="up to the next version"),
        pytest.param("0.2", "- Another version.\n", id="a version that another one begins with"),
        pytest.param("0.1.0", "- The first one.\n", id="a heading with more than the version"),
    ],
)
def test_the_notes_are_the_section_of_the_version(version: str, expected: str) -> None:
    assert release_notes(f"v{version}", version, CHANGELOG) == expected


@pytest.mark.parametrize(
    ("tag", "version", "message"),
    [
        pytest.param("v0.2.1", "0.2.0", "the tag v0.2.1 is not v0.2.0", id="the tag of another version"),
        pytest.param("0.2.0", "0.2.0", "the tag 0.2.0 is not v0.2.0", id="a tag without v"),
        pytest.param("v0.3.0", "0.3.0", 'rename the heading "Unreleased" to "0.3.0"', id="a version without a section"),
        pytest.param("v0.0.1", "0.0.1", "CHANGELOG.md says nothing about 0.0.1", id="a section without a word"),
        pytest.param("v0x2.0", "0x2.0", "CHANGELOG.md says nothing about 0x2.0", id="a dot is a dot"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(tag: str, version: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        release_notes(tag, version, CHANGELOG)
