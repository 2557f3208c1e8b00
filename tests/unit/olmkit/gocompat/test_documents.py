"""The documents of bundles: YAML 1.1 as Kubernetes tools read it, and JSON."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat.documents import read
from olmkit.gocompat.parse_errors import ParseError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a", "a", id="a word is text"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("~", None, id="a tilde is null"),
        pytest.param("NULL", None, id="null in capitals"),
        pytest.param("y", True, id="y is a boolean"),
        pytest.param("Off", False, id="Off is a boolean"),
        pytest.param("nO", "nO", id="mixed case is text"),
        pytest.param("=", "=", id="the equals sign is text"),
        pytest.param("2022-01-25T20:09:00Z", "2022-01-25T20:09:00Z", id="a time is text"),
        pytest.param("2022-01-25", "2022-01-25", id="a date is text"),
        pytest.param("1:30", "1:30", id="no base 60"),
        pytest.param("0644", 420, id="a leading 0 is octal"),
        pytest.param("0o17", 15, id="0o is octal"),
        pytest.param("-010", -8, id="a negative octal"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("0b101", 5, id="binary"),
        pytest.param("08", 8, id="no octal digit: read as a float, which is whole"),
        pytest.param("+5", 5, id="a sign"),
        pytest.param("1_000", 1000, id="underscores do not count"),
        pytest.param("1.0", 1, id="a whole float is an integer"),
        pytest.param("1e3", 1000, id="an exponent needs no point"),
        pytest.param(".5", 0.5, id="a float without a digit in front"),
        pytest.param("1.5.2", "1.5.2", id="a version is text"),
        pytest.param("v1", "v1", id="a version of an API is text"),
        pytest.param("9223372036854775807", 2**63 - 1, id="the largest integer"),
        pytest.param("9223372036854775808", 2.0**63, id="beyond it is a float"),
        pytest.param("1e400", "1e400", id="too large for any float is text"),
        pytest.param("9" * 400, "9" * 400, id="digits too many for any float are text"),
        pytest.param("9" * 5000, "9" * 5000, id="digits too many for Python are text"),
        pytest.param("0x" + "f" * 400, "0x" + "f" * 400, id="a hexadecimal number beyond all floats is text"),
        pytest.param("0" + "7" * 5000, "0" + "7" * 5000, id="so is an octal one"),
        pytest.param("-0b" + "1" * 5000, "-0b" + "1" * 5000, id="so is a binary one"),
        pytest.param("'y'", "y", id="quoted is text"),
        pytest.param('"0644"', "0644", id="quoted digits are text"),
        pytest.param("!!str 12", "12", id="tagged as text"),
        pytest.param("!!int 012", 10, id="tagged as integer"),
        pytest.param("!!binary aGk=", "hi", id="binary that is text"),
        pytest.param("!custom 12", "12", id="a tag of others makes text"),
        pytest.param("|\n    a\n    b\n", "a\nb\n", id="a block"),
    ],
)
def test_what_a_scalar_means(text: str, value: Any) -> None:
    found = read(f"k: {text}\n".encode())
    assert found == [{"k": value}]
    assert type(found[0]["k"]) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("y: 1", {"true": 1}, id="a boolean key is text"),
        pytest.param("1: a", {"1": "a"}, id="a number as key is text"),
        pytest.param("1.5: a", {"1.5": "a"}, id="a float as key is text"),
        pytest.param("a: 1\na: 2", {"a": 2}, id="the last of two equal keys wins"),
        pytest.param("b: &x {c: 1}\nd: *x", {"b": {"c": 1}, "d": {"c": 1}}, id="an alias"),
        pytest.param(
            "b: &x {c: 1, d: 2}\ne: {<<: *x, c: 3}", {"b": {"c": 1, "d": 2}, "e": {"c": 3, "d": 2}}, id="a merge"
        ),
        pytest.param("e: {c: 3, <<: {c: 1, d: 2}}", {"e": {"c": 1, "d": 2}}, id="a merge that comes later wins"),
        pytest.param("e: {<<: [{c: 1}, {c: 2, d: 2}]}", {"e": {"c": 1, "d": 2}}, id="of two merged the first wins"),
        pytest.param("e: {<<: {c: 1}, !!merge <<: {c: 2}}", {"e": {"c": 2}}, id="of two merges the last wins"),
        pytest.param("b: &x {c: 1}\ne: {!!merge <<: *x}", {"b": {"c": 1}, "e": {"c": 1}}, id="a merge with its tag"),
        pytest.param("? !!merge <<\n: {c: 1}", {"c": 1}, id="a merge with its tag as an explicit key"),
        pytest.param("!!merge '<<': {c: 1}", {"c": 1}, id="a quoted merge key with its tag merges"),
        pytest.param("! <<: {c: 1}", {"c": 1}, id="a merge key with a tag without a name merges"),
        pytest.param("e: {'<<': 1}", {"e": {"<<": 1}}, id="a quoted merge key is a key"),
        pytest.param("!!str <<: 1", {"<<": 1}, id="a merge key tagged as text is a key"),
        pytest.param("!!merge a: 1", {"a": 1}, id="another key tagged as a merge is a key"),
    ],
)
def test_mappings(text: str, value: Any) -> None:
    assert read(text.encode()) == [value]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("", [], id="an empty file"),
        pytest.param("# only a comment\n", [], id="only a comment"),
        pytest.param("---\na: 1\n---\n---\nb: 2\n---\n", [{"a": 1}, {"b": 2}], id="empty documents are left out"),
        pytest.param('{"a": 1}', [{"a": 1}], id="JSON"),
        pytest.param('\ufeff{"a": 1.0}', [{"a": 1}], id="JSON with a byte order mark, numbers as everywhere"),
        pytest.param('{"a": 1}\n{"b": 2}', [{"a": 1}, {"b": 2}], id="JSON objects one after the other"),
        pytest.param('{"a": "\\ud83d\\ude00"}', [{"a": "\U0001f600"}], id="JSON escapes that YAML does not have"),
        pytest.param('{"a": 1e400}', [{"a": "1e400"}], id="a JSON number beyond all floats, as in YAML"),
        pytest.param('{"a": ' + "9" * 5000 + "}", [{"a": "9" * 5000}], id="JSON digits too many for Python"),
        pytest.param("{a: 1}", [{"a": 1}], id="YAML in flow style"),
        pytest.param("[1]", [[1]], id="a list is read; what it means is for others"),
        pytest.param('{"a": 1}\n---\nb: 2', [{"a": 1}, {"b": 2}], id="JSON, then YAML"),
    ],
)
def test_documents_of_a_file(text: str, values: list[Any]) -> None:
    assert read(text.encode()) == values


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"a: [\n", "line 2, column 1: while parsing a flow node", id="an open list"),
        pytest.param(b"a: 1\nb: {\n", "line 3", id="an open mapping"),
        pytest.param(b"a: 1\n  b: 2\n", "line 2", id="wrong indentation"),
        pytest.param(b"ok: 1\na: \xff\n", "line 2: not UTF-8 text", id="other encodings"),
        pytest.param(b"a: \x00b", r"line 1, column 4: control characters are not allowed", id="control characters"),
        pytest.param(b"a: *b", r"line 1, column 4: unknown anchor 'b'", id="an alias without anchor"),
        pytest.param(b"a: .inf", "line 1, column 4: \\.inf has no JSON representation", id="infinity"),
        pytest.param(b"~: 1", "line 1, column 1: a mapping's key must be a string, number or boolean", id="a null key"),
        pytest.param(b"? {a: 1}\n: 1", "line 1, column 3: a mapping's key must be a scalar", id="a mapping as key"),
        pytest.param(b"<<: 1", "line 1, column 5: map merge requires map", id="a merge of no mapping"),
        pytest.param(
            b"!!merge <<: 1", "line 1, column 13: map merge requires map", id="a merge with its tag of no mapping"
        ),
        pytest.param(b"a: !!int x", "line 1, column 4: cannot read `x` as !!int", id="a tag that lies"),
        pytest.param(
            b"a: !!int " + b"9" * 5000,
            "line 1, column 4: cannot read `9{100}…` as !!int",
            id="an integer that is too large",
        ),
        pytest.param(b'{"a": "\\ud800"}', "a text holds half of a surrogate pair", id="half a surrogate pair in JSON"),
        pytest.param(b'{"\\udc00": 1}', "a text holds half of a surrogate pair", id="half a surrogate pair as key"),
        pytest.param(b'a: "\\ud800"', "line 1, column 7: .*invalid Unicode", id="half a surrogate pair in YAML"),
        pytest.param(b'{"a": 1}{"b": ' + b"9" * 400 + b"}", "line 1, column 9", id="JSON that is none"),
        pytest.param(
            b"a: !!binary /w==", "line 1, column 4: !!binary value holds no UTF-8", id="binary that is no text"
        ),
        pytest.param(b"[" * 100_000, "nests deeper than 200 levels", id="brackets"),
        pytest.param(b'{"a":' * 300 + b"1" + b"}" * 300, "nests deeper than 200 levels", id="deep JSON"),
        pytest.param(b"a: &a [*a]", r"line 1, column 8: anchor 'a' contains itself", id="an alias of what holds it"),
    ],
)
def test_errors_have_line_and_column(data: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read(data)


def test_aliases_that_multiply_are_counted_as_written_out() -> None:
    lines = ["a0: &a0 [" + ",".join("x" * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ",".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 9)]
    with pytest.raises(ParseError, match="line 7, column 30: exceeds 33,554,432 bytes when its aliases are expanded"):
        read("\n".join(lines).encode())


@pytest.mark.parametrize(
    ("large", "use"),
    [
        pytest.param("a: &a " + "x" * 1_000_000, "- *a\n", id="a long text"),
        pytest.param("a: &a\n  ? " + "k" * 1_000_000 + "\n  : 1", "- *a\n", id="a long key"),
        pytest.param("a: &a\n  ? " + "k" * 1_000_000 + "\n  : 1", "- {<<: *a}\n", id="merged"),
    ],
)
def test_aliases_are_weighed_by_their_bytes(large: str, use: str) -> None:
    assert len(read(f"{large}\nb:\n{use * 30}".encode())[0]["b"]) == 30
    with pytest.raises(ParseError, match="exceeds 33,554,432 bytes"):
        read(f"{large}\nb:\n{use * 40}".encode())


Json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), Json, min_size=1))
def test_json_values_are_kept(value: dict[str, Any]) -> None:
    assert read(orjson.dumps(value)) == [value]
    assert read(json.dumps(value).encode() + b"\n" + orjson.dumps(value)) == [value, value]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        values = read(data)
    except ParseError:
        return
    orjson.dumps(values)


@settings(deadline=None)
@given(st.text(alphabet="0123456789+-._xobeEna:", max_size=12))
def test_numbers_are_finite_or_text(text: str) -> None:
    try:
        documents = read(f"[{text}]".encode())
    except ParseError:
        return
    orjson.dumps(documents)
    assert documents == orjson.loads(orjson.dumps(documents))
