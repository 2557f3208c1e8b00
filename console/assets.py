"""The files of console/static, in memory, under a path with the digest of all of them: browsers keep them for a year."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""Other files, such as licences, are not served."""


@dataclass(frozen=True)
class Asset:
    """A file, as it is and compressed."""

    body: bytes
    compressed: bytes
    media_type: str


class Assets:
    """The assets by their name, such as vendor/idiomorph/idiomorph.js."""

    def __init__(self, directory: Path = STATIC) -> None:
        """Reads all of them."""
        found = {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*"))}
        self._assets = {
            name: Asset(body := path.read_bytes(), gzip.compress(body, 9, mtime=0), MEDIA_TYPES[path.suffix])
            for name, path in found.items()
            if path.suffix in MEDIA_TYPES
        }
        together = hashlib.sha256()
        for name, asset in self._assets.items():
            together.update(name.encode() + b"\0" + hashlib.sha256(asset.body).digest())
        self.digest = together.hexdigest()[:16]

    def path(self, name: str) -> str:
        """The path of an asset. Raises KeyError for one that does not exist."""
        if name not in self._assets:
            raise KeyError(name)
        return f"/assets/{self.digest}/{name}"

    def get(self, digest: str, name: str) -> Asset | None:
        """The asset at a path; None if there is none, or if the path is of another version."""
        return self._assets.get(name) if digest == self.digest else None
