"""What is written of a response with the resolution documents of a catalog, and which responses are refused."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from olmkit.store.store import Store
from operator_controller.catalog_cache.content_store import (
    GZIP,
    IDENTITY,
    MAX_CONTENT_BYTES,
    MAX_INDEXED_BYTES,
    MAX_PACKAGES,
    MAX_PROVIDED_KINDS,
    ContentTooLarge,
    InvalidContent,
    write_content,
)
from operator_controller.catalog_cache.stored_documents import (
    DOCUMENTS_FILE,
    MAX_DOCUMENT_BYTES,
    CatalogContent,
    ContentDocuments,
)
from operator_controller.resolve.package.package_content import PackageTooLarge
from tests.counting import lines_counted
from tests.integration.operator_controller.catalog_cache.test_client import (
    FIRST,
    SECOND,
    document,
    lines,
    with_digest,
)


def written(
    directory: Path, body: bytes, digest: str = FIRST, encoding: str = IDENTITY, previous: CatalogContent | None = None
) -> CatalogContent:
    """The content that is made of the body of a response."""
    received = directory / "received"
    received.parent.mkdir(exist_ok=True)
    received.write_bytes(body)
    with Store(directory).publish(digest) as target:
        write_content(received, encoding, digest, target, previous)
    return CatalogContent.open(directory, digest)


def read(directory: Path, package: str) -> Any:
    """The document of a package of the first content."""
    documents = ContentDocuments(directory)
    try:
        return orjson.loads(documents.read_text(FIRST, package))
    finally:
        documents.close_files()


def providing(package: str, *kinds: Any, digest: str = FIRST) -> dict[str, Any]:
    """A document of a package whose bundle has these values of olm.gvk."""
    found = document(digest, package=package)
    found["bundles"][0]["properties"] = [{"type": "olm.gvk", "value": value} for value in kinds]
    return with_digest(digest, found)


@pytest.mark.parametrize("encoding", [IDENTITY, GZIP])
def test_documents_are_found_by_package(tmp_path: Path, encoding: str) -> None:
    documents = [document(FIRST, package=package) for package in ("q", "p", "é")]
    body = lines(documents)
    content = written(tmp_path, gzip.compress(body) if encoding == GZIP else body, FIRST, encoding)
    assert (content.directory / DOCUMENTS_FILE).read_bytes() == body
    assert [*content.index.packages] == ["p", "q", "é"]
    assert content.index.digests == {each["package"]: each["digest"] for each in documents}
    for each in documents:
        assert read(tmp_path, each["package"]) == each


def test_providers_of_a_kind_are_found(tmp_path: Path) -> None:
    first, second = {"group": "g", "version": "v1", "kind": "K"}, {"group": "g", "version": "v2", "kind": "K"}
    invalid = [3, None, {"kind": 3}, {"group": 3, "kind": "K"}, {"group": "g"}]
    documents = [
        providing("q", first, second),
        providing("p", second, *invalid),
        providing("r", {"kind": "Core"}),
        {**document(FIRST, package="s"), "bundles": ["olm.gvk", {"properties": {"olm.gvk": 1}}, {"properties": [3]}]},
    ]
    content = written(tmp_path, lines(documents))
    assert content.index.providers == {("g", "K"): ("p", "q"), ("", "Core"): ("r",)}


def test_a_catalog_without_packages_is_content(tmp_path: Path) -> None:
    assert written(tmp_path, b"").index.packages == {}


LARGE = MAX_DOCUMENT_BYTES


def large(package: str, size: int) -> bytes:
    """A document of at least that many bytes."""
    found = document(FIRST, package=package)
    found["bundles"][0]["properties"] = [{"type": "t", "value": " " * size}]
    found["displayNames"] = {f"g/K{number}": "digest" for number in range(2000)}
    return lines([with_digest(FIRST, found)])


def test_a_document_that_is_too_large_is_listed_and_not_parsed(tmp_path: Path) -> None:
    body = large('a "quoted" name', LARGE) + lines([document(FIRST, package="q")])
    content = written(tmp_path, body)
    assert [*content.index.packages] == ['a "quoted" name', "q"]
    with pytest.raises(PackageTooLarge, match=r"^its document is larger than 32 MiB; ask its publisher to remove old"):
        read(tmp_path, 'a "quoted" name')
    assert read(tmp_path, "q")["package"] == "q"


def test_a_document_that_takes_too_much_memory_is_not_parsed_for_resolution(tmp_path: Path) -> None:
    found = document(FIRST)
    found["bundles"][0]["properties"] = [{"type": "t", "value": [[]] * 3_000_000}]
    written(tmp_path, lines([with_digest(FIRST, found), document(FIRST, package="q")]))
    with pytest.raises(
        PackageTooLarge, match=r"^its document may take more than 320 MiB of memory when it is parsed; ask"
    ):
        read(tmp_path, "p")
    assert read(tmp_path, "q")["package"] == "q"


def test_a_large_document_is_indexed_without_being_parsed(tmp_path: Path) -> None:
    """Parsed, it would take twenty times its size in memory."""
    kinds = [{"group": "g", "kind": "K", "version": "v1"}, {"kind": "Core"}, {"kind": 3}, {"a": "}"}]
    large = providing("p", *kinds)
    large["bundles"][0]["properties"].append({"type": "olm.constraint", "value": [[]] * (3 * MAX_INDEXED_BYTES)})
    body = lines([with_digest(FIRST, large), providing("q", *kinds)])
    other = body.replace(FIRST.encode(), SECOND.encode())
    tracemalloc.start()
    try:
        content = written(tmp_path, body)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(body)
    finally:
        tracemalloc.stop()
    assert content.index.providers == {("g", "K"): ("p", "q"), ("", "Core"): ("p", "q")}
    assert [*content.index.packages] == ["p", "q"]
    with pytest.raises(InvalidContent, match="the document belongs to another content"):
        written(tmp_path, other)


VALID = lines([document(FIRST), document(FIRST, package="q")])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(VALID[:-1], "its last line is not complete", id="the last character is missing"),
        pytest.param(VALID[:-40], "its last line is not complete", id="the end is missing"),
        pytest.param(b"<html>\n", r"^it is no JSON: .*\(line 1\)", id="a page"),
        pytest.param(VALID + b"\n", r"\(line 3\)", id="an empty line"),
        pytest.param(VALID + b"\xff\n", r"\(line 3\)", id="no UTF-8"),
        pytest.param(VALID + b"[" * 5000 + b"]" * 5000 + b"\n", r"\(line 3\)", id="too deep"),
        pytest.param(VALID + b"[]\n", r"^Expected `object`, got `array`; .*\(line 3\)", id="a list"),
        pytest.param(VALID + VALID, r'^package "p" is listed more than once', id="a package twice"),
        pytest.param(
            VALID + lines([document(SECOND, package="r")]),
            r"^the document belongs to another content of the catalog \(line 3\)",
            id="a document of another content",
        ),
        pytest.param(
            lines([{key: value for key, value in document(FIRST).items() if key != "catalogDigest"}]),
            "^the document belongs to another content",
            id="a document without the digest of the catalog",
        ),
        pytest.param(lines([{**document(FIRST), "digest": "sha256:1"}]), "^the document has no digest", id="no digest"),
        pytest.param(lines([{**document(FIRST), "package": ""}]), "^the document names no package", id="no package"),
        pytest.param(
            lines([{**document(FIRST), "package": 3}]), "^Expected `str`, got `int` - at `\\$.package`", id="a number"
        ),
        pytest.param(
            lines([{**document(FIRST), "channels": {"a": 1}}]), "got `object` - at `\\$.channels`", id="channels"
        ),
        pytest.param(lines([{**document(FIRST), "channels": [3]}]), None, id="a channel that is no mapping"),
        pytest.param(b" " * (LARGE + 1) + b"\n", "^the document names no package", id="a large line of spaces"),
        pytest.param(b" " * (LARGE + 2), "^its last line is not complete", id="a large line without an end"),
    ],
)
def test_a_response_with_a_line_that_is_no_document_is_refused(
    tmp_path: Path, body: bytes, message: str | None
) -> None:
    if message is None:
        assert [*written(tmp_path, body).index.packages] == ["p"]
        return
    with pytest.raises(InvalidContent, match=message):
        written(tmp_path, body)
    assert Store(tmp_path).digests() == set()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda body: body[:-1], id="the end is missing"),
        pytest.param(lambda body: body[: len(body) // 2], id="half is missing"),
        pytest.param(lambda body: body[:-8] + bytes(8), id="the checksum is wrong"),
        pytest.param(lambda body: b"\x1f\x8b" + bytes(40), id="no header"),
        pytest.param(lambda body: VALID, id="not compressed"),
        pytest.param(lambda body: body + b"more", id="more after the end"),
    ],
)
def test_a_damaged_compressed_response_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(InvalidContent, match="its compressed form is not complete or damaged"):
        written(tmp_path, damage(gzip.compress(VALID)), FIRST, GZIP)


SPLIT = "ask its publisher to split it or to remove old entries"


def spaces(size: int) -> bytes:
    """A compressed response of that many spaces, which is a thousandth of it."""
    return gzip.compress(b" " * (size // 4)) * 4


@pytest.mark.parametrize(
    ("body", "encoding", "message"),
    [
        pytest.param(
            lambda: spaces(MAX_CONTENT_BYTES + 4),
            GZIP,
            f"the resolution documents of its catalog are larger than 128 MiB; {SPLIT}",
            id="bytes",
        ),
        pytest.param(
            lambda: lines(document(FIRST, package=f"p{number}") for number in range(100_000)),
            IDENTITY,
            f"its catalog has more than {MAX_PACKAGES:,} packages; {SPLIT}",
            id="packages",
        ),
        pytest.param(
            lambda: lines([providing("p", *({"kind": f"K{number}"} for number in range(MAX_PROVIDED_KINDS + 1)))]),
            IDENTITY,
            f"the packages of its catalog provide more than 100,000 kinds; {SPLIT}",
            id="kinds",
        ),
        pytest.param(
            lambda: lines([providing("p", *({"kind": f"K{number}" + "x" * 1_000} for number in range(9_000)))]),
            IDENTITY,
            f"the names of the packages and kinds of its catalog take more than 8 MiB; {SPLIT}",
            id="names of kinds",
        ),
    ],
)
def test_content_above_a_limit_is_refused(
    tmp_path: Path, body: Callable[[], bytes], encoding: str, message: str
) -> None:
    with pytest.raises(ContentTooLarge, match=f"^{message}$"):
        written(tmp_path, body(), FIRST, encoding)
    assert Store(tmp_path).digests() == set()


def test_a_package_that_no_operator_can_name_is_not_listed(tmp_path: Path) -> None:
    content = written(tmp_path, lines([document(FIRST, package="p" * 254), document(FIRST, package="q")]))
    assert [*content.index.packages] == ["q"]


def test_documents_that_have_not_changed_are_not_parsed_again(tmp_path: Path) -> None:
    kinds = [{"group": "g", "kind": "K", "version": f"v{number}"} for number in range(50)]
    packages = [f"p{number:02}" for number in range(50)]
    first = written(tmp_path, lines(providing(each, *kinds) for each in packages))
    changed = [providing(each, *kinds, digest=SECOND) for each in packages]
    changed[7] = providing("p07", {"group": "g", "kind": "New"}, digest=SECOND)
    changed[8:9] = []
    body = lines([*changed, providing("another", *kinds, digest=SECOND)])
    with lines_counted() as anew:
        expected = written(tmp_path / "anew", body, SECOND)
    with lines_counted() as continued:
        found = written(tmp_path, body, SECOND, previous=first)
    assert found.index == expected.index
    assert found.index.providers["g", "New"] == ("p07",)
    assert "p08" not in found.index.packages
    assert continued.executed < anew.executed / 2


@pytest.mark.parametrize(
    "line",
    [
        pytest.param({**document(FIRST), "catalogDigest": FIRST}, id="of the content before"),
        pytest.param({**document(SECOND), "catalogDigest": ""}, id="without a digest"),
    ],
)
def test_an_unchanged_document_counts_only_as_one_of_the_new_content(tmp_path: Path, line: dict[str, Any]) -> None:
    first = written(tmp_path, VALID)
    with pytest.raises(InvalidContent, match="the document belongs to another content of the catalog"):
        written(tmp_path, lines([line]), SECOND, previous=first)


def test_without_the_files_of_the_previous_content_everything_is_parsed(tmp_path: Path) -> None:
    first = written(tmp_path, VALID)
    Store(tmp_path).remove(FIRST)
    assert [*written(tmp_path, lines([document(SECOND)]), SECOND, previous=first).index.packages] == ["p"]


def test_an_index_is_the_same_after_it_was_read(tmp_path: Path) -> None:
    content = written(tmp_path, lines([providing("p", {"group": "g", "kind": "K"}), document(FIRST, package="q")]))
    assert type(content.index).from_json(content.index.to_json()) == content.index
    assert orjson.loads(content.index.to_json())["format"] == 1
