"""The fast reader of YAML returns what the reference returns, and leaves texts to it that would take much time or memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat import yaml_composer, yaml_reader
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_composer import ReadOptions
from tests.examples import example_count

LIMIT = 32 * 1024 * 1024
OPTIONS = ReadOptions(max_bytes=LIMIT, max_values=200_000)
OBJECTS = ReadOptions(max_bytes=LIMIT, bytes_per_value=4, exact_numbers=False, text_in_binary=True)


def outcome(
    load: Callable[[bytes, ReadOptions], Any], text: bytes, options: ReadOptions = OPTIONS
) -> tuple[str, bytes]:
    """The value as JSON, keys in their order, or the error with its place."""
    try:
        return "value", orjson.dumps(load(text, options))
    except ParseError as error:
        return "error", str(error).encode()


def assert_equal(text: str | bytes) -> None:
    raw = text if isinstance(text, bytes) else text.encode()
    for options in (OPTIONS, OBJECTS):
        assert outcome(yaml_reader.load, raw, options) == outcome(yaml_composer.compose, raw, options)
        assert outcome(yaml_reader.load_all, raw, options) == outcome(yaml_composer.compose_all, raw, options)


ORDINARY = """
schema: olm.bundle
name: "a.v1.0.0"
'package': a   # a comment
properties:
- type: olm.package
  value: {packageName: a, version: "1.0", 'quoted': 'yep'}
- type: numbers
  value: [1, -2, 0x1F, 0o17, true, False, ~, null, "", "10", '-1e3', 'true', '~']
description: |-
  Turn it on, off or no & yes! See ![image](x).
   - <<EOF
wrapped: plain text that goes
  on in the next line
"""


def test_ordinary_documents_are_read_fast() -> None:
    assert outcome(yaml_reader.load_fast, ORDINARY.encode()) == outcome(yaml_composer.compose, ORDINARY.encode())


@pytest.mark.parametrize(
    "text",
    [
        *[pytest.param(f"a: {word}\n", id=f"the word {word}") for word in ("y", "No", "on", "OFF", "'yes'")],
        *[
            pytest.param(f"a: {text}\n", id=f"the number {text}")
            for text in ("017", "08", "1_0", "0B1", "0b-1", "+0X1f")
        ],
        *[pytest.param(f"{text}: a\n", id=f"the key {text}") for text in ("1", "on", "0_1", "~", "true", "1.5", "[b]")],
        pytest.param("a: 1.5\n", id="a float, which is written as Go writes it"),
        pytest.param("a: 1e3\n", id="a float with an exponent alone"),
        pytest.param("a: 18446744073709551616\n", id="an integer beyond 64 bits"),
        pytest.param("a: 00000000000000000000000000000000000000000000017\n", id="an octal number of many digits"),
        pytest.param("a: .nan\n", id="not a number"),
        pytest.param("a: !!str 5\n", id="a tag"),
        pytest.param("!x {}\n", id="a tag at the start"),
        pytest.param("[b,!x 5]\n", id="a tag in flow style"),
        pytest.param("a:\n\n\t !x 5\n", id="a tag on a later line"),
        pytest.param('{"a":!x 5}\n', id="a tag behind a colon"),
        pytest.param("a:\u2028 !x 5\n", id="a tag behind a line break of Unicode"),
        pytest.param("a: ! 5\n", id="the tag without a name"),
        pytest.param("a: &x 5\n", id="an anchor"),
        pytest.param("a: *x\n", id="an alias"),
        pytest.param("<<: {a: 1}\n", id="a merge"),
        pytest.param("? <<\n: {a: 1}\n", id="a merge by an explicit key"),
        pytest.param("a: 1\na: 2\n", id="equal keys"),
        pytest.param("a: 1\n...\nb: 2\n", id="a second document"),
        pytest.param("\ufeffa: 1\n", id="a byte order mark"),
        pytest.param("a: b: c\n", id="a fault"),
        pytest.param("a: \0\n", id="a NUL byte"),
        pytest.param(b"a: \xff\n", id="bytes that are no UTF-8"),
        pytest.param("a: 1\n".encode("utf-16"), id="UTF-16"),
        pytest.param("[" * 129 + "]" * 129, id="more levels than ryaml reads"),
        pytest.param("[" * 251 + "]" * 251, id="more levels than a catalog may have"),
    ],
)
def test_the_reference_reads_what_the_two_may_read_differently(text: str | bytes) -> None:
    with pytest.raises(yaml_reader.Unsure):
        yaml_reader.load_fast(text if isinstance(text, bytes) else text.encode(), OPTIONS)
    assert_equal(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="100,000 levels in flow style"),
        pytest.param("{a: " * 100_000, id="100,000 levels of mappings"),
        pytest.param("- " * 100_000, id="100,000 levels in block style"),
        pytest.param("? " * 100_000, id="100,000 levels of keys"),
        pytest.param("{a: " * 5_000 + "b," * 15_000, id="open mappings that each token is compared with"),
        pytest.param("[" + "a," * 60_000 + "a]", id="many small values in a small document"),
        pytest.param("- - -\n" * 20_000, id="many values in block style"),
        pytest.param("".join(f"- &a{number} x\n" for number in range(20_000)), id="many anchors"),
        pytest.param("a: &a {b: c}\nd:\n" + "  <<: *a\n" * 5_000, id="many merges"),
        pytest.param("a: " + "x" * 5_000_000, id="a huge scalar"),
        pytest.param("a: '" + "\n  &b !c" * 100_000 + "'", id="what looks like many anchors and tags"),
    ],
)
def test_the_reference_reads_what_costs_ryaml_much(text: str) -> None:
    with pytest.raises(yaml_reader.Unsure):
        yaml_reader.load_fast(text.encode(), OPTIONS)
    assert_equal(text)


LARGEST = str(2**1024 - 2**970)
"""The smallest number whose nearest float is infinity."""


@pytest.mark.parametrize(
    "text", [str(int(LARGEST) - 1), LARGEST, "9" * 308, "9" * 400, "-" + "9" * 400, "1e308", "1e309"]
)
def test_long_numbers_are_read_as_the_reference_reads_them(text: str) -> None:
    assert_equal(f"a: {text}\nb: '{text}'\n")


def test_the_reference_reads_what_may_weigh_too_much() -> None:
    text = b"{a,a,a,a,a,a}"
    with pytest.raises(ParseError, match="exceeds 12 bytes"):
        yaml_reader.load(text, ReadOptions(max_bytes=12))


def test_blanks_before_many_marks_are_passed_once() -> None:
    """A text of marks with nothing before them that could make one a tag is read fast, and not in the square of its length."""
    text = b"a: b" + b" !" * 500_000
    assert yaml_reader.load_fast(text, OPTIONS) == {"a": text[3:].decode()}


SCALAR_TEXTS = (
    "a b schema y Yes n NO on Off true False null ~ yEs = << .inf -.INF .nan + - . 2020-01-31 12:30:45 0777 0o17 08 0x1F "
    "-0x1f +0X1F 0b11 0b-1 1_000 _1 0_7 +12 -0 00 1e3 1E+3 1.0 1. .5 -.5 1.2.3 1e400 18446744073709551616 "
    "-9223372036854775809 0xFFFFFFFFFFFFFFFFFF 1__0 1e1_0 0x+F +-1 1e 0. é 😀 a!b a&b"
)
WORDS = st.sampled_from(SCALAR_TEXTS.split())
ODD = st.text("ab01.:-?,[]{}#&*!|>'\"%@` \n\t\r\\~=<_é\x85\u2028\ufeff\0", max_size=5)
PLAIN = WORDS | st.text("0123456789+-_.eExXobBaf", min_size=1, max_size=7) | ODD
SCALARS = st.one_of(
    PLAIN,
    PLAIN,
    st.builds("'{}'".format, WORDS | ODD.map(lambda text: text.replace("'", "''"))),
    st.builds(
        '"{}"'.format, WORDS | ODD | st.sampled_from(["\\x41\\u00e9\\U0001F600", "\\0\\_\\N\\L", "a\\\n  b", "\\q"])
    ),
    st.builds(
        "{} {}".format,
        st.sampled_from(["!!str", "!!int", "!!float", "!!binary", "!!timestamp", "!x", "!", "&a"]),
        PLAIN,
    ),
    st.sampled_from(["*a", "&a", "", "|\n  a\n  b", ">-\n  a\n   b\n\n  c", "|2\n   a", "a\n  b", "'a\n\n  b'"]),
)


def _flow(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.builds("{}{}{}".format, SCALARS, st.sampled_from([": ", ":", " : "]), children)
    return st.one_of(
        st.lists(children | pairs, max_size=3).map(lambda members: f"[{', '.join(members)}]"),
        st.lists(pairs | SCALARS, max_size=3).map(lambda members: f"{{{','.join(members)}}}"),
    )


def _block(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = children.map(lambda text: text.replace("\n", "\n  "))
    pairs = st.builds("{}{}{}".format, SCALARS, st.sampled_from([": ", ":\n  ", ":", ":\t"]), inner) | st.builds(
        "? {}\n: {}".format, inner, inner
    )
    return st.one_of(
        st.lists(inner.map("- {}".format), min_size=1, max_size=3).map("\n".join),
        st.lists(pairs | st.just("# comment") | st.builds("<<: {}".format, inner), min_size=1, max_size=4).map(
            "\n".join
        ),
    )


NODES = st.recursive(SCALARS, lambda children: _flow(children) | _block(children), max_leaves=8)
DOCUMENTS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "", "", "---\n", "%YAML 1.1\n---\n", "# comment\n", "\ufeff", "--- "]),
    NODES,
    st.sampled_from(["\n", "\n", "\n", "", "\n...\n", "\n--- a\n", "\n... a\n"]),
)


@settings(deadline=None, max_examples=example_count(400))
@given(DOCUMENTS)
def test_every_document_is_read_as_the_reference_reads_it(text: str) -> None:
    assert_equal(text)


@settings(deadline=None, max_examples=example_count(300))
@given(
    PLAIN, st.sampled_from(["a: {}\n", "{}: a\n", "- {}\n", "[{}]\n", "{{{}: a}}\n", "a:\n  {}\n", "{}\n", "? {}\n"])
)
def test_every_plain_scalar_is_read_as_the_reference_reads_it(text: str, place: str) -> None:
    assert_equal(place.format(text))


@settings(deadline=None, max_examples=example_count(200))
@given(st.data())
def test_a_damaged_document_is_read_as_the_reference_reads_it(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(ORDINARY)))
    gone = data.draw(st.integers(0, 3))
    come = data.draw(ODD.map(str.encode) | st.binary(max_size=3))
    raw = ORDINARY.encode()
    assert_equal(raw[:at] + come + raw[at + gone :])


@settings(deadline=None, max_examples=example_count(200))
@given(st.lists(st.binary(max_size=4) | PLAIN.map(str.encode), max_size=12).map(b"".join))
def test_any_bytes_are_read_as_the_reference_reads_them(raw: bytes) -> None:
    assert_equal(raw)
