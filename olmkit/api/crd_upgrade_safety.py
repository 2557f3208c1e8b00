"""The settings of the check of CustomResourceDefinition upgrades: the policy, and the rules that are ignored.

Part of the spec of Operators and BundleDeployments (olmkit.api.install_settings). Pure.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.api.meta import Model


class CrdUpgradeSafety(Model):
    """The settings of the check of CustomResourceDefinitions before a bundle is installed over another one."""

    policy: Literal["IfUsed", "Enforce", "None"] | None = Field(
        default=None,
        description=(
            "IfUsed: a bundle is not installed if it changes a CustomResourceDefinition in a way that a custom resource on the"
            " cluster does not survive: one loses data, or is not valid by the new schema. Enforce: it is not installed if a rule"
            " is broken, whether custom resources exist or not. None: it is installed without these checks. Default: IfUsed."
        ),
    )
    ignored_rules: Annotated[list[CrdUpgradeRule], Field(max_length=len(CrdUpgradeRule))] | None = Field(
        default=None,
        description=(
            "Rules that do not prevent the installation. If one of them is broken, the custom resources on the cluster still"
            " have to be valid by the new schema, unless existing-object-invalid is ignored too, and may not lose data by it,"
            " unless existing-object-loses-data is."
        ),
    )
