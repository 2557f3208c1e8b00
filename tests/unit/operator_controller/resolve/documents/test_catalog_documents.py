"""Documents are parsed once by digest, whatever content or catalog has them, and dropped when none has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from operator_controller.resolve.documents.catalog_documents import ParsedDocuments
from operator_controller.resolve.documents.document_reader import ReadDocument, read_document
from operator_controller.resolve.package.package_content import GroupKind, PackageTooLarge
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource
from operator_controller.resolve.snapshot.package_snapshot import CatalogState

VALID = {
    "package": "p",
    "defaultChannel": "a",
    "channels": [{"name": "a", "entries": [{"name": "b"}]}],
    "bundles": [{"name": "b", "image": "r/b", "version": "1.0.0"}],
}
SAME, CHANGED = CatalogSource("c", content="first"), CatalogSource("c", content="second")


class Contents:
    """Implements Documents over the digest and the document of a package by content. `reads` lists the contents read."""

    def __init__(self, **by_content: tuple[str, Any]) -> None:
        self._by_content = by_content
        self.reads: list[str] = []

    def digests(self, content: str) -> Mapping[str, str]:
        return {"p": self._by_content[content][0]}

    def read(self, content: str, package: str) -> ReadDocument:
        self.reads.append(content)
        document = self._by_content[content][1]
        if isinstance(document, Exception):
            raise document
        return read_document(json.dumps(document).encode())

    def providers(self, content: str) -> Mapping[GroupKind, Collection[str]]:
        return {}


def test_a_document_that_two_contents_share_is_parsed_once() -> None:
    contents, parsed = Contents(first=("sha256:1", VALID), second=("sha256:1", VALID)), ParsedDocuments()
    found = [parsed.offer(contents, each, "p") for each in (SAME, CHANGED, CatalogSource("d", content="second"))]
    assert [(each.catalog, each.package) for each in found] == [(name, found[0].package) for name in ("c", "c", "d")]
    assert found[0].package is not None
    assert contents.reads == ["first"]


def test_a_document_of_another_digest_replaces_the_old_one() -> None:
    newer = {**VALID, "bundles": [{"name": "b", "image": "r/b", "version": "2.0.0"}]}
    contents, parsed = Contents(first=("sha256:1", VALID), second=("sha256:2", newer)), ParsedDocuments()
    versions = [
        str(offer.package.bundles["b"].version)
        for each in (SAME, CHANGED)
        if (offer := parsed.offer(contents, each, "p")).package is not None
    ]
    assert versions == ["1.0.0", "2.0.0"]


@pytest.mark.parametrize(
    ("retained", "reads"),
    [
        pytest.param({"sha256:1"}, ["first"], id="a document that a catalog has is not parsed again"),
        pytest.param({"sha256:2"}, ["first", "first"], id="a document that no catalog has is dropped"),
    ],
)
def test_only_the_documents_of_catalogs_are_retained(retained: set[str], reads: list[str]) -> None:
    contents, parsed = Contents(first=("sha256:1", VALID)), ParsedDocuments()
    parsed.offer(contents, SAME, "p")
    parsed.retain_only(retained)
    parsed.offer(contents, SAME, "p")
    assert contents.reads == reads


@pytest.mark.parametrize(
    ("document", "state", "message"),
    [
        pytest.param(
            {**VALID, "bundles": [3]},
            CatalogState.UNREACHABLE,
            'its document of package "p" cannot be read: Expected `object`, got `int` - at `$.bundles[0]`; catalogd and '
            "operator-controller have to be of the same version",
            id="another shape",
        ),
        pytest.param(PackageTooLarge("too many"), CatalogState.TOO_LARGE, "too many", id="a package that is too large"),
    ],
)
def test_a_document_that_cannot_be_parsed_is_explained_and_not_read_again(
    document: Any, state: CatalogState, message: str
) -> None:
    contents, parsed = Contents(first=("sha256:1", document)), ParsedDocuments()
    for _ in range(2):
        offer = parsed.offer(contents, SAME, "p")
        assert (offer.state, offer.package, offer.message) == (state, None, message)
    assert contents.reads == ["first"]
