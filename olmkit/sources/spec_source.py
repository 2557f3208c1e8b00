"""The source that a spec asks for, as a Source, and the Secrets and ConfigMaps that it refers to.

For Catalogs and Bundles, whose specs have a member for each type of source. Does not read the cluster. Pure. Jobs do not import
it, because it knows the models of the API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from olmkit.api import content
from olmkit.api.content import SourceType
from olmkit.api.signatures import Verification
from olmkit.errors import Blocked
from olmkit.sources.credentials import missing_secret
from olmkit.sources.errors import quoted
from olmkit.sources.source import (
    GitReference,
    GitSource,
    HttpSource,
    ImageSource,
    RefKind,
    Source,
    clean_directory,
)

SECRET, CONFIG_MAP = "Secret", "ConfigMap"
BLOCKED = "Blocked"
"""The reason of the errors: a change of the spec, or of what it refers to, is necessary."""


class ImageSpec(Protocol):
    """The member of type image."""

    @property
    def ref(self) -> str: ...

    @property
    def pull_secret(self) -> str | None: ...

    @property
    def verify(self) -> Verification | None: ...


class HttpSpec(Protocol):
    """The member of type http."""

    @property
    def url(self) -> str: ...

    @property
    def checksum(self) -> str | None: ...

    @property
    def auth(self) -> content.SourceAuth | None: ...


class SourceSpec(Protocol):
    """The source of a spec: `type`, and a member for each type."""

    @property
    def type(self) -> SourceType: ...

    @property
    def image(self) -> ImageSpec | None: ...

    @property
    def git(self) -> content.GitSource | None: ...

    @property
    def http(self) -> HttpSpec | None: ...

    @property
    def config_maps(self) -> Sequence[content.ConfigMapSource] | None: ...


@dataclass(frozen=True)
class InputReference:
    """A Secret or ConfigMap of the system namespace that a source refers to."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def missing_inputs(missing: Sequence[InputReference], namespace: str) -> Blocked:
    """The error for Secrets and ConfigMaps that do not exist, which are one at least."""
    errors = [missing_secret(each.name, namespace) for each in missing if each.kind == SECRET]
    if names := list(dict.fromkeys(each.name for each in missing if each.kind != SECRET)):
        kinds, them = (CONFIG_MAP, "it") if len(names) == 1 else (f"{CONFIG_MAP}s", "them")
        what = f"{kinds} {', '.join(map(quoted, names))}"
        text = f'{what} not found in namespace "{namespace}": create {them} there'
        errors.append(Blocked(BLOCKED, text, [f"{CONFIG_MAP} {name}" for name in names]))
    subject = [name for error in errors for name in error.subject]
    return Blocked(errors[0].reason, "; ".join(error.message for error in errors), subject)


def input_references(source: SourceSpec) -> Sequence[InputReference]:
    """The Secrets and ConfigMaps that a source refers to."""
    found = [InputReference(SECRET, name)] if (name := secret_name(source)) else []
    if source.type == SourceType.CONFIG_MAPS:
        found += [InputReference(CONFIG_MAP, each.config_map.name) for each in source.config_maps or ()]
    return found + list(verification_references(source))


def verification_of(source: SourceSpec) -> Verification | None:
    """The policy for the signatures of the image; None if signatures are not verified."""
    return source.image.verify if source.type == SourceType.IMAGE and source.image is not None else None


def verification_references(source: SourceSpec) -> Sequence[InputReference]:
    """The Secrets and ConfigMaps with the keys and roots that signatures are verified with."""
    verification = verification_of(source)
    return references_of(verification) if verification is not None else ()


def references_of(verification: Verification) -> Sequence[InputReference]:
    """The Secrets and ConfigMaps that a policy refers to."""
    found: list[InputReference] = []
    for authority in verification.authorities:
        key = authority.key
        if key is not None and key.secret is not None:
            found.append(InputReference(SECRET, key.secret.name))
        if key is not None and key.config_map is not None:
            found.append(InputReference(CONFIG_MAP, key.config_map.name))
        if authority.keyless is not None and authority.keyless.trust_root.config_map is not None:
            found.append(InputReference(CONFIG_MAP, authority.keyless.trust_root.config_map.name))
    return list(dict.fromkeys(found))


def secret_name(source: SourceSpec) -> str:
    """The Secret with the credentials, "" for none."""
    match source.type:
        case SourceType.IMAGE if source.image is not None:
            return source.image.pull_secret or ""
        case SourceType.GIT if source.git is not None:
            auth = source.git.auth
        case SourceType.HTTP if source.http is not None:
            auth = source.http.auth
        case SourceType.CHART:  # of Bundles alone
            auth = getattr(getattr(source, "chart", None), "auth", None)
        case _:
            return ""
    return auth.secret.name if auth is not None and auth.secret is not None else ""


def source_of(source: SourceSpec) -> Source | None:
    """The source for the job; None for ConfigMaps, whose files are read when the job starts. Raises Blocked, BadReference."""
    match source.type:
        case SourceType.IMAGE if source.image is not None:
            return ImageSource(source.image.ref)
        case SourceType.GIT if source.git is not None:
            git = source.git
            insecure = git.auth is not None and git.auth.insecure_skip_verify
            return GitSource(
                git.repository,
                _reference(git.ref.branch, git.ref.tag, git.ref.commit),
                clean_directory(git.directory or ""),
                insecure,
            )
        case SourceType.HTTP if source.http is not None:
            http = source.http
            insecure = http.auth is not None and http.auth.insecure_skip_verify
            return HttpSource(http.url, http.checksum or "", insecure)
        case SourceType.CONFIG_MAPS if source.config_maps:
            for each in source.config_maps:
                clean_directory(each.path or "", "path")
            return None
    raise Blocked(BLOCKED, f"set spec.source.{source.type}: a source of type {source.type} needs it", [source.type])


def _reference(branch: str | None, tag: str | None, commit: str | None) -> GitReference:
    for kind, name in ((RefKind.COMMIT, commit), (RefKind.TAG, tag), (RefKind.BRANCH, branch)):
        if name:
            return GitReference(kind, name)
    raise Blocked(BLOCKED, "set one of branch, tag and commit in spec.source.git.ref", ["ref"])
