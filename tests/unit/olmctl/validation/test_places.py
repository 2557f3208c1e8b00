"""Lines of keys and items in text in flow style; those of block style are shown by the findings about real files."""

from __future__ import annotations

from typing import Any

import pytest
from yaml._yaml import CParser

from olmctl.validation import places
from olmctl.validation.places import line_of

JSON = b"""\
{
  "spec": {
    "versions": [
      {"name": "v1"},
      {
        "name": "v2", "name": "again"
      }, [], [[
        7
      ]]
    ],
    "empty": {}
  }
}
"""


@pytest.mark.parametrize(
    ("data", "path", "line"),
    [
        pytest.param(JSON, (), 1, id="the document"),
        pytest.param(JSON, ("spec",), 2, id="a key"),
        pytest.param(JSON, ("spec", "versions", 0, "name"), 4, id="in an item"),
        pytest.param(JSON, ("spec", "versions", 1), 5, id="an item"),
        pytest.param(JSON, ("spec", "versions", 1, "name"), 6, id="the first of two keys"),
        pytest.param(JSON, ("spec", "versions", 3, 0, 0), 8, id="in lists"),
        pytest.param(JSON, ("spec", "versions", 2, 0), 7, id="not in an empty list"),
        pytest.param(JSON, ("spec", "versions", 9), 3, id="there are not so many items"),
        pytest.param(JSON, ("spec", "empty", "a"), 11, id="no such key"),
        pytest.param(JSON, ("spec", 0), 2, id="no list"),
        pytest.param(JSON, ("spec", "versions", "a"), 3, id="no mapping"),
        pytest.param(JSON, ("spec", "empty", "a", "b"), 11, id="beyond"),
        pytest.param(b'\xef\xbb\xbf {\n"a":\n1}\n', ("a",), 2, id="after a byte order mark"),
        pytest.param(b'{\n"a": 1,\n"b": [1,\n', ("b", 0), 3, id="text that is cut"),
        pytest.param(b'{\n"a": 1,\n"b": }}', ("a",), 2, id="before an error"),
        pytest.param(b"{\na: &x [1],\nb: *x,\n[k]: 1,\nc: 1}", ("b",), 3, id="an alias"),
        pytest.param(b"{\na: 1,\n[k]: 1,\nc: 1}", ("c",), 1, id="after a key that is no text"),
        pytest.param(b"[\n1]\n---\n[\n\n\n\n1, 2]", (1,), 1, id="in another document"),
    ],
)
def test_the_line_of_a_path(data: bytes, path: tuple[str | int, ...], line: int) -> None:
    assert line_of(data, path) == line


def test_a_file_is_followed_once_for_all_its_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the time for a file of many faults would grow with the square of its size."""
    made = []

    def parser(data: bytes) -> Any:
        made.append(data)
        return CParser(data)

    monkeypatch.setattr(places, "CParser", parser)
    data = b"[" + b",\n".join(b"%d" % number for number in range(1000)) + b"]"
    assert [line_of(data, (number,)) for number in range(1000)] == [*range(1, 1001)]
    assert len(made) == 1
