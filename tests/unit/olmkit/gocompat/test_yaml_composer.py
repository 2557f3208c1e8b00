"""YAML as go-yaml v2 reads it: the values of scalars, keys, merges and aliases, and the limits."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_composer import ReadOptions, compose, compose_all

LIMIT = 100_000
OPTIONS = ReadOptions(max_bytes=LIMIT)


def as_json(text: str) -> str:
    return orjson.dumps(compose(text.encode(), OPTIONS)).decode()


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        *[
            pytest.param(word, "true", id=f"{word} is true")
            for word in ("y", "Y", "yes", "Yes", "YES", "on", "True", "TRUE")
        ],
        *[pytest.param(word, "false", id=f"{word} is false") for word in ("n", "N", "no", "No", "off", "OFF", "False")],
        *[pytest.param(word, "null", id=f"{word or 'nothing'} is null") for word in ("", "~", "null", "Null", "NULL")],
        pytest.param("yEs", '"yEs"', id="a word in mixed case is a string"),
        pytest.param("'yes'", '"yes"', id="a quoted word is a string"),
        pytest.param("=", '"="', id="an equals sign is a string"),
        pytest.param("2020-01-31", '"2020-01-31"', id="a date is a string"),
        pytest.param("2020-01-31T10:00:00Z", '"2020-01-31T10:00:00Z"', id="a time is a string"),
        pytest.param("12:30:45", '"12:30:45"', id="base 60 is a string"),
        pytest.param("0777", "511", id="a leading zero is octal"),
        pytest.param("0o17", "15", id="0o is octal"),
        pytest.param("08", "8", id="what is no octal is a decimal number"),
        pytest.param("0x1F", "31", id="0x is hexadecimal"),
        pytest.param("-0x1F", "-31", id="with a sign too"),
        pytest.param("0b101", "5", id="0b is binary"),
        pytest.param("0b-11", "-3", id="its sign may come late"),
        pytest.param("1_000", "1000", id="underscores in numbers do not count"),
        pytest.param("+12", "12", id="a plus does not count"),
        pytest.param("1e3", "1000", id="an exponent makes a number without a point"),
        pytest.param("1.0", "1", id="a whole float is written as Go writes it"),
        pytest.param(".5", "0.5", id="a float may begin with its point"),
        pytest.param(".4_16", "0.416", id="underscores between its digits do not count"),
        pytest.param(".5e1_0", "5000000000", id="between those of its exponent neither"),
        pytest.param("._5", '"._5"', id="before its digits they make a string"),
        pytest.param(".5_", '".5_"', id="behind them too"),
        pytest.param(".5_e1", '".5_e1"', id="and before its exponent"),
        pytest.param("-.5_", "-0.5", id="not so with a sign"),
        pytest.param("1.2.3", '"1.2.3"', id="a version is a string"),
        pytest.param("1.20", "1.2", id="half a version is a number"),
        pytest.param("18446744073709551615", "18446744073709551615", id="64 bits are exact"),
        pytest.param("123456789012345678901234567890", "123456789012345678901234567890", id="more digits too"),
        pytest.param("1e400", '"1e400"', id="a number no float holds is a string"),
        pytest.param("9" * 309, f'"{"9" * 309}"', id="an integer beyond what a float holds as well"),
        pytest.param("!!str 5", '"5"', id="the tag str makes a string"),
        pytest.param("!!int '5'", "5", id="the tag int makes a number"),
        pytest.param("!!float 5", "5", id="the tag float makes a number"),
        pytest.param("!!binary aGk=", '"hi"', id="binary is decoded"),
        pytest.param("!!timestamp 2020-01-31", '"2020-01-31"', id="a date with its tag is a string too"),
        pytest.param("!!timestamp '2020-1-31 1:02:03.4'", '"2020-1-31 1:02:03.4"', id="a time with its tag too"),
        pytest.param("!mine 5", '"5"', id="other tags leave the text"),
        pytest.param("! 5", '"5"', id="the tag without a name makes a string"),
        pytest.param("! 'yes'", '"yes"', id="and leaves one as it is"),
        pytest.param("&x ! yes", '"yes"', id="behind an anchor too"),
        pytest.param("! # here!\n  yes", '"yes"', id="and before a comment"),
        pytest.param("-", "[null]", id="a dash opens a list"),
        pytest.param("+", '"+"', id="a sign alone is a string"),
    ],
)
def test_scalars(scalar: str, expected: str) -> None:
    assert as_json(f"a:\n  {scalar}\n") == f'{{"a":{expected}}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1: a\ntrue: b\n1.5: c\n", '{"1":"a","true":"b","1.5":"c"}', id="keys become strings"),
        pytest.param("y: a\n'y': b\n", '{"true":"a","y":"b"}', id="a plain y as key is true"),
        pytest.param("é!: 5\n! 6: '!'\n", '{"é!":5,"6":"!"}', id="a tag without a name is not a mark in a text"),
        pytest.param(".inf: a\n+.Inf: b\n-.INF: c\n.NaN: d\n", '{".inf":"b","-.inf":"c",".nan":"d"}', id="no numbers"),
        pytest.param("1e5: a\n1e6: b\n-1234567.5: c\n", '{"100000":"a","1e+06":"b","-1.2345675e+06":"c"}', id="large"),
        pytest.param("0.0001: a\n0.00001: b\n0.0: c\n", '{"0.0001":"a","1e-05":"b","0":"c"}', id="small keys"),
        pytest.param("1.10: a\n0.1234567891: b\n", '{"1.1":"a","0.12345679":"b"}', id="floats as keys have 32 bits"),
        pytest.param("1e39: a\n-1e39: b\n1e-60: c\n", '{".inf":"a","-.inf":"b","0":"c"}', id="and may leave them"),
        pytest.param(
            "12345678901234567890123: a\n", '{"12345678901234567890123":"a"}', id="integers as keys are exact"
        ),
        pytest.param("!!merge <<: {a: 1}\n", '{"a":1}', id="a merge may have its tag"),
        pytest.param("a: 1\na: 2\n", '{"a":2}', id="of equal keys the last counts"),
        pytest.param("a: &x [1]\nb: *x\n", '{"a":[1],"b":[1]}', id="an alias is its anchor's value"),
        pytest.param("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3\n", '{"a":{"k":1,"l":2},"b":{"k":3,"l":2}}', id="merge"),
        pytest.param(
            "a: &x {k: 1}\nb:\n  k: 3\n  <<: *x\n", '{"a":{"k":1},"b":{"k":1}}', id="a merge that comes later wins"
        ),
        pytest.param(
            "b:\n  <<: [{k: 1}, {k: 2, l: 3}]\n", '{"b":{"k":1,"l":3}}', id="of several merged the earlier wins"
        ),
        pytest.param("a: '<<'\n'<<': {b: 1}\n", '{"a":"<<","<<":{"b":1}}', id="a quoted << is a key like any other"),
        pytest.param("a: 1\n...\nb: 2\n", '{"a":1}', id="what follows the document's end is not read"),
        pytest.param("# nothing\n", "null", id="a comment alone is null"),
        pytest.param("\ufeffa: b\n", '{"a":"b"}', id="a byte order mark at the start is nothing"),
        pytest.param("a:\n  \ufeffb\n", '{"a":"\ufeffb"}', id="within a line it is text"),
    ],
)
def test_structures(text: str, expected: str) -> None:
    assert as_json(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("18446744073709551616: a\n", '{"18446744073709551616":"a"}', id="1.8446744e+19: it stays exact"),
        pytest.param("-9223372036854775809: a\n", '{"-9223372036854775809":"a"}', id="-9.223372e+18: it stays exact"),
        pytest.param("a: 9007199254740993\n", '{"a":9007199254740993}', id="9007199254740992: it stays exact"),
        pytest.param("9223372036854775808: a\n", '{"9223372036854775808":"a"}', id="refused: a key of 64 bits"),
        pytest.param("0xffffffffffffffff: a\n", '{"18446744073709551615":"a"}', id="refused: whatever its base"),
        pytest.param('a: "\\/"\n', '{"a":"/"}', id="refused: an escaped slash"),
        pytest.param("{a: !!str}\n", "", id="refused by both: a tag that touches a brace"),
        pytest.param("{a?,b}\n", '{"a?":null,"b":null}', id="refused: a question mark before a comma"),
        pytest.param("[!!str, 1]\n", "", id='["1"]: a comma is part of the tag'),
        pytest.param("[!, 1]\n", "", id='["1"]: of one without a name too'),
        pytest.param("!a,b c\n", "", id='"c": within a tag too'),
        pytest.param("![x]\n", "", id='"": brackets in a tag'),
        pytest.param("[5:]\n", "", id='["5:"]: a text that ends with a colon in flow style'),
        pytest.param("---\n\ufeffa: b\n", "", id='{"\ufeffa":"b"}: a byte order mark within'),
    ],
)
def test_known_differences_from_go_yaml_v2(text: str, expected: str) -> None:
    """The ids begin with what it gives. No file that it takes gives another value here, integers aside, which stay exact.

    "" is a document that is refused here.
    """
    if expected:
        assert as_json(text) == expected
    else:
        with pytest.raises(ParseError):
            as_json(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("---\n\ufeffa: b\n", "line 2, column 1", id="behind a separator"),
        pytest.param("é: b\r\n\ufeff# c\r\nd: e\n", "line 2, column 1", id="before a comment"),
        pytest.param("\ufeffa:\n\ufeff- b\n", "line 2, column 1", id="a second one"),
        pytest.param("a: [b,\u2028\ufeffc]\n", "line 1, column 8", id="behind a line break of Unicode"),
    ],
)
def test_a_byte_order_mark_within_a_document_is_refused(text: str, place: str) -> None:
    """To go-yaml v2 it is text, to libyaml nothing."""
    with pytest.raises(ParseError) as caught:
        compose(text.encode(), OPTIONS)
    assert str(caught.value).startswith(f"{place}: a byte order mark begins a line: remove it: ")


TOUCHED = "a tag touches a comma: put a space between them"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("[!!str, 1]", "line 1, column 7", id="of YAML"),
        pytest.param("[!mine, 1]", "line 1, column 7", id="of its own"),
        pytest.param("[!, 1]", "line 1, column 3", id="without a name"),
        pytest.param("[!!int, 1]", "line 1, column 7", id="that would lie"),
        pytest.param("[&x !!str, 1]", "line 1, column 10", id="behind an anchor"),
        pytest.param("a:\n- {b: !!str, c: 1}", "line 2, column 12", id="in a mapping"),
        pytest.param("{!!str, c: 1}", "line 1, column 7", id="of a key"),
        pytest.param("[!!seq,[a]]", "line 1, column 7", id="of a list"),
        pytest.param("[é, !!str,x 1]", "line 1, column 10", id="in the middle of a word"),
        pytest.param("[!<tag:yaml.org,2002:str>, 1]", "line 1, column 26", id="in brackets"),
    ],
)
def test_a_tag_that_touches_a_comma_is_refused(text: str, place: str) -> None:
    """To go-yaml v2 the comma is part of the tag, so that the next value is the tag's."""
    with pytest.raises(ParseError) as caught:
        compose(text.encode(), OPTIONS)
    assert str(caught.value).startswith(f"{place}: {TOUCHED}: ")
    assert str(caught.value).endswith(" <==")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[!!str , 1]", '["",1]', id="a blank between them"),
        pytest.param("[!!str 5, 1]", '["5",1]', id="a value between them"),
        pytest.param("[!!str '', 1]", '["",1]', id="an empty one"),
        pytest.param("[!!str &x, *x]", '["",""]', id="an anchor between them"),
        pytest.param("['!!str, 1', hi!, 1]", '["!!str, 1","hi!",1]', id="text"),
        pytest.param("[! '', hi!, '!,', 1]", '["","hi!","!,",1]', id="text next to a tag without a name"),
    ],
)
def test_other_tags_and_commas(text: str, expected: str) -> None:
    assert as_json(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: !!int '" + "x\n\n" * 3000 + "'\n", id="a tag that lies"),
        pytest.param("a: !!timestamp '" + "x" * 3000 + "'\n", id="a tag of no time"),
        pytest.param('a: !!int "\\e\u202e"\n', id="signs that cannot be shown"),
        pytest.param(f"a: *{'b' * 3000}\n", id="an anchor that is unknown"),
        pytest.param(f"&{'b' * 3000} a: &{'b' * 3000} [*{'b' * 3000}]\n", id="one that contains itself"),
        pytest.param(f"a: !{'b' * 3000}!c d\n", id="a tag that is unknown"),
        pytest.param("x" * 3000 + ": b: c\n", id="what stands before"),
    ],
)
def test_an_error_quotes_little_and_on_one_line(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        compose(text.encode(), OPTIONS)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("a: .nan\n", "line 1, column 4: .nan has no JSON representation: a: <==", id="not a number"),
        pytest.param("? [a]\n: 1\n", "line 1, column 3: a mapping's key must be a scalar: ? <==", id="a list as key"),
        pytest.param(
            "~: 1\n", "line 1, column 1: a mapping's key must be a string, number or boolean", id="null as key"
        ),
        pytest.param("a: *b\n", "line 1, column 4: unknown anchor 'b': a: <==", id="an alias of nothing"),
        pytest.param(
            "a: &x [*x]\n",
            "line 1, column 8: anchor 'x' contains itself: a: &x [ <==",
            id="an alias of its own container",
        ),
        pytest.param(
            "<<: 5\n",
            "line 1, column 5: map merge requires map or sequence of maps as the value: <<: <==",
            id="merge of no map",
        ),
        pytest.param("a: !!int x\n", "line 1, column 4: cannot read `x` as !!int: a: <==", id="a tag that lies"),
        pytest.param(
            "a: !!timestamp 9\n", "line 1, column 4: cannot read `9` as !!timestamp: a: <==", id="a tag of no time"
        ),
        pytest.param(
            "a: !!timestamp 2020-13-01\n",
            "line 1, column 4: cannot read `2020-13-01` as !!timestamp: a: <==",
            id="nor date",
        ),
        pytest.param(
            "a: !!binary '*'\n", "line 1, column 4: !!binary value is no base64: a: <==", id="binary that is none"
        ),
        pytest.param(
            "a: 1\nb: \x00\n", "line 2, column 4: control characters are not allowed: a: 1 b: <==", id="a NUL byte"
        ),
        pytest.param(
            "a: b: c\n",
            "line 1, column 5: mapping values are not allowed in this context: a: b <==",
            id="a syntax error",
        ),
        pytest.param(
            "\ta: b\n",
            "line 1, column 1: while scanning for the next token, found character '\\t', which cannot start any token",
            id="a character that begins nothing",
        ),
        pytest.param(
            "[" * 300, f"line 1, column 251: nests deeper than 250 levels: …{'[' * 80} <==", id="too deep in flow style"
        ),
        pytest.param(
            "- " * 300,
            f"line 1, column 501: nests deeper than 250 levels: …{' -' * 40} <==",
            id="too deep in block style",
        ),
    ],
)
def test_faults(text: str, fault: str) -> None:
    with pytest.raises(ParseError) as caught:
        compose(text.encode(), OPTIONS)
    assert str(caught.value) == fault


def test_bytes_that_are_not_utf8_are_refused_with_line_and_column() -> None:
    with pytest.raises(ParseError, match="line 2, column 4: invalid leading UTF-8 octet"):
        compose(b"a: 1\nb: \xff\n", OPTIONS)
    with pytest.raises(ParseError, match="line 2, column 5: invalid leading UTF-8 octet: é: 1 b: é <=="):
        compose("\ufeffé: 1\nb: é".encode() + b"\xff\n", OPTIONS)


def test_an_alias_bomb_is_refused_before_it_is_expanded() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    with pytest.raises(ParseError, match="exceeds 100,000 bytes when its aliases are expanded"):
        compose("\n".join(levels).encode(), OPTIONS)


def test_more_values_than_are_read_are_refused() -> None:
    with pytest.raises(ParseError, match="line 1, column 400002: holds more than 200,000 values"):
        compose(b"[" + b"a," * 250_000, ReadOptions(max_bytes=10 * LIMIT, max_values=200_000))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 9223372036854775808", {"a": 2.0**63}, id="an integer beyond 64 bits is a float"),
        pytest.param("a: 1.0", {"a": 1}, id="a whole float is an integer"),
        pytest.param("a: &x 1.5\nb: *x", {"a": 1.5, "b": 1.5}, id="an alias of a float"),
        pytest.param("? &x 1.50\n: *x", {"1.5": 1.5}, id="a key is text, its alias a number"),
        pytest.param("a: &x 2.0\n? *x\n: b", {"a": 2, "2": "b"}, id="an alias as a key"),
        pytest.param("a: &x [1.0]\nb: *x", {"a": [1], "b": [1]}, id="in an alias of a list"),
    ],
)
def test_numbers_of_kubernetes_objects(text: str, value: Any) -> None:
    found = compose(text.encode(), ReadOptions(max_bytes=LIMIT, exact_numbers=False))
    assert found == value
    assert orjson.dumps(found) == orjson.dumps(value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("", [], id="none"),
        pytest.param("# a comment\n", [], id="a comment"),
        pytest.param("---\na\n---\n---\nb\n...\n", ["a", "b"], id="empty ones are left out"),
        pytest.param("a: &x 1\n---\nb\n", [{"a": 1}, "b"], id="with an anchor"),
    ],
)
def test_all_documents(text: str, values: list[Any]) -> None:
    assert compose_all(text.encode(), OPTIONS) == values


def test_an_anchor_ends_with_its_document() -> None:
    with pytest.raises(ParseError, match="line 3, column 1: unknown anchor 'x'"):
        compose_all(b"a: &x 1\n---\n*x\n", OPTIONS)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(codec="utf-8", exclude_categories=["C"])),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text("abyYnN=<~01.", max_size=4), children, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_what_a_writer_of_yaml_1_1_wrote_is_read_back(value: Any, flow: bool) -> None:
    """Strings that look like other values are quoted by a YAML 1.1 writer; quoted, they are strings here too."""
    written = yaml.dump(value, Dumper=QuotingDumper, default_flow_style=flow, allow_unicode=True)
    assert compose(written.encode(), OPTIONS) == value


class QuotingDumper(yaml.SafeDumper):
    """Quotes every string, so that only the reader's idea of plain scalars is tested elsewhere."""


QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)
