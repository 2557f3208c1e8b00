"""The fast YAML reader equals the reference: for the manifests of bundles, and for the catalogs in many styles."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from olmkit.gocompat import yaml_composer, yaml_reader
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_composer import ReadOptions

pytestmark = [pytest.mark.corpus, pytest.mark.scale]
OPTIONS = ReadOptions(max_bytes=32 * 1024 * 1024, max_values=200_000)
SEPARATOR = re.compile(rb"^---.*\n", re.MULTILINE)


class GoStyle(yaml.CSafeDumper):
    """Writes multi-line strings as literal blocks, as go-yaml does and most catalogs have them."""


class Quoted(yaml.CSafeDumper):
    """Writes strings, keys included, in double quotes, over several lines."""


class Folded(yaml.CSafeDumper):
    """Writes strings as folded blocks."""


def _as(style: str, lines: int) -> Any:
    def represent(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style=style if text.count("\n") >= lines else None
        )

    return represent


GoStyle.add_representer(str, _as("|", 1))
Quoted.add_representer(str, _as('"', 0))
Folded.add_representer(str, _as(">", 0))

STYLES: dict[str, dict[str, Any]] = {
    "block": {"sort_keys": False},
    "as go-yaml writes it": {"Dumper": GoStyle},
    "flow": {"default_flow_style": True, "width": 100_000},
    "double quotes": {"Dumper": Quoted},
    "folded": {"Dumper": Folded, "indent": 4},
}


PARTS = {
    "block": slice(None),
    "as go-yaml writes it": slice(None),
    "flow": slice(0, None, 3),
    "double quotes": slice(1, None, 3),
    "folded": slice(2, None, 3),
}
"""All packages in the styles that catalogs have, a third of them in each of the others, because the comparison is slow."""


def _written(blobs: list[Any], style: str) -> list[bytes]:
    options: dict[str, Any] = {"Dumper": yaml.CSafeDumper, "allow_unicode": True, **STYLES[style]}
    return [str(yaml.dump(blob, **options)).encode() for blob in blobs]


def _outcome(load: Any, text: bytes) -> bytes:
    try:
        return orjson.dumps(load(text, OPTIONS))
    except ParseError as error:
        return f"error {error}".encode()


def _share_read_fast(texts: Iterator[tuple[str, bytes]]) -> float:
    """Compare the two readers, once for equal texts; returns the share of bytes that did not need the reference."""
    fast = total = 0
    compared: set[bytes] = set()
    for name, text in texts:
        digest = hashlib.sha256(text).digest()
        if digest in compared:
            continue
        compared.add(digest)
        total += len(text)
        expected = _outcome(yaml_composer.compose, text)
        try:
            found = orjson.dumps(yaml_reader.load_fast(text, OPTIONS))
            fast += len(text)
        except yaml_reader.Unsure:
            found = _outcome(yaml_reader.load, text)
        assert found == expected, f"{name}: {text[:200]!r}"
    return fast / total


@pytest.mark.parametrize("style", STYLES)
def test_catalogs_written_as_yaml_are_read_as_by_the_reference(corpus: Path, style: str) -> None:
    def texts() -> Iterator[tuple[str, bytes]]:
        files = sorted((corpus / "catalog").glob("*/*"))
        assert files
        for file in files[PARTS[style]]:
            blobs = [orjson.loads(line) for line in file.read_bytes().splitlines()]
            for text in _written(blobs, style):
                yield f"{file.parent.name}, {style}", text

    assert _share_read_fast(texts()) > 0.95


def test_manifests_of_bundles_are_read_as_by_the_reference(corpus: Path) -> None:
    files = [path for path in sorted((corpus / "bundles").rglob("*")) if path.is_file()]
    assert files

    def texts() -> Iterator[tuple[str, bytes]]:
        for file in files:
            for text in SEPARATOR.split(file.read_bytes()):
                yield str(file.relative_to(corpus)), text

    assert _share_read_fast(texts()) > 0.5
