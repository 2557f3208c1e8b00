"""The contents of catalogs in memory, for tests of resolution."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from operator_controller.resolve.documents.catalog_documents import ContentMissing, packages_by_kind
from operator_controller.resolve.documents.document_reader import ReadDocument, read_document, read_envelope
from operator_controller.resolve.package.package_content import GroupKind


class DocumentsInMemory:
    """Implements Documents. `reads` lists the packages that were read."""

    def __init__(self) -> None:
        self._contents: dict[str, dict[str, Any]] = {}
        self.reads: list[str] = []

    def add(self, packages: Mapping[str, Any]) -> str:
        """Add a content, given as resolution documents by package; its digest."""
        digest = _digest(packages)
        self._contents[digest] = dict(packages)
        return digest

    def digests(self, content: str) -> Mapping[str, str]:
        return {name: _digest(document) for name, document in self._content(content).items()}

    def read(self, content: str, package: str) -> ReadDocument:
        self.reads.append(package)
        return read_document(self._text(content, package))

    def providers(self, content: str) -> Mapping[GroupKind, Collection[str]]:
        owned = {package: read_envelope(self._text(content, package)).owned for package in self._content(content)}
        return packages_by_kind(owned)

    def _text(self, content: str, package: str) -> bytes:
        document = self._content(content)[package]
        return json.dumps(document).encode()

    def _content(self, content: str) -> dict[str, Any]:
        if content not in self._contents:
            raise ContentMissing(f"content {content} is not cached")
        return self._contents[content]


def _digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
