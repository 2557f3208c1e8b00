"""The evaluation of an Operator's spec, on which `decide` acts and which `report` reports: one value of a closed set.

    Outstanding   what the evaluation depends on will be known in a moment: the status stays as it is
    Unanswered    there is no answer of resolution, and why
    Refused       the answer selects no bundle
    Kept          what runs stays: its catalog offers nothing that could replace it
    Held          what runs or is requested stays until a person permits the selected bundle, or resumes the Operator
    Selected      the bundle to install

Values only; decide.py makes them. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.api.conditions import DesiredCondition
from olmkit.api.failures import FailureReason
from olmkit.api.operator_status import RequiredPackage
from olmkit.api.operators import Reason
from olmkit.errors import OlmError, Waiting
from operator_controller.operator.pause_and_approval import Hold
from operator_controller.operator.world import CreateDependency, ObservedBundleDeployment, RecordPlan
from operator_controller.resolve.answers.answer import AvailableUpgrade, RefusalFacts, SelectedBundle
from operator_controller.resolve.answers.deprecations import Deprecations

INSTALLATION_NOT_ATTEMPTED = "installation has not been attempted as resolution failed"
"""The message of Installed while resolution has failed and there is no BundleDeployment."""


@dataclass(frozen=True)
class SuccessorRecord:
    """The record of the catalog that replaces a deleted one. It is written to the BundleDeployment before anything else
    changes."""

    to_apply: Mapping[str, Any] | None
    """The BundleDeployment with the record; None if the existing one has it."""


@dataclass(frozen=True)
class Consequences:
    """The consequences of an answer, in addition to the bundle that it selects or refuses. The defaults mean no consequences."""

    dependencies: Sequence[RequiredPackage] = ()
    """The packages that satisfy the requirements of the bundle."""
    available: AvailableUpgrade | None = None
    """An upgrade that another reason than a Hold keeps from being installed."""
    deprecations: Deprecations | None = None
    """The deprecations of the package, channel and bundle; None if they are not known."""
    to_record: RecordPlan | None = None
    """The record of the plan of a moving set to write or to remove."""
    kept_note: str = ""
    """The reason why a dependency is kept although nothing requires it; empty if it is required or is not a dependency."""
    successor_note: str = ""
    """The sentence that names the Catalog that replaces a deleted one; empty if no Catalog does."""
    successor: SuccessorRecord | None = None
    """The record of the successor; None if no catalog replaces a deleted one, or if no separate record is needed."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of the existing BundleDeployment and the running bundle with the desired ones."""

    to_apply: Mapping[str, Any] | None
    """The BundleDeployment to apply; None if the existing one does not differ from it, or if it cannot be applied now."""
    current_deployment: ObservedBundleDeployment | None
    """The existing BundleDeployment, if it is as desired and its status reports on its current spec."""
    runs_template: bool
    """True if the running bundle is the bundle of the existing BundleDeployment's template."""
    runs_image: bool
    """True if the image of the resolved bundle runs, on any registry."""


@dataclass(frozen=True)
class Outstanding:
    """The evaluation depends on something that will be known within seconds."""

    blocker: Waiting


@dataclass(frozen=True)
class Unanswered:
    """There is no answer: the Operator needs none, the present request has none yet, or resolution failed."""

    resolved: DesiredCondition
    blocker: OlmError
    not_attempted: str
    """The message of Installed while there is no BundleDeployment."""
    failure: FailureReason | None = None
    """None while the request is being resolved."""

    @property
    def explanation(self) -> str:
        """The message of Ready and status.resolution."""
        return self.blocker.message

    @property
    def consequences(self) -> Consequences:
        """No consequences, because there is no answer."""
        return Consequences()


@dataclass(frozen=True)
class Refused:
    """The answer selects no bundle. The running bundle stays."""

    resolved: DesiredCondition
    explanation: str
    blocker: OlmError
    consequences: Consequences
    refusal: RefusalFacts | None
    """The facts of the answer; None if nothing is requested."""
    paused_note: str
    """The note that the Operator is paused; empty if it is not paused."""


@dataclass(frozen=True)
class Kept:
    """The running bundle stays, because its catalog is not available or offers no bundle that could replace it."""

    resolved: DesiredCondition
    explanation: str
    consequences: Consequences
    image: str
    """Image of the running bundle."""
    ready_reason: Reason
    """Reason of Ready while the bundle is healthy."""
    blocker: OlmError | None
    """The reason why the BundleDeployment cannot be written now."""
    comparison: Comparison


@dataclass(frozen=True)
class Held:
    """A Hold is on the selected bundle. The installed or requested bundle stays, as if no better bundle had been found."""

    resolved: DesiredCondition
    explanation: str
    consequences: Consequences
    image: str
    """The image of the requested bundle; the image of the selected bundle if no bundle is requested."""
    hold: Hold
    blocker: OlmError | None
    """The reason why the BundleDeployment cannot be written now."""
    comparison: Comparison


@dataclass(frozen=True)
class Selected:
    """The answer selects a bundle, which may be the running one."""

    resolved: DesiredCondition
    explanation: str
    consequences: Consequences
    bundle: SelectedBundle
    short_reason: str
    """The rule that selected the bundle, in a few words."""
    to_create: CreateDependency | None
    """The Operator to create for a package that the bundle requires."""
    blocker: OlmError | None
    """The reason why the bundle cannot be installed now."""
    comparison: Comparison


Resolved = Kept | Held | Selected
"""A bundle was found."""
Reported = Unanswered | Refused | Resolved
Evaluation = Outstanding | Reported
