"""The part of the status of a BundleDeployment about permissions that its ServiceAccount lacks. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from olmkit.api.meta import Model

MAX_MISSING_RULES = 100
"""Entries of status.missingPermissions.rules."""
MAX_MISSING_BYTES = 64 * 1024
"""UTF-8 bytes of their texts."""


class MissingRule(Model):
    """A rule of RBAC that the ServiceAccount lacks, as in a Role."""

    namespace: str | None = Field(default=None, description="Namespace of the Role; absent for a ClusterRole.")
    api_groups: list[str] | None = Field(default=None, description="API groups.")
    resources: list[str] | None = Field(default=None, description="Resources.")
    resource_names: list[str] | None = Field(default=None, description="Names of the objects; absent for all.")
    non_resource_urls: list[str] | None = Field(
        default=None, alias="nonResourceURLs", description="Paths of the API server."
    )
    verbs: list[str] = Field(description="Verbs.")


class MissingPermissions(Model):
    """The permissions that the ServiceAccount of a BundleDeployment lacks to install its bundle."""

    service_account: str = Field(description="The ServiceAccount, as namespace/name.")
    rules: Annotated[list[MissingRule], Field(max_length=MAX_MISSING_RULES)] = Field(
        description="The rules to add to Roles of its namespaces, and to a ClusterRole."
    )
    truncated: bool | None = Field(default=None, description="True if there are more of them.")
