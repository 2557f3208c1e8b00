"""Opens and unpacks git, http and configMaps sources for tests, and returns the files or the error."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from olmkit.errors import OlmError
from olmkit.jobs import codec
from olmkit.sources.access import Access
from olmkit.sources.content_limits import CATALOG_LIMITS, ContentLimits
from olmkit.sources.credentials import Credentials, credentials_of
from olmkit.sources.network import Timeouts
from olmkit.sources.open import open_source, unpack
from olmkit.sources.source import GitReference, GitSource, RefKind, Source

SHORT_TIMEOUTS = Timeouts(connect=5, read=1, min_rate_window=0.3, min_rate_bytes=50 * 1024)
"""For servers that stall. Other tests use the default timeouts, because the machine may be busy."""


@dataclass
class SourceHarness:
    """Opens sources with an Access that allows servers on loopback."""

    directory: Path
    access: Access = field(default_factory=lambda: Access(allowed_cidrs=("127.0.0.0/8",)))
    limits: ContentLimits = CATALOG_LIMITS
    lines: list[str] = field(default_factory=list)
    """Reported progress."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def use_secrets(self, *secrets: Mapping[str, Any], shared: Mapping[str, Any] | None = None) -> None:
        """Use the credentials of these Secrets, the object's own one first; `shared` is the Secret for all objects."""
        credentials = credentials_of(secrets[0]) if secrets else Credentials()
        for each in (*secrets[1:], *((shared,) if shared else ())):
            credentials = Credentials.merged(credentials, credentials_of(each))
        self.access = self.access.with_credentials(credentials)

    def use_short_timeouts(self) -> None:
        """Use short timeouts."""
        self.access = replace(self.access, timeouts=SHORT_TIMEOUTS)

    async def files(self, source: Source, only: Sequence[str] | None = None) -> dict[str, str]:
        """The text of each file by its path below the root. The source is encoded and decoded first, as for a job."""
        into = self.directory / f"into-{next(self._numbers)}"
        into.mkdir()
        async with open_source(codec.decode(type(source), codec.encode(source)), self.access) as opened:
            fetched = await opened.fetch(into, only, limits=self.limits, progress=self.lines.append)
            root = unpack(fetched, into, self.limits, self.lines.append)
        return {
            str(path.relative_to(root)): path.read_bytes().decode(errors="backslashreplace")
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }

    async def error(self, source: Source, only: Sequence[str] | None = None) -> OlmError:
        """The error of opening or unpacking; asserts that no output contains a secret."""
        with pytest.raises(OlmError) as raised:
            await self.files(source, only)
        shown = "".join((str(raised.value), repr(raised.value), repr(source), repr(self.access), *self.lines))
        for layer in self.access.credentials.layers:
            for rule in layer:
                for name in ("password", "private_key", "basic"):
                    secret = getattr(rule.value, name, "")
                    assert not secret or secret not in shown, f"the {name} is shown"
        return raised.value


def branch(url: str, name: str = "main", directory: str = "") -> GitSource:
    return GitSource(url, GitReference(RefKind.BRANCH, name), directory)


def tag(url: str, name: str) -> GitSource:
    return GitSource(url, GitReference(RefKind.TAG, name))


def commit(url: str, name: str, directory: str = "") -> GitSource:
    return GitSource(url, GitReference(RefKind.COMMIT, name), directory)
