"""The record of a Catalog's content on disk. Part of the World, of the state file and of what replicas exchange. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """The content of a Catalog on disk: `ref`, the source that was requested (DesiredSource.identity), and what it resolved to.

    `resolved_ref` names the content by digest, for people. `resolved` is status.resolvedSource. `validator` is sent to an http
    source to ask whether it has changed. `unpacked` is when the content was loaded. `uid` is the uid of the Catalog. `access` is
    the versions of the Secrets (DesiredSource.credential_versions) with which the source has proved that it has the content.
    Both are "" in records of earlier versions. `packages` are the packages that the Catalog offers of its content (spec.packages,
    sorted), None for all; `packages_changed` is when that changed last, "" if it never has. `signed_by` is the value of
    status.signedBy; empty if signatures are not verified.
    """

    ref: str
    resolved_ref: str
    digest: str
    unpacked: str
    resolved: Mapping[str, Any] = field(default_factory=dict)
    validator: str = ""
    uid: str = ""
    access: str = ""
    packages: tuple[str, ...] | None = None
    packages_changed: str = ""
    signed_by: Mapping[str, str] = field(default_factory=dict)

    def belongs_to(self, uid: str) -> bool:
        """Report whether this is the record of the Catalog with this uid, not of a deleted Catalog of the same name."""
        return self.uid in ("", uid)

    def offers(self, package: str) -> bool:
        """Report whether the Catalog offers this package of its content."""
        return self.packages is None or package in self.packages
