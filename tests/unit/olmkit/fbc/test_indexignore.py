"""The cost of patterns, and names that are not UTF-8. Which files patterns exclude is tested with olmctl.authoring.directory."""

from __future__ import annotations

import os

import pytest

from olmkit.fbc.errors import BadCatalog
from olmkit.fbc.indexignore import select_paths


def test_patterns_that_would_take_too_long_are_refused() -> None:
    paths = [f"file-{number}" for number in range(50_000)]
    with pytest.raises(BadCatalog, match=r"50,000 files are too many for as many patterns"):
        list(select_paths(paths, {"": b"a*b*c\n" * 1_000}))


def test_many_stars_are_matched_in_linear_time() -> None:
    names = ["a" * 250, "a" * 249 + "b"]
    assert list(select_paths(names, {"": b"*a" * 100 + b"*b\n"})) == names[:1]


def test_more_patterns_than_are_read_are_refused() -> None:
    patterns = "\n".join(f"**/a*{number}*b*c" for number in range(4_000))
    with pytest.raises(BadCatalog, match=r"^x/\.indexignore: holds more patterns, or longer ones, than are read$"):
        list(select_paths(["x/a"], {"x": patterns.encode()}))


def test_a_name_that_is_no_text_is_matched() -> None:
    names = [os.fsdecode(b"\xff.json"), os.fsdecode(b"\xff.md")]
    assert list(select_paths(names, {"": b"*.md\n"})) == names[:1]
