"""The documents in a file of a bundle as dicts, lists and scalars.

A file is JSON, one or several concatenated texts, or YAML as olmkit.gocompat.yaml_reader reads it. Numbers are those of
Kubernetes' decoder: 1.0 is the integer 1, and an integer of more than 64 bits is a float. Pure.
"""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from olmkit.gocompat import yaml_reader
from olmkit.gocompat.numbers import int64_or_float64
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_composer import ReadOptions

MAX_DEPTH = 200
"""Levels of nesting; orjson writes no more than 254."""
MAX_BYTES = 32 * 1024**2
"""Approximate bytes of one file's values as JSON, with aliases expanded."""
OPTIONS: Final = ReadOptions(
    max_bytes=MAX_BYTES,
    max_depth=MAX_DEPTH,
    bytes_per_value=4,  # what JSON writes around a value: quotes, comma, colon, brackets
    exact_numbers=False,
    text_in_binary=True,
)


def read(data: bytes) -> list[Any]:
    """All documents of one file in order, without empty ones. Raises ParseError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError("not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error
    if text.lstrip()[:1] in ("{", "["):
        documents = _json_documents(text)
        if documents is not None:
            return documents
    return yaml_reader.load_all(data if data.endswith(b"\n") else data + b"\n", OPTIONS)


def _json_documents(text: str) -> list[Any] | None:
    """The values of concatenated JSON texts; None when this is not valid JSON. It may be YAML in flow style."""
    try:
        return [_bounded(orjson.loads(text))]
    except orjson.JSONDecodeError:
        pass
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    documents: list[Any] = []
    position = 0
    try:
        while position < len(text):
            document, position = decoder.raw_decode(text, position)
            documents.append(_bounded(document))
            while position < len(text) and text[position].isspace():
                position += 1
        orjson.dumps(documents)
    except ParseError:
        raise
    except (ValueError, RecursionError):
        return None
    except TypeError as error:
        raise ParseError("a text holds half of a surrogate pair (\\ud800 to \\udfff), which is no character") from error
    return documents


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _bounded(value: Any, depth: int = 0) -> Any:
    """The value with the numbers of Kubernetes' decoder.

    Raises ParseError for a value that nests too deep, ValueError for a number that is too large for a float.
    """
    if depth > MAX_DEPTH:
        raise ParseError(f"nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {key: _bounded(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_bounded(item, depth + 1) for item in value]
    return int64_or_float64(value)
