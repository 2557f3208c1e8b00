"""A Namespace, and what it is to a BundleDeployment: part of a World.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from olmkit.api.bundledeployment_status import KEEP_ANNOTATION
from olmkit.api.bundledeployments import MEMBER_LABEL_PREFIX, RELEASED_ANNOTATION


def member_label(uid: str) -> str:
    """The label of a Namespace that the BundleDeployment of this uid installs into."""
    return MEMBER_LABEL_PREFIX + uid


@dataclass(frozen=True)
class OtherMember:
    """Another BundleDeployment that exists and installs into a Namespace, by a label of the Namespace or by its own record."""

    name: str
    is_labeled: bool
    """True if the Namespace has its label."""
    is_recorded: bool
    """True if its status records that rukpak created the Namespace."""


@dataclass(frozen=True)
class NamespaceInfo:
    """A Namespace, and in a World what it is to the BundleDeployment."""

    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    applied_fields: Mapping[str, str] = field(default_factory=dict)
    last_changed_by: str = ""
    """The field manager of others that wrote to it last."""
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    is_member: bool = False
    """True if the BundleDeployment installs into it: the Namespace has its label, and an apply of its field manager."""
    is_created: bool = False
    """True if a status records that rukpak created it: that of the BundleDeployment, or of another one."""
    others: tuple[OtherMember, ...] = ()
    """By name."""
    is_left_behind: bool = False
    """True if it has the label of a BundleDeployment that does not exist: objects of that one may be in it."""

    is_required: bool = False
    """True if a BundleDeployment with the namespacePolicy MustExist names it: the one in whose World it is, or another one."""

    @property
    def members(self) -> frozenset[str]:
        """The uids in its labels. Anybody may have written or copied one: that keeps a Namespace, and never deletes it."""
        prefix = MEMBER_LABEL_PREFIX
        return frozenset(label.removeprefix(prefix) for label in self.labels if label.startswith(prefix))

    @property
    def is_kept(self) -> bool:
        """True if it is kept by an annotation."""
        return self.annotations.get(KEEP_ANNOTATION) == "true"

    @property
    def released_by(self) -> str:
        """The BundleDeployment that had it, if it was released."""
        return self.annotations.get(RELEASED_ANNOTATION, "")
