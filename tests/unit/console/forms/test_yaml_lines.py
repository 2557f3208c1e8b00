"""The lines of fields in a text."""

from __future__ import annotations

import pytest

from console.forms.yaml_lines import lines_of

TEXT = """\
apiVersion: v1
metadata:
  annotations:
    a.b/c: x
spec:
  size: 7
  tags:
  - one
  - name: two
    list: [a, b]
  "quoted": {inner: 1}
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("apiVersion", 1),
        ("spec.size", 6),
        (".spec.size", 6),
        ("spec.tags[0]", 8),
        ("spec.tags[1].name", 9),
        ("spec.tags[1].list[1]", 10),
        ("spec.quoted.inner", 11),
        ("metadata.annotations[a.b/c]", 4),
        ("spec.size.gone", 6),
        ("spec.tags[7]", 7),
        ("spec.tags[-1]", 7),
        ("gone", 0),
        ("", 0),
        ("[[[]].." * 1_000, 0),
    ],
)
def test_the_line_of_a_field(field: str, line: int) -> None:
    assert lines_of(TEXT, [field]) == {field: line}


@pytest.mark.parametrize("text", ["a: [", "", "&a [*a]", "[" * 5_000, "5", "a: \x00"])
def test_texts_that_are_none(text: str) -> None:
    assert lines_of(text, ["spec"]) == {"spec": 0}
