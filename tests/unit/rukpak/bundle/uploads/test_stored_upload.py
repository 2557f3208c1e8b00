"""Uploads as ConfigMaps, and back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rukpak.bundle.uploads.stored_upload import (
    PART_BYTES,
    StoredUpload,
    Upload,
    data_of,
    is_same,
    owner_of,
    role_of,
    size_of,
    stored_upload,
)

DIGEST = "sha256:" + "1234567890abcdef" * 4
UPLOAD = Upload("a", "uid", DIGEST, 2 * PART_BYTES + 1)


def as_read(body: dict[str, Any], uid: str = "index") -> dict[str, Any]:
    """What the API server makes of it."""
    read = copy.deepcopy(body)
    read["metadata"] |= {"uid": uid, "resourceVersion": "1"}
    return read


def test_an_index_makes_an_upload_complete() -> None:
    index = as_read(UPLOAD.index("s"))
    assert stored_upload(index, "uid") == StoredUpload(DIGEST, 2 * PART_BYTES + 1, "index")
    assert index["immutable"] is True
    assert owner_of(index) == ("a", "uid")


@pytest.mark.parametrize(
    ("size", "count"),
    [
        pytest.param(1, 1, id="one byte"),
        pytest.param(PART_BYTES, 1, id="one part"),
        pytest.param(PART_BYTES + 1, 2, id="a byte more"),
        pytest.param(32 * 1024**2, 43, id="the largest"),
    ],
)
def test_the_parts_of_an_archive(size: int, count: int) -> None:
    names = Upload("a", "uid", DIGEST, size).part_names
    assert (len(names), names[-1]) == (count, f"upload-uid-1234567890abcdef-{count - 1:03d}")
    assert sorted(names) == names


def test_a_part_has_its_bytes() -> None:
    part = UPLOAD.part(UPLOAD.part_names[0], "s", b"\0\xff")
    assert (data_of(part), role_of(part), size_of(part)) == (b"\0\xff", "part", 2)
    with pytest.raises(ValueError, match="no bytes"):
        data_of({**part, "binaryData": None})
    with pytest.raises(ValueError, match="base64"):
        data_of({**part, "binaryData": {"archive": "?"}})


def _without(body: dict[str, Any], *path: str) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    at = changed
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return changed


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(None, id="there is none"),
        pytest.param(UPLOAD.part("p", "s", b"x"), id="a part"),
        pytest.param(_without(UPLOAD.index("s"), "metadata", "labels"), id="without the label"),
        pytest.param(_without(UPLOAD.index("s"), "metadata", "annotations"), id="without a digest"),
        pytest.param(_without(UPLOAD.index("s"), "metadata", "ownerReferences"), id="without its Bundle"),
        pytest.param(Upload("a", "other", DIGEST, 1).index("s"), id="of another Bundle"),
        pytest.param(Upload("a", "uid", "sha256:1", 1).index("s"), id="with a digest that is none"),
        pytest.param(Upload("a", "uid", DIGEST, 0).index("s"), id="of nothing"),
    ],
)
def test_what_is_no_index_completes_nothing(index: dict[str, Any] | None) -> None:
    assert stored_upload(index, "uid") is None


def test_a_configmap_is_the_same_only_as_it_was_created() -> None:
    body = UPLOAD.part("p", "s", b"x")
    assert is_same(as_read(body), body)
    assert not is_same(as_read(UPLOAD.part("p", "s", b"y")), body)
    assert not is_same(as_read({**body, "immutable": False}), body)
    assert not is_same(as_read(_without(body, "metadata", "ownerReferences")), body)
    assert not is_same(as_read(_without(body, "metadata", "labels")), body)
