"""The status of an Operator: what operator_controller reports about it. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from olmkit.api.meta import ConditionedStatus, Model
from olmkit.api.reported_failure import MAX_FAILURE_MESSAGE_BYTES, ReportedFailure

MAX_DEPENDENCIES = 100
"""Entries of status.dependencies."""
MAX_RESOLUTION_LENGTH = 32_768
MAX_NAMED = 256
"""Entries of each list of status.failure, and of status.deprecations.channels."""
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


class WantedBundle(Model):
    """The bundle that is wanted: the chosen one; while that waits, the one that is requested or runs."""

    name: str = Field(description="Name of the bundle in its catalog.")
    version: str = Field(description="Its version.")
    image: str = Field(description="Its image.")
    applied: bool = Field(
        description="Whether its objects are applied as spec says, all of them and last. They may be unhealthy. False while the "
        "one that runs is not permitted by spec, and another one waits."
    )


class InstalledHealth(Model):
    """The health of what is installed: the condition Healthy of the BundleDeployment."""

    status: Literal["True", "False", "Unknown"] = Field(
        description="True: healthy. False: objects have failed, or were not healthy in time. Unknown: they are rolling out, or "
        "cannot be read."
    )
    reason: str = Field(description="Healthy, Unhealthy, Progressing or ObjectLookupFailure.")
    message: Annotated[str, Field(max_length=MAX_FAILURE_MESSAGE_BYTES)] = Field(
        description="The objects that are not healthy, and why."
    )


class Failure(ReportedFailure):
    """The reason why what spec asks for is not installed, or not healthy, with the values that it is about."""

    package: str | None = Field(default=None, description="The package.")
    version: str | None = Field(default=None, description="The versions that spec accepts: spec.version.")
    channels: Annotated[list[str], Field(max_length=MAX_NAMED)] | None = Field(
        default=None, description="The channels that spec names; absent if it names none, or all of them."
    )
    catalogs: Annotated[list[str], Field(max_length=MAX_NAMED)] | None = Field(
        default=None, description="The Catalogs that it concerns, sorted."
    )
    installed_version: str | None = Field(default=None, description="The version that is installed.")


class DeprecatedChannel(Model):
    """A channel that its publisher has deprecated."""

    name: str = Field(description="Name of the channel.")
    message: str = Field(description="The message of the publisher.")


class KnownDeprecations(Model):
    """The deprecations of the package, of the channels that are followed, and of the bundle."""

    known: bool = Field(
        description="False while no bundle is found, and while the content of its catalog is not known: then the conditions stay "
        "as they were. The other fields are absent meanwhile."
    )
    package: str | None = Field(
        default=None, description="The message about the package; absent if it is not deprecated."
    )
    channels: Annotated[list[DeprecatedChannel], Field(max_length=MAX_NAMED)] | None = Field(
        default=None,
        description="The channels that are followed and deprecated. If all channels are followed: of all of them.",
    )
    bundle: str | None = Field(
        default=None,
        description="The message about the installed bundle; before, about the one to install. Absent if it is not deprecated.",
    )


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
    wanted: WantedBundle | None = Field(
        default=None, description="The bundle that is wanted, and whether it is applied; absent while there is none."
    )
    health: InstalledHealth | None = Field(
        default=None,
        description="Whether what is installed is healthy, also if spec asks for something else; absent while nothing is "
        "installed.",
    )
    failure: Failure | None = Field(
        default=None,
        description="Why what spec asks for is not installed, or not healthy; absent while nothing has failed.",
    )
    deprecations: KnownDeprecations | None = Field(
        default=None,
        description="What the publisher has deprecated; absent until the request is resolved for the first time.",
    )
    dependencies: Annotated[list[RequiredPackage], Field(max_length=MAX_DEPENDENCIES)] | None = Field(
        default=None, description="The packages that satisfy requirements of the chosen bundle, by name."
    )
    resolution: Annotated[str | None, Field(max_length=MAX_RESOLUTION_LENGTH)] = Field(
        default=None,
        description="One sentence: the version that was chosen, its channel and catalog, and the number of versions considered; "
        "if none was chosen, why.",
    )
