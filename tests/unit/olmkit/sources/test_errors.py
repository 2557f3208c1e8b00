"""Errors of sources: their messages are safe to show, and they survive pickling."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from olmkit.errors import OlmError
from olmkit.sources.addresses import AddressRefused
from olmkit.sources.errors import BadContent, BadReference, ImageNotFound, SourceReason, quoted, shown_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("configs/a.json", '"configs/a.json"', id="plain text stays"),
        pytest.param("ä 漢", '"ä 漢"', id="so do other letters"),
        pytest.param("a\nb\x1b[31m", '"a\\nb\\x1b[31m"', id="control characters are written out"),
        pytest.param("a\udcff", '"a\\udcff"', id="bytes that are no text are written out"),
        pytest.param("\u202eabc", '"\\u202eabc"', id="what turns text around is written out"),
        pytest.param("x" * 300, '"' + "x" * 200 + '…"', id="a long text is cut"),
    ],
)
def test_untrusted_text_is_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


@given(some.text(some.characters(exclude_categories=()), max_size=400))
def test_any_text_can_be_quoted(text: str) -> None:
    shown = quoted(text)
    assert shown.isprintable()
    assert len(shown.encode()) <= 4 * 203


@pytest.mark.parametrize(
    "error",
    [
        BadReference(SourceReason.INVALID_REFERENCE, "text"),
        BadContent(SourceReason.UNSAFE, "text", "quay.io/a@sha256:0"),
        ImageNotFound(SourceReason.NOT_FOUND, "text", timedelta(seconds=5)),
        AddressRefused(SourceReason.ADDRESS_REFUSED, "text", timedelta(seconds=5)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copy_is_the_same(error: OlmError) -> None:
    assert vars(copy.copy(error)) == vars(error)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("a/b.yaml", "a/b.yaml", id="a path as it stands"),
        pytest.param("a\n/\x1b", "a\\n/\\x1b", id="on one line"),
        pytest.param("a" * 60 + "/" + "b" * 60, "a" * 50 + "…" + "b" * 50, id="a long one without its middle"),
    ],
)
def test_paths_are_quoted_unchanged_where_possible(path: str, expected: str) -> None:
    assert shown_path(path, 100) == expected
