"""The contents of catalogs in memory, for tests of resolution."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from operator_controller.resolve.documents.catalog_documents import ContentMissing
from operator_controller.resolve.documents.package_index import index_document
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

    def read(self, content: str, package: str) -> Any:
        self.reads.append(package)
        return self._content(content)[package]

    def _content(self, content: str) -> dict[str, Any]:
        if content not in self._contents:
            raise ContentMissing(f"content {content} is not cached")
        return self._contents[content]


def _digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class TextsInMemory(DocumentsInMemory):
    """Implements TextDocuments. `texts` lists the packages whose text was read."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def read_text(self, content: str, package: str) -> bytes:
        self.texts.append(package)
        document = self._content(content)[package]
        envelope = {"digest": self.digests(content)[package], "catalogDigest": content}
        return json.dumps({**document, **envelope} if isinstance(document, dict) else document).encode()

    def providers(self, content: str) -> Mapping[GroupKind, Collection[str]]:
        found: dict[GroupKind, list[str]] = {}
        for package, document in sorted(self._content(content).items()):
            for kind in index_document(document).owned:
                found.setdefault(kind, []).append(package)
        return found
