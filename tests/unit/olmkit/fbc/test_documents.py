"""The documents in files: where one ends and the next begins, for chunks of any size."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.fbc import documents
from olmkit.fbc.errors import BadDocument
from olmkit.gocompat.numbers import exact_json
from tests.examples import example_count

Found = list[tuple[Any, int]]


class Pieces:
    """A stream that gives at most `size` bytes at a time, as sockets and pipes do."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, self._size))


def read(data: bytes, size: int = 1 << 20) -> tuple[Found, str]:
    """Values with their lines, and what stopped the reading ("" the end)."""
    found: Found = []
    try:
        for document in documents.read_documents(Pieces(data, size)):
            found.append((document.value, document.line))
    except BadDocument as error:
        return found, str(error)
    return found, ""


GOOD = [
    pytest.param(b"", [], id="an empty file holds nothing"),
    pytest.param(b'{"a":1}\n{"b":2}\n', [({"a": 1}, 1), ({"b": 2}, 2)], id="JSON lines"),
    pytest.param(b'{"a":1}\n{"b":2}', [({"a": 1}, 1), ({"b": 2}, 2)], id="the last line needs no end"),
    pytest.param(b'{"a":1}{"b":{}} {"c":3}', [({"a": 1}, 1), ({"b": {}}, 1), ({"c": 3}, 1)], id="objects on one line"),
    pytest.param(b' \n\t{"a":1}', [({"a": 1}, 2)], id="space before JSON does not count"),
    pytest.param(b'{\n  "a": 1\n}\n{\n  "b": 2\n}\n', [({"a": 1}, 1), ({"b": 2}, 4)], id="objects over several lines"),
    pytest.param(b'{\r\n "a": 1\r\n}\r\n{"b":2}\r\n', [({"a": 1}, 1), ({"b": 2}, 4)], id="lines that end in CR LF"),
    pytest.param(
        b'{\n"a": {\n}\n}{"b": 2}',
        [({"a": {}}, 1), ({"b": 2}, 4)],
        id="a brace at the start of a line that closes another",
    ),
    pytest.param(
        rb'{"a":"}{\"\\"}{"b":"\\\""}', [({"a": '}{"\\'}, 1), ({"b": '\\"'}, 1)], id="braces and quotes in strings"
    ),
    pytest.param(b"a: 1\n---\nb: 2\n", [({"a": 1}, 1), ({"b": 2}, 3)], id="YAML documents"),
    pytest.param(b"---\na: 1\n---\n", [({"a": 1}, 1)], id="separators at the start and at the end"),
    pytest.param(b"a: 1\n---\n---\nb: 2\n", [({"a": 1}, 1), ({"b": 2}, 3)], id="two separators between documents"),
    pytest.param(b"a: 1\n--- # next\nb: 2\n", [({"a": 1}, 1), ({"b": 2}, 3)], id="a comment behind a separator"),
    pytest.param(
        b"a: 1\n---\n---\n---\nb: 2\n",
        [({"a": 1}, 1), (None, 3), ({"b": 2}, 5)],
        id="three separators make an empty document",
    ),
    pytest.param(
        b"---\n---\na: 1\n", [(None, 1), ({"a": 1}, 3)], id="two separators at the start make an empty document"
    ),
    pytest.param(b"# made by hand\n---\na: 1\n", [(None, 1), ({"a": 1}, 3)], id="a comment alone is an empty document"),
    pytest.param(b"\n", [(None, 1)], id="a file of blanks is an empty document"),
    pytest.param(b"a: |\n  text", [({"a": "text\n"}, 1)], id="a last line without an end gets one"),
    pytest.param(b"{a: 1, b: x}\n", [({"a": 1, "b": "x"}, 1)], id="flow style that is not valid JSON is YAML"),
    pytest.param(b'{"a":1}\n---\nb: 2\n', [({"a": 1}, 1), ({"b": 2}, 2)], id="one JSON object, then YAML"),
    pytest.param(b"- 1\n- 2\n", [([1, 2], 1)], id="what is no mapping is left to the envelope"),
    pytest.param(b'\xef\xbb\xbf{"a": 1}', [({"a": 1}, 1)], id="a byte order mark makes it YAML"),
    pytest.param(
        b'{"a":"\xff \\ud83d"}', [({"a": "\ufffd \ufffd"}, 1)], id="what is no text becomes U+FFFD in JSON, as in Go"
    ),
    pytest.param(b'{"a":"\\ud83d\\ude00"}', [({"a": "\U0001f600"}, 1)], id="surrogate pairs stay"),
]

END = "unexpected end of data: "
VALUE = "unexpected character, expected a JSON value: "
COMMA = "unexpected character, expected ',' or '}': "
KEY = "unexpected character, expected a string key: "
NOT_ALLOWED = "mapping values are not allowed in this context: "
PLACES = [
    ('{}{}{"schema":', 2, "line 1, column 15", END + '{"schema": <==', "a column counts from the start of the line"),
    (
        ' {} {}{\n"a": "é" é',
        2,
        "line 2, column 10",
        COMMA + '{ "a": "é" <==',
        "on a later line of an object from its start",
    ),
    ('{}{}{\r\n"a":\r\n  x}', 2, "line 3, column 3", VALUE + '{ "a": <==', "CR LF is no column"),
    ("{} {}\r\n {x}", 2, "line 2, column 3", KEY + "{ <==", "blanks before an object count"),
    ('{}{}{"é": x}', 2, "line 1, column 11", VALUE + '{"é": <==', "columns count characters"),
    ('{}{}{"é\U0001f600": x}', 2, "line 1, column 12", VALUE + '{"é\U0001f600": <==', "of four bytes as well"),
    ("{}{} x", 2, "line 1, column 6", "expected the brace that opens a JSON object, found 'x'", "what is no object"),
    ('{}\t{"a":', 1, "line 1, column 9", END + '{"a": <==', "an error in YAML too"),
    ("{} {a: b, c: d: e}\n", 1, "line 1, column 5", KEY + "{ <==", "YAML with a fault, for which it is not valid JSON"),
    ("{} {\n a: b: c}\n", 1, "line 2, column 2", KEY + "{ <==", "and on its second line"),
    ("\ufeff{}\n---\né: b: c\n", 1, "line 3, column 5", NOT_ALLOWED + "é: b <==", "YAML behind a byte order mark"),
    ("\ufeffé: b: c\n", 0, "line 1, column 5", NOT_ALLOWED + "é: b <==", "the mark itself is no column"),
    (
        "a: 'x\u2028y'\nb: c: d\n",
        0,
        "line 2, column 5",
        NOT_ALLOWED + "a: 'x y' b: c <==",
        "lines are those of editors",
    ),
]
"""Files, the number of empty objects before the error, the line and column of the error, and its text."""

BAD = [
    pytest.param(
        b'{"a":1}\n{"b":2}\n{"c": }\n',
        [({"a": 1}, 1), ({"b": 2}, 2)],
        'line 3, column 7: unexpected character, expected a JSON value: {"c": <==',
        id="a fault in the third object is final",
    ),
    pytest.param(
        b'{"a":1}\n{"b":2}\n---\nc: 3\n',
        [({"a": 1}, 1), ({"b": 2}, 2)],
        "line 3, column 1: expected the brace that opens a JSON object, found '---'",
        id="YAML after two JSON objects is none",
    ),
    pytest.param(
        b'{"a": "x\n',
        [],
        'line 1, column 9: unexpected control character in string: {"a": "x <==',
        id="if both fail, the error of JSON is reported",
    ),
    pytest.param(
        b"a: 1\n--- {b: 1}\n",
        [({"a": 1}, 1)][:0],
        "line 2: invalid Yaml document separator: {b: 1}",
        id="text behind a separator",
    ),
    pytest.param(
        b"a: 1\n----\n", [], "line 2: invalid Yaml document separator: -", id="four dashes are a bad separator"
    ),
    pytest.param(
        b"a: 1\n---\nb: 2\nc: [\n---\n",
        [({"a": 1}, 1)],
        "line 5, column 1: while parsing a flow node, did not find expected node content: b: 2 c: [ <==",
        id="a YAML fault names its line in the file",
    ),
    *[
        pytest.param(data.encode(), [({}, 1)] * count, f"{place}: {fault}", id=what)
        for data, count, place, fault, what in PLACES
    ],
]


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize(("data", "expected"), GOOD)
def test_good_files(data: bytes, expected: Found, size: int) -> None:
    assert read(data, size) == (expected, "")


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize(("data", "expected", "fault"), BAD)
def test_bad_files(data: bytes, expected: Found, fault: str, size: int) -> None:
    assert read(data, size) == (expected, fault)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["{}", '{"é":"\U0001f600"}', " ", "\n", "\r\n", "\t", '{\n"a":\n1}']), max_size=30),
    st.integers(1, 30),
)
def test_an_error_is_placed_where_an_editor_shows_it(pieces: list[str], size: int) -> None:
    """Whatever stands before it on its line, and wherever the pieces end."""
    before = "{}{}" + "".join(pieces)
    fault = read((before + '{"a": x}').encode(), size)[1]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n") + len('{"a": ')
    assert fault == f'line {line}, column {column}: unexpected character, expected a JSON value: {{"a": <=='


def test_columns_are_right_in_the_middle_of_a_long_line() -> None:
    one = '{"é":"' + "é" * 5000 + '"}'
    assert read((one * 300 + "{x}").encode())[1].startswith(f"line 1, column {300 * len(one) + 2}: ")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a":"' + "\u202ex\n" * 5000, id="JSON"),
        pytest.param('{}{}{"a":"' + "x" * 100_000, id="a JSON text without an end"),
        pytest.param("a: '\u202e" + "x" * 5000 + "': b\n", id="YAML"),
        pytest.param("a: 1\n--- \x1b" + "x" * 5000, id="a separator"),
    ],
)
def test_an_error_quotes_little_and_on_one_line(text: str) -> None:
    fault = read(text.encode())[1]
    assert fault != ""
    assert len(fault) < 250
    assert fault.isprintable()


def test_a_document_longer_than_a_read_is_found_by_its_line_and_the_line_is_counted() -> None:
    large = b'{"a":"' + b"x" * (3 << 20) + b'"}'
    spread = b'{\n"a":"' + b"x" * (3 << 20) + b'"\n}'
    found, fault = read(large + b"\n" + spread + b'\n{"b":1}{"c":2}\n{"d": 3}', 1 << 16)
    assert fault == ""
    assert [(len(value.get("a", "")), line) for value, line in found] == [
        (3 << 20, 1),
        (3 << 20, 2),
        (0, 5),
        (0, 5),
        (0, 6),
    ]


@pytest.mark.parametrize(
    "opening", [pytest.param(b"{", id="on one line"), pytest.param(b"{\n", id="over two lines each")]
)
def test_objects_without_a_line_between_them_do_not_cost_their_square(opening: bytes) -> None:
    """The search for an end that is not there must not begin anew with each object: 35 MB would take an hour."""
    one = opening + b'"a":"' + b"x" * 5000 + b'"}'
    found, fault = read(one * 7000 + b"\n{}")
    assert (len(found), fault) == (7001, "")
    assert found[-1] == ({}, 2 + 7000 * opening.count(b"\n"))


def test_a_document_beyond_the_limit_is_refused_before_it_is_whole() -> None:
    endless = b'{"a":"' + b"x" * (documents.MAX_DOCUMENT_BYTES + (8 << 20))
    assert read(endless) == ([], "line 1: a document is larger than 16 MiB")
    assert read(b"a: " + endless) == ([], "line 1: a document is larger than 16 MiB")


@pytest.mark.parametrize(
    "piece",
    ["1,", "0.1,", "[],", '{"":0},', '"",', r'"\\",'],
    ids=["numbers", "fractions", "lists", "objects", "texts", "backslashes"],
)
@pytest.mark.parametrize("end", ["", "\n", '{"b":1}'], ids=["its end", "a line's end", "another object"])
def test_more_values_than_are_read_are_refused(piece: str, end: str) -> None:
    many = '{"a":[' + piece * (1_500_000 // len(piece)) + "0]}"
    found, fault = read((many + end).encode())
    assert (found, fault) == ([], "line 1: a document holds more than 200,000 values")


def test_marks_in_strings_are_not_counted() -> None:
    text = '{"a":"' + '[{,\\",' * 200_000 + '"}\n'
    found, fault = read(text.encode())
    assert (len(found), fault) == (1, "")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3),
    max_leaves=5,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4), max_size=6)


@settings(deadline=None)
@given(
    OBJECTS,
    st.lists(
        st.tuples(st.sampled_from([None, 1, 4]), st.sampled_from(["", "\n", " \n\n"]), st.booleans()),
        min_size=6,
        max_size=6,
    ),
    st.integers(1, 40),
)
def test_concatenated_objects_are_found_at_any_size_of_pieces(
    objects: list[dict[str, Any]], layout: list[tuple[int | None, str, bool]], size: int
) -> None:
    """formats 1.2: JSON is concatenated objects. No indentation, separator or piece changes what they are."""
    texts = [
        json.dumps(each, indent=indent, ensure_ascii=ascii_only) + separator
        for each, (indent, separator, ascii_only) in zip(objects, layout, strict=False)
    ]
    found, fault = read("".join(texts).encode(errors="surrogatepass"), size)
    assert fault == ""
    assert [value for value, _ in found] == objects


JSON_PIECES = st.sampled_from(
    [
        *(
            '{"a":',
            '"b":',
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            '"',
            "x",
            "\\",
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "\u2028",
            "\x01",
        ),
        *(
            "0",
            "-",
            "1",
            "9" * 18,
            "9" * 40,
            ".",
            "5",
            "e",
            "E+",
            "1.0",
            "1e3",
            "1e400",
            "-0.0",
            "true",
            "fals",
            "null",
        ),
        *("NaN", "//", "\ufeff", "\x7f", " ", "\n"),
    ]
)


@settings(deadline=None, max_examples=example_count(500))
@given(st.lists(JSON_PIECES, max_size=14))
def test_what_is_read_as_json_is_json_and_every_number_in_it_is_exact(pieces: list[str]) -> None:
    """The fast reader takes nothing that json does not take, and makes the same of it, save that floats keep their text."""
    text = '{"a":' + "".join(pieces) + "}"
    try:
        value = documents._DECODER.decode(text.encode())
    except documents._DECODER_ERRORS:
        return
    expected = exact_json(text)
    with contextlib.suppress(orjson.JSONEncodeError):  # integers beyond 64 bits
        assert orjson.dumps(value) == orjson.dumps(expected)


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 20))
def test_any_bytes_give_the_same_at_any_size_of_pieces(data: bytes, size: int) -> None:
    """Hostile input: whatever a file holds is documents or one BadDocument, and pieces do not matter."""
    assert read(data, size) == read(data)
