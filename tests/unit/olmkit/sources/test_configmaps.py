"""The keys of ConfigMaps as files."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from olmkit.errors import Blocked
from olmkit.sources.configmaps import MAX_CONTENT_BYTES, gather, is_immutable, mutable_names, within_limit
from olmkit.sources.source import ConfigMapsSource


def config_map(name: str, data: dict[str, str] | None = None, **binary: bytes) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value).decode() for key, value in binary.items()}
    return {"metadata": {"name": name}, "data": data, "binaryData": encoded or None}


def test_keys_become_files_below_their_directory() -> None:
    maps = [
        (config_map("b", {"a.yaml": "1", "b.yaml": "ä"}), ""),
        (config_map("a", {"a.yaml": "3"}, icon=b"\x89\xff"), "./deep/er/"),
    ]
    expected = (("a.yaml", b"1"), ("b.yaml", "ä".encode()), ("deep/er/a.yaml", b"3"), ("deep/er/icon", b"\x89\xff"))
    assert gather(maps) == ConfigMapsSource(expected)
    assert gather(reversed(maps)) == ConfigMapsSource(expected), "the order in the spec means nothing"


@pytest.mark.parametrize(
    ("maps", "reason", "words"),
    [
        pytest.param([], "MissingContent", "contain no keys", id="none"),
        pytest.param([(config_map("a"), "")], "MissingContent", "contain no keys", id="without keys"),
        pytest.param(
            [(config_map("b", {"x": "1"}), "d"), (config_map("a", {"x": "1"}), "d/")],
            "DuplicatePath",
            'duplicate path "d/x" found in configmaps a and b',
            id="one path of two",
        ),
        pytest.param(
            [(config_map("a", {"x": "1"}, x=b"2"), "")],
            "DuplicatePath",
            'duplicate path "x" found in configmaps a and a',
            id="one key in data and binaryData",
        ),
        pytest.param(
            [(config_map("a", {"x": "1"}), ""), (config_map("b", {"y": "1"}), "x")],
            "DuplicatePath",
            'configmap b has files in the directory "x", which is a file of configmap a',
            id="a file in place of a directory",
        ),
        pytest.param([(config_map("a", {"x": "1"}), "../d")], "InvalidReference", "path", id="a path outside"),
        pytest.param(
            [(config_map("a", {"..": "1"}), "")], "UnsafeContent", "which is not a file name", id="a key that climbs"
        ),
        pytest.param(
            [(config_map("a", {"x/y": "1"}), "")], "UnsafeContent", "which is not a file name", id="a key with a slash"
        ),
        pytest.param(
            [({"metadata": {"name": "a"}, "binaryData": {"x": "not base64"}}, "")],
            "UnsupportedContent",
            'configmap a has invalid base64 at the key "x"',
            id="invalid base64",
        ),
        pytest.param(
            [(config_map(str(number), {f"k{number}": "x" * 1024**2}), "") for number in range(9)],
            "TooLarge",
            f"the configmaps contain more than {MAX_CONTENT_BYTES:,} bytes, the most that is read",
            id="too large",
        ),
    ],
)
def test_invalid_configmaps_are_refused(maps: list[tuple[dict[str, Any], str]], reason: str, words: str) -> None:
    with pytest.raises(Blocked) as raised:
        gather(maps)
    assert raised.value.reason == reason
    assert words in raised.value.message


def test_only_a_configmap_that_says_so_is_immutable() -> None:
    values = {"fixed": True, "open": False, "unset": None}
    maps = [({**config_map(name), "immutable": value}, "") for name, value in values.items()]
    maps.append((config_map("silent"), ""))
    assert mutable_names(maps) == {"open", "unset", "silent"}
    assert [is_immutable(raw) for raw, _ in maps] == [True, False, False, False]


def test_configmaps_that_are_too_large_together_are_refused_before_all_are_read() -> None:
    half = bytes(MAX_CONTENT_BYTES // 2)
    size = within_limit(0, config_map("a", {"x": half.decode()}))
    assert within_limit(size, config_map("b", x=half)) <= MAX_CONTENT_BYTES, "gather decides about the last bytes"
    with pytest.raises(Blocked) as caught:
        within_limit(size, config_map("b", x=half, y=b"more"))
    assert caught.value.reason == "TooLarge"
