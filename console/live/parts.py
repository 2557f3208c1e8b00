"""The parts of a page that change: found while it is rendered, compared with those that a browser has.

A part may hold other parts. What it consists of without them is its shell: a change of a shell sends the part whole, a change
in an inner part sends that one alone. Pure.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from markupsafe import Markup, escape

ROOT = "content"
"""The part that holds all others."""
_MARK = secrets.token_hex(8)
"""Stands around the place of an inner part. No text of a page can have it: it is another one in each process."""
_PLACE = re.compile(rf"\x01{_MARK}:([A-Za-z0-9_.:-]+)\x02")
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9.:-]")
"""Characters of names that ids have escaped, so that two names never are one id. `_` begins and ends an escape."""
_TAG = re.compile(r"[a-z][a-z0-9]*\Z")


@dataclass(frozen=True)
class Part:
    """An element with an id. `shell` is its HTML with places for the parts in it, whose ids are `inner`."""

    id: str
    shell: str
    inner: tuple[str, ...]

    @classmethod
    def of(cls, name: str, tag: str, attributes: Mapping[str, object], content: str) -> Part:
        """The part of this content. Raises ValueError for a tag that is none."""
        identity = _NOT_AN_ID.sub(lambda found: f"_{ord(found[0]):x}_", name)
        if not _TAG.match(tag):
            raise ValueError(f"the tag of the part {identity} is none: {tag}")
        listed = "".join(
            f' {key.replace("_", "-")}="{escape(value)}"'
            for key, value in attributes.items()
            if value is not None and value is not False
        )
        shell = f'<{tag} id="{identity}"{listed}>{content}</{tag}>'
        return cls(identity, shell, tuple(_PLACE.findall(content)))

    @cached_property
    def digest(self) -> bytes:
        """Differs if the shell does."""
        return hashlib.blake2b(self.shell.encode(), digest_size=12).digest()


@dataclass
class Parts:
    """The parts of one rendering of a page, inner ones first."""

    found: dict[str, Part] = field(default_factory=dict)

    def put(self, part: Part) -> Markup:
        """Record a part; returns its place. Raises ValueError for an id that is used twice."""
        if part.id in self.found:
            raise ValueError(f"the part {part.id} is there twice")
        self.found[part.id] = part
        return Markup(f"\x01{_MARK}:{part.id}\x02")

    def whole(self, text: str) -> str:
        """The text with the parts in their places."""
        return _PLACE.sub(lambda place: self.whole(self.found[place[1]].shell), text)

    def whole_part(self, identity: str) -> str:
        """The HTML of a part."""
        return self.whole(self.found[identity].shell)

    def digests(self) -> dict[str, bytes]:
        """The digest of each part."""
        return {identity: part.digest for identity, part in self.found.items()}

    def changed(self, before: Mapping[str, bytes], digests: Mapping[str, bytes]) -> list[tuple[str, str]]:
        """(id, HTML) of the parts that differ from those before, without any that is in another of them."""
        found: list[tuple[str, str]] = []
        self._collect(ROOT, before, digests, found)
        return found

    def _collect(
        self, identity: str, before: Mapping[str, bytes], digests: Mapping[str, bytes], found: list[tuple[str, str]]
    ) -> None:
        part = self.found[identity]
        if before.get(identity) != digests[identity]:
            found.append((identity, self.whole_part(identity)))
            return
        for inner in part.inner:
            self._collect(inner, before, digests, found)


def state_of(digests: Mapping[str, bytes]) -> str:
    """A text that differs if any part does."""
    together = hashlib.blake2b(digest_size=9)
    for identity, digest in sorted(digests.items()):
        together.update(identity.encode() + b"\0" + digest)
    return together.hexdigest()
