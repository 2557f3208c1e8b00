"""The status of an Operator: what operator_controller reports about it. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from olmkit.api.meta import ConditionedStatus, Model

MAX_DEPENDENCIES = 100
"""Entries of status.dependencies."""
MAX_RESOLUTION_LENGTH = 32_768
MAX_FINDINGS = 20
"""Entries of status.available.crdCheck.findings."""
MAX_FINDING_LENGTH = 512


class ProvidedApi(Model):
    """A kind that the installed bundle provides."""

    group: str = Field(description="API group.")
    version: str = Field(description="API version.")
    kind: str = Field(description="Kind.")
    display_name: str | None = Field(
        default=None, description="Name of the kind for people, if its publisher gives one."
    )


class InstalledBundle(Model):
    """The bundle that is installed."""

    name: str = Field(description="Name of the bundle in its catalog.")
    version: str = Field(description="Its version.")
    catalog: str | None = Field(default=None, description="The Catalog that it came from.")
    channel: str | None = Field(default=None, description="The channel it was chosen from.")
    apis: list[ProvidedApi] = Field(default_factory=list, description="Kinds that it provides.")


class CrdFinding(Model):
    """A rule that a CustomResourceDefinition of a bundle breaks."""

    crd: str = Field(description="Name of the CustomResourceDefinition on the cluster.")
    rule: str = Field(description="The rule, as spec.install.crdUpgradeSafety names it.")
    refuses: str = Field(
        description="Always: the bundle is refused for it. IfUsed: it is refused if a custom resource is concerned."
    )
    message: Annotated[str, Field(max_length=MAX_FINDING_LENGTH)] = Field(
        description="The versions, fields and changes."
    )


class CrdCheck(Model):
    """The CustomResourceDefinitions of a bundle that waits, compared with those on the cluster."""

    result: str = Field(
        description="Refused: the bundle would be refused. IfUsed: custom resources on the cluster decide, which olm diff reads. "
        "NotRefused: no rule refuses it."
    )
    findings: Annotated[list[CrdFinding], Field(max_length=MAX_FINDINGS)] | None = Field(
        default=None, description="The rules that refuse it, or may refuse it, by CustomResourceDefinition."
    )
    more: int | None = Field(default=None, description="How many more there are, if not all are listed.")


class AvailableBundle(Model):
    """A bundle that waits to be installed, and why."""

    version: str = Field(description="Its version.")
    bundle: str = Field(description="Name of the bundle in its catalog.")
    image: str = Field(description="Its image.")
    catalog: str = Field(description="The Catalog that offers it.")
    channel: str = Field(description="The channel it was chosen from.")
    reason: str = Field(
        description="Why it waits: ApprovalRequired, Paused, OperatorConditionNotUpgradeable, RequirementsNotSatisfied, "
        "NotInstallable, VersionExcluded or NoUpgradeEdge."
    )
    message: Annotated[str, Field(max_length=MAX_RESOLUTION_LENGTH)] = Field(
        description="What it waits for, and why it was chosen."
    )
    crd_check: CrdCheck | None = Field(
        default=None,
        description="Whether the rules about CustomResourceDefinitions would refuse it, by spec.install.crdUpgradeSafety; absent "
        "until its image has been read, and if it cannot be.",
    )


class RequiredPackage(Model):
    """A requirement of the chosen bundle that another package satisfies."""

    package: str = Field(description="The package.")
    version: str = Field(description="Its version.")
    bundle: str = Field(description="Name of its bundle in the catalog.")
    operator: str | None = Field(default=None, description="The Operator for the package; absent if there is none yet.")
    installed: bool = Field(description="Whether that bundle is installed.")
    requirement: Annotated[str, Field(max_length=1024)] = Field(description="What requires it.")


class OperatorStatus(ConditionedStatus):
    """Observed state."""

    wanted_version: str | None = Field(
        default=None,
        description="The version that was chosen; spec.version while none is.",
    )
    resolved_bundle_resource: str | None = Field(default=None, description="Image of the bundle that was chosen.")
    installed_bundle_resource: str | None = Field(default=None, description="Image of the bundle that is installed.")
    installed: InstalledBundle | None = Field(default=None, description="The bundle that is installed.")
    available: AvailableBundle | None = Field(
        default=None,
        description="The bundle that waits: for approval, the end of a pause, or the OperatorCondition of the installed one.",
    )
    dependencies: Annotated[list[RequiredPackage], Field(max_length=MAX_DEPENDENCIES)] | None = Field(
        default=None, description="The packages that satisfy requirements of the chosen bundle, by name."
    )
    resolution: Annotated[str | None, Field(max_length=MAX_RESOLUTION_LENGTH)] = Field(
        default=None,
        description="One sentence: the version that was chosen, its channel and catalog, and the number of versions considered; "
        "if none was chosen, why.",
    )
