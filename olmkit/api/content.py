"""Fields that Catalogs and Bundles share: sources, the phase, and the resolved source. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from olmkit.api.meta import Model
from olmkit.api.patterns import (
    CHART_NAME,
    CHART_REPOSITORY,
    CHECKSUM,
    COMMIT,
    OBJECT_NAME,
    REF_NAME,
    RELATIVE_PATH,
    REPOSITORY,
    URL,
)


def _rules(*rules: tuple[str, str]) -> dict[str, Any]:
    """CEL rules for the schema, from (rule, message)."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]}


def _matches(pattern: str, message: str) -> dict[str, Any]:
    """A pattern with a message; the API server's own message contains only the pattern."""
    return _rules((f"self.matches(r'{pattern}')", message))


_REF_NAME_RULE = (
    f"self.matches(r'{REF_NAME}')"
    " && !self.contains('..') && !self.contains('//') && !self.contains('/.') && !self.contains('@{')"
    " && !self.endsWith('/') && !self.endsWith('.') && !self.endsWith('.lock') && self != '@'",
    "must be a name that git allows for a branch or a tag, such as main or v1.2.0",
)
_RELATIVE = _matches(RELATIVE_PATH, "must be a relative path without empty parts and '..', such as team/catalog")


class Phase(StrEnum):
    """A summary of the state, as in the OpenShift 4.14 guide."""

    PENDING = "Pending"
    UNPACKING = "Unpacking"
    UNPACKED = "Unpacked"
    FAILING = "Failing"


class SourceType(StrEnum):
    """The kinds of sources."""

    IMAGE = "image"
    GIT = "git"
    HTTP = "http"
    CONFIG_MAPS = "configMaps"
    UPLOAD = "upload"
    CHART = "chart"


def source_rules(*members: SourceType) -> tuple[tuple[str, str], ...]:
    """CEL for a source with these members: exactly the member that `type` names must be set."""
    return tuple(
        (
            f"(self.type == '{member}') == has(self.{member})",
            f"source.{member} must be set for source type {member}, and for no other type",
        )
        for member in members
    )


PullSecret = Annotated[str, Field(max_length=253, pattern=OBJECT_NAME)]
PULL_SECRET_DESCRIPTION = (
    "Name of a Secret in the suite's namespace with credentials for the registry, of type"
    " kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg. It is sent only to the hosts that it names."
)


class SecretReference(Model):
    """A Secret in the suite's namespace."""

    name: Annotated[str, Field(max_length=253, pattern=OBJECT_NAME)] = Field(description="Name of the Secret.")


class SourceAuth(Model):
    """The login, and whether to verify the server."""

    secret: SecretReference | None = Field(
        default=None,
        description=(
            "A Secret in the suite's namespace: type kubernetes.io/basic-auth (username, password) for http and https, or"
            " ssh-privatekey and ssh-knownhosts for ssh. Its annotation olm.operatorframework.io/source-hosts names the"
            " hosts that it is sent to; it is sent to no other. Over plain HTTP, and with insecureSkipVerify, a user and a"
            " password are sent only to hosts that the annotation olm.operatorframework.io/insecure-source-hosts also names."
        ),
    )
    insecure_skip_verify: bool = Field(
        default=False,
        description="Accept any TLS certificate, or any ssh host key. Anyone on the network path can then replace the content.",
    )


class GitRef(Model):
    """The commit: exactly one of the three fields."""

    model_config = ConfigDict(
        json_schema_extra=_rules(
            (
                "[has(self.branch), has(self.tag), has(self.commit)].filter(given, given).size() == 1",
                "exactly one of branch, tag and commit must be set",
            )
        )
    )

    branch: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        default=None,
        description="Name of a branch, such as main. Its newest commit is used.",
        json_schema_extra=_rules(_REF_NAME_RULE),
    )
    tag: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        default=None, description="Name of a tag, such as v1.2.0.", json_schema_extra=_rules(_REF_NAME_RULE)
    )
    commit: Annotated[str, Field(max_length=64)] | None = Field(
        default=None,
        description="The full hash of a commit, 40 or 64 lower-case hex digits.",
        json_schema_extra=_matches(COMMIT, "must be all 40 or 64 lower-case hex digits of a commit"),
    )


class GitSource(Model):
    """A directory of a git repository. Submodules and Git LFS are not supported."""

    repository: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description=(
            "Address of the repository: https://host/path, http://host/path, ssh://user@host/path or user@host:path."
            " Username and password belong in a Secret."
        ),
        json_schema_extra=_matches(
            REPOSITORY,
            "must be https://host/path, http://host/path, ssh://user@host/path or user@host:path; user and password of http(s)"
            " belong in the Secret that auth.secret.name names",
        ),
    )
    ref: GitRef = Field(description="The commit: exactly one of branch, tag and commit.")
    directory: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None,
        description="The directory with the content, relative to the repository. Default: the whole repository.",
        json_schema_extra=_RELATIVE,
    )
    auth: SourceAuth | None = Field(default=None, description="The login.")


Checksum = Annotated[str, Field(max_length=71)]
CHECKSUM_RULES = _matches(CHECKSUM, "must be sha256: and the 64 lower-case hex digits that sha256sum prints")
"""json_schema_extra of a field of Checksum."""


class ArchiveLocation(Model):
    """The place of an archive on a web server."""

    url: Annotated[str, Field(min_length=1, max_length=2000)] = Field(
        description="Address of the archive, http or https. Username and password belong in a Secret.",
        json_schema_extra=_matches(
            URL,
            "must be https://host/path or http://host/path; user and password belong in the Secret that auth.secret.name names",
        ),
    )
    auth: SourceAuth | None = Field(default=None, description="The login.")


class HttpSource(ArchiveLocation):
    """An archive on a web server: tar, uncompressed, gzip or zstd, or zip."""

    checksum: Checksum | None = Field(
        default=None,
        description="Checksum of the archive: sha256:<64 hex digits>. Other content is refused, and the source is not polled.",
        json_schema_extra=CHECKSUM_RULES,
    )


class ChartSource(Model):
    """A Helm chart of a repository."""

    repository: Annotated[str, Field(min_length=1, max_length=2000)] = Field(
        description=(
            "Address of the repository: https://host/path or http://host/path, where index.yaml is, or oci://host/path, below"
            " which the chart is pushed. Username and password belong in a Secret."
        ),
        json_schema_extra=_matches(
            CHART_REPOSITORY,
            "must be https://host/path, http://host/path or oci://host/path; user and password belong in the Secret that"
            " auth.secret.name names",
        ),
    )
    name: Annotated[str, Field(max_length=253, pattern=CHART_NAME)] = Field(description="Name of the chart.")
    version: Annotated[str, Field(max_length=512)] | None = Field(
        default=None,
        description=(
            "A version, or a range such as 1.x or >=1.2.0 <2.0.0. The newest version that matches is chosen once and kept."
            " Default: the newest that is no prerelease."
        ),
    )
    auth: SourceAuth | None = Field(default=None, description="The login.")


class ConfigMapReference(Model):
    """A ConfigMap in the suite's namespace."""

    name: Annotated[str, Field(max_length=253, pattern=OBJECT_NAME)] = Field(description="Name of the ConfigMap.")


class ConfigMapSource(Model):
    """The keys of one ConfigMap as files."""

    config_map: ConfigMapReference = Field(
        description="The ConfigMap, in the suite's namespace. Its keys become files."
    )
    path: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None,
        description="Directory for its files, relative to the root of the content. Default: the root.",
        json_schema_extra=_RELATIVE,
    )


ConfigMapSources = Annotated[list[ConfigMapSource], Field(min_length=1, max_length=64)]
CONFIG_MAPS_RULES = _rules(
    (
        "self.all(one, self.exists_one(other, other.configMap.name == one.configMap.name))",
        "a ConfigMap may be named once only",
    )
)
"""json_schema_extra of a field of ConfigMapSources."""


class ResolvedImage(Model):
    """The image that was unpacked."""

    ref: str = Field(description="Image reference by digest.")


class ResolvedGit(Model):
    """The commit that was unpacked."""

    repository: str = Field(description="Address of the repository.")
    commit: str = Field(description="The commit by its full hash.")
    directory: str | None = Field(default=None, description="The directory; absent for the whole repository.")


class ResolvedHttp(Model):
    """The archive that was unpacked."""

    url: str = Field(description="Address of the archive, without a query.")
    digest: str = Field(description="sha256 of the archive.")


class ResolvedConfigMaps(Model):
    """The ConfigMaps that were unpacked."""

    digest: str = Field(description="sha256 over the paths and contents of all files.")


class ResolvedChart(Model):
    """The version of a chart that was unpacked."""

    repository: str = Field(description="Address of the repository, without a query.")
    name: str = Field(description="Name of the chart.")
    version: str = Field(description="Its version.")
    url: str = Field(description="Address of the archive, or of the chart in its registry, without a query.")
    digest: str = Field(description="sha256 of the archive, or digest of the manifest in the registry.")


class ResolvedUpload(Model):
    """The archive that was uploaded."""

    digest: str = Field(description="sha256 of the archive.")


class ResolvedSource(Model):
    """The exact source of the unpacked content."""

    type: str = Field(description="Kind of source.")
    image: ResolvedImage | None = Field(default=None, description="The image by digest.")
    git: ResolvedGit | None = Field(default=None, description="The commit.")
    http: ResolvedHttp | None = Field(default=None, description="The archive.")
    config_maps: ResolvedConfigMaps | None = Field(default=None, description="The ConfigMaps.")
    upload: ResolvedUpload | None = Field(default=None, description="The archive that was uploaded.")
    chart: ResolvedChart | None = Field(default=None, description="The version of the chart.")
