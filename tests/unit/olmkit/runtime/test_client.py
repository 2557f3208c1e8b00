"""Responses of the API server become values or errors; bodies sent to it can be read as YAML."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from olmkit.errors import ApiError, Conflict, Gone, Invalid, NotFound, Unavailable
from olmkit.runtime.client import apply_body, lines, parse_event, parse_failure, parse_items, parse_object


def read_lines(chunks: Sequence[bytes]) -> list[bytes]:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def main() -> list[bytes]:
        return [line async for line in lines(source())]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"a\nb\n"], [b"a", b"b"], id="two lines in a chunk"),
        pytest.param([b"a", b"b", b"\nc\n"], [b"ab", b"c"], id="a line in three chunks"),
        pytest.param([b"a\nb"], [b"a"], id="an incomplete line is dropped"),
        pytest.param([b"\n\na\n\n"], [b"a"], id="empty lines are skipped"),
        pytest.param([b"x" * 3_000_000, b"\n"], [b"x" * 3_000_000], id="a line of three megabytes"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_lines(chunks: list[bytes], expected: list[bytes]) -> None:
    assert read_lines(chunks) == expected


@given(text=st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), max_size=8), data=st.data())
def test_lines_do_not_depend_on_where_chunks_end(text: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read_lines(chunks) == [line for line in text if line]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param(b"{", Unavailable, id="half a line"),
        pytest.param(b"[]", Unavailable, id="no object"),
        pytest.param(b"{}", Unavailable, id="no type"),
        pytest.param(b'{"type":"ADDED"}', Unavailable, id="no object in it"),
        pytest.param(b'{"type":"ADDED","object":7}', Unavailable, id="a number for an object"),
        pytest.param(b'{"type":"ADDED","object":{}}', Unavailable, id="an object without metadata"),
        pytest.param(
            b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}', Unavailable, id="an object without version"
        ),
        pytest.param(
            b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}}', Unavailable, id="without a name"
        ),
        pytest.param(b'{"type":"BOOKMARK","object":{"metadata":{}}}', Unavailable, id="a bookmark without version"),
        pytest.param(b'{"type":"ODD","object":{"metadata":{}}}', Unavailable, id="a type that does not exist"),
        pytest.param(b"\xff\xfe", Unavailable, id="no UTF-8"),
        pytest.param(b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}', Gone, id="too old"),
        pytest.param(b'{"type":"ERROR","object":{"code":504,"reason":"Timeout"}}', Unavailable, id="a timeout"),
        pytest.param(b'{"type":"ERROR","object":{}}', Unavailable, id="an error without a code"),
    ],
)
def test_an_invalid_event(line: bytes, error: type[ApiError]) -> None:
    with pytest.raises(error):
        parse_event(line)


def test_an_event() -> None:
    event = {"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "7"}}}
    assert parse_event(json.dumps(event).encode()) == event


def test_an_event_about_an_object_that_nests_deeper_than_orjson_reads_is_an_event() -> None:
    deep = '{"a":' * 1_100 + "1" + "}" * 1_100
    metadata = '{"name": "a", "resourceVersion": "7"}'
    event = parse_event(f'{{"type": "ADDED", "object": {{"metadata": {metadata}, "spec": {deep}}}}}'.encode())
    assert event["object"]["metadata"] == {"name": "a", "resourceVersion": "7"}
    page = parse_object(f'{{"metadata": {{}}, "items": [{{"metadata": {metadata}, "spec": {deep}}}]}}'.encode())
    assert len(parse_items(page)[0]) == 1


def test_a_list() -> None:
    item = {"metadata": {"name": "a", "resourceVersion": "7"}}
    assert parse_items({"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [item]}) == ([item], "9", "t")
    assert parse_items({"metadata": {"resourceVersion": "9"}, "items": None}) == ([], "9", "")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param({"items": {}, "metadata": 7}, id="metadata that is a number"),
        pytest.param({"items": {"a": 1}}, id="items that are a mapping"),
        pytest.param({"items": [None]}, id="an item that is null"),
        pytest.param({"items": [{"metadata": {"name": "a"}}]}, id="an item without version"),
    ],
)
def test_an_invalid_list(page: dict[str, Any]) -> None:
    with pytest.raises(Unavailable):
        parse_items(page)


@pytest.mark.parametrize(
    ("code", "body", "error", "message"),
    [
        pytest.param(404, b'{"kind":"Status","reason":"NotFound","message":"no a"}', NotFound, "no a", id="a Status"),
        pytest.param(409, b'{"kind":"Status","reason":"AlreadyExists"}', Conflict, "AlreadyExists", id="no message"),
        pytest.param(404, b"404 page not found\n", NotFound, "404 page not found", id="plain text"),
        pytest.param(502, b"", Unavailable, "HTTP 502", id="nothing"),
        pytest.param(503, b'{"kind":"Other"}', Unavailable, '{"kind":"Other"}', id="JSON that is not a Status"),
        pytest.param(404, b'{"error":"image a: no tag"}', NotFound, "image a: no tag", id="the words of a service"),
        pytest.param(
            500,
            b'{"kind":"Status","message":"failed to create typed patch object (/a): .foo: field not declared in schema"}',
            Invalid,
            "failed to create typed patch object (/a): .foo: field not declared in schema",
            id="a field that the schema lacks, reported as an internal error, is an invalid object",
        ),
    ],
)
def test_failures(code: int, body: bytes, error: type[ApiError], message: str) -> None:
    found = parse_failure(code, "", body)
    assert type(found) is error
    assert found.message == message


@pytest.mark.parametrize("raw", [pytest.param(b"<html>", id="no JSON"), pytest.param(b"[1]", id="a list")])
def test_a_response_that_is_not_an_object(raw: bytes) -> None:
    with pytest.raises(Unavailable):
        parse_object(raw)


def test_an_empty_response_is_an_empty_object() -> None:
    assert parse_object(b"") == {}


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=30), max_size=3))
@example({"data": "a\u2028b\u2029c\x85d\x7fe\ufefff\x9fg\uffffh"})
def test_the_body_of_an_apply_reads_the_same_as_yaml_and_as_json(obj: dict[str, str]) -> None:
    """Characters that JSON allows in a string and YAML forbids or folds are escaped."""
    body = apply_body(obj)
    assert json.loads(body) == obj
    assert yaml.safe_load(body.decode()) == obj
