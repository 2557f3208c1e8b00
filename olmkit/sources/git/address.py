"""Addresses of git repositories and names of branches and tags, validated before any request. Pure.

Three forms are supported: http(s)://host/path, ssh://user@host/path and user@host:path. All others are refused, such as those
that make git run a program or read a local file. The schema of the CRD refuses them too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dulwich.refs import Ref, check_ref_format

from olmkit.api.patterns import COMMIT, HOST, REPOSITORY, USER
from olmkit.sources.errors import BadReference, SourceReason, quoted, without_login
from olmkit.sources.source import GitReference, RefKind, without_query

DEFAULT_SSH_USER = "git"
"""The ssh user when the address has none."""
_URL = re.compile(
    rf"(?P<scheme>https?|ssh)://((?P<user>{USER})@)?(?P<host>{HOST})(:(?P<port>[0-9]{{1,5}}))?(?P<path>/.*)"
)
_SCP = re.compile(rf"(?P<user>{USER})@(?P<host>{HOST}):(?P<path>.*)")
_FORMS = "write https://host/path, http://host/path, ssh://user@host/path or user@host:path"
DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22}


@dataclass(frozen=True)
class GitAddress:
    """The parsed address of a repository. `written` is the address as in the spec; `port` is 0 when it has none."""

    written: str
    scheme: str
    host: str
    port: int
    path: str
    user: str = ""

    @property
    def authority(self) -> str:
        """host or host:port, as in messages and Secrets."""
        return f"{self.host}:{self.port}" if self.port else self.host

    @property
    def effective_port(self) -> int:
        """The port to connect to."""
        return self.port or DEFAULT_PORTS[self.scheme]


def parse(text: str) -> GitAddress:
    """Parse an address. Raises BadReference, whose message does not contain a password."""
    if not re.fullmatch(REPOSITORY, text):
        raise _invalid(text)
    match = _URL.fullmatch(text) or _SCP.fullmatch(text)
    if match is None or int(match.groupdict().get("port") or 0) > 65535:
        raise _invalid(text)
    parts = match.groupdict()
    scheme = parts.get("scheme") or "ssh"
    user = (parts["user"] or DEFAULT_SSH_USER) if scheme == "ssh" else ""
    return GitAddress(text, scheme, parts["host"].lower(), int(parts.get("port") or 0), parts["path"], user)


def ref_name(reference: GitReference) -> bytes:
    """The full name of a branch or a tag. Raises BadReference for a name that git does not allow."""
    prefix = {RefKind.BRANCH: "refs/heads/", RefKind.TAG: "refs/tags/"}[reference.kind]
    name = f"{prefix}{reference.name}".encode(errors="surrogatepass")
    if reference.name.startswith("-") or not check_ref_format(Ref(name)):
        raise BadReference(
            SourceReason.INVALID_REFERENCE,
            f"{quoted(reference.name)} is not a name that git allows for a {reference.kind}",
        )
    return name


def commit_name(reference: GitReference) -> str:
    """The commit's hash. Raises BadReference."""
    if not re.fullmatch(COMMIT, reference.name):
        text = f"{quoted(reference.name)} is not a commit: write all of its 40 or 64 lower-case hex digits"
        raise BadReference(SourceReason.INVALID_REFERENCE, text)
    return reference.name


def _invalid(text: str) -> BadReference:
    scheme, separator, rest = text.partition("://")
    authority = rest.partition("/")[0]
    if separator and "@" in authority and (scheme in ("http", "https") or ":" in authority.rpartition("@")[0]):
        words = f"git repository {quoted(without_query(text))} contains a user or a password: put them into the Secret of auth"
        return BadReference(SourceReason.INVALID_REFERENCE, words)
    shown = without_query(without_login(text))
    return BadReference(SourceReason.INVALID_REFERENCE, f"git repository {quoted(shown)} cannot be read: {_FORMS}")
