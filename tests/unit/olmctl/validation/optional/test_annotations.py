"""The annotations of capabilities and categories."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.validation.optional.annotations import CATEGORIES_VARIABLE, capabilities, categories
from tests.unit.olmctl.validation.made_bundle import annotate, made
from tests.unit.olmctl.validation.optional.findings import found

START = "Error: Value : (kettle-operator.v1.2.3) "
PLACE = f'{START}csv.Metadata.Annotations["categories"] value '


def test_what_is_known_or_missing() -> None:
    for bundle in (made(), made(annotate("capabilities", None), annotate("categories", None))):
        assert found(capabilities, bundle) == found(categories, bundle) == []


def test_an_unknown_level() -> None:
    assert found(capabilities, made(annotate("capabilities", "basic"))) == [
        ("error", f'{START}csv.Metadata.Annotations.Capabilities "basic" is not a valid capabilities level')
    ]


def test_unknown_categories_are_named_as_they_are_written() -> None:
    assert found(categories, made(annotate("categories", "Storage, Tea ,"))) == [
        ("error", f'{PLACE}" Tea " is not in the set of standard categories'),
        ("error", f'{PLACE}"" is not in the set of standard categories'),
    ]


def test_categories_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "categories.json"
    file.write_text('{"categories": ["Tea"]}')
    monkeypatch.setenv(CATEGORIES_VARIABLE, str(file))
    assert found(categories, made(annotate("categories", "Storage,Tea"))) == [
        ("error", f'{PLACE}"Storage" is not in the set of custom categories')
    ]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"categories": [1]}'])
def test_a_file_of_categories_that_cannot_be_read(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "categories.json"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv(CATEGORIES_VARIABLE, str(file))
    ((level, text),) = found(categories, made())
    kind = "unmarshaling" if content else f"reading category file: open {file}: no such file or directory"
    assert level == "error"
    assert f"categories map[string]struct {{}}(nil): {kind}" in text
