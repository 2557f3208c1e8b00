"""Unpacked content in the store, on a real disk."""

import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.store.store import Store
from rukpak.bundle.storage import intact_type, is_intact, load, stored_type
from rukpak.format import PlainBundle, to_json
from rukpak.format.bundle import FORMAT_VERSION
from tests.unit.rukpak.builders import obj

DIGEST = "sha256:" + "a" * 64
BUNDLE = PlainBundle((obj("v1", "ConfigMap", "c"),))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def publish(store: Store, how: str, data: bytes) -> Path:
    with store.publish(DIGEST) as staging:
        (staging / "type").write_text(how)
        (staging / "bundle.json").write_bytes(data)
    directory = store.path(DIGEST)
    assert directory is not None
    return directory


def test_content_is_read_as_it_was_written(store: Store) -> None:
    publish(store, f"plain+v0 {FORMAT_VERSION}", to_json(BUNDLE))
    assert stored_type(store, DIGEST) == intact_type(store, DIGEST) == "plain+v0"
    assert is_intact(store, DIGEST, "plain+v0")
    assert not is_intact(store, DIGEST, "registry+v1")
    assert load(store, DIGEST) == BUNDLE


@pytest.mark.parametrize(
    ("how", "data"),
    [
        pytest.param("plain+v0", to_json(BUNDLE), id="without a format version"),
        pytest.param(f"plain+v0 {FORMAT_VERSION + 1}", to_json(BUNDLE), id="written by a newer suite"),
        pytest.param("", to_json(BUNDLE), id="no type"),
    ],
)
def test_content_of_another_format_version_is_missing(store: Store, how: str, data: bytes) -> None:
    publish(store, how, data)
    assert stored_type(store, DIGEST) == intact_type(store, DIGEST) == ""
    assert load(store, DIGEST) is None


@pytest.mark.parametrize("data", [b"{}", b"[]", b"", b'{"format":1,"type":"registry+v1"}'])
def test_content_that_cannot_be_parsed_is_missing(store: Store, data: bytes) -> None:
    publish(store, f"plain+v0 {FORMAT_VERSION}", data)
    assert load(store, DIGEST) is None


def test_damaged_content_is_missing(store: Store) -> None:
    directory = publish(store, f"plain+v0 {FORMAT_VERSION}", to_json(BUNDLE))
    (directory / "bundle.json").write_bytes(to_json(BUNDLE).replace(b"ConfigMap", b"Namespace"))
    assert stored_type(store, DIGEST) == "plain+v0"
    assert intact_type(store, DIGEST) == ""
    assert load(store, DIGEST) is None


NO_DESCRIPTORS = """
import sys
from pathlib import Path
from olmkit.errors import Waiting
from olmkit.store.store import Store
from rukpak.bundle.storage import load, stored_type, intact_type
from tests.descriptors import use_up

store = Store(Path(sys.argv[1]))
use_up()
for ask in (stored_type, intact_type, load):
    try:
        print(repr(ask(store, sys.argv[2])))
    except Waiting as error:
        print(error.reason)
"""


def test_an_unreadable_store_is_waiting_and_not_missing(store: Store, tmp_path: Path) -> None:
    publish(store, f"plain+v0 {FORMAT_VERSION}", to_json(BUNDLE))
    done = subprocess.run(
        [sys.executable, "-c", NO_DESCRIPTORS, str(tmp_path), DIGEST], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["CacheUnreadable"] * 3
    assert load(store, DIGEST) == BUNDLE


@pytest.mark.parametrize("digest", [DIGEST, "", "latest", "sha256:../.."])
def test_missing_content_has_no_type(store: Store, digest: str) -> None:
    assert stored_type(store, digest) == intact_type(store, digest) == ""
    assert load(store, digest) is None
