"""The first document of a text, and the errors of Go's YAML library."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.gocompat.go_yaml import GoYamlError, first_document, load
from olmkit.gocompat.yaml_composer import ReadOptions

OPTIONS = ReadOptions(max_bytes=1_000_000, exact_numbers=False)


def read(text: bytes) -> Any:
    return load(first_document(text), OPTIONS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b"a: 1", {"a": 1}, id="without a line end"),
        pytest.param(b"---\na: 1\n---\nb: 2\n", {"a": 1}, id="behind a separator"),
        pytest.param(b"a: 1\r\n---\r\nb: 2\r\n", {"a": 1}, id="with line ends of Windows"),
        pytest.param(b"# license\n---\na: 1\n", None, id="comments before a separator"),
        pytest.param(b"\n---\na: 1\n", None, id="an empty line before a separator"),
        pytest.param(b"--- # one\na: 1\n--- # two\nb: 2\n", {"a": 1}, id="comments behind separators"),
        pytest.param(b"a: x---\nb: |\n ---\n", {"a": "x---", "b": "---\n"}, id="dashes within lines"),
        pytest.param(b'{"a": 1}\n', {"a": 1}, id="JSON"),
        pytest.param(b"---", None, id="a separator alone"),
    ],
)
def test_the_first_document(text: bytes, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        pytest.param(b"", "EOF", 0, id="nothing"),
        pytest.param(b"a: 1\n--- b\n", "invalid Yaml document separator: b", 2, id="text behind a separator"),
        pytest.param(
            b"a:\n  b: [1\nc: 2\n", "yaml: line 2: did not find expected ',' or ']'", 3, id="the parser counts from 0"
        ),
        pytest.param(
            b"a: b: c\n", "yaml: mapping values are not allowed in this context", 1, id="line 0 is not written"
        ),
        pytest.param(
            b"a: 1\nb: 'x\n", "yaml: line 3: found unexpected end of stream", 3, id="the scanner counts from 1"
        ),
        pytest.param(b"a: *b\n", "yaml: unknown anchor 'b' referenced", 1, id="an anchor"),
        pytest.param(b"a: *b\nc: [\n", "yaml: unknown anchor 'b' referenced", 1, id="an anchor before another error"),
        pytest.param(b"a: &b [*b]\n", "yaml: anchor 'b' value contains itself", 1, id="an anchor in itself"),
        pytest.param(b"<<: 1\n", "yaml: map merge requires map or sequence of maps as the value", 1, id="a merge"),
        pytest.param(b"a: \xff\n", "yaml: invalid leading UTF-8 octet", 1, id="no UTF-8"),
        pytest.param(b"a: \x01\n", "yaml: control characters are not allowed", 1, id="a control character"),
    ],
)
def test_errors(text: bytes, message: str, line: int) -> None:
    with pytest.raises(GoYamlError) as raised:
        read(text)
    assert (str(raised.value), raised.value.line) == (message, line)
