"""Installations without an Operator: BundleDeployments of a package that nothing owns.

`kubectl delete --cascade=orphan` of an Operator leaves one, so does a backup that is restored without Operators, and `olm bundle
run` makes one. A command that shows Operators, or is given the name of one, says what is installed, and the command that takes it
over or removes it. Changes nothing. To a user who may not read BundleDeployments nothing is said about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from olmctl.questions.errors import NothingFound
from olmctl.questions.operator_state import is_terminating, is_true, part, text_at
from olmctl.questions.session import FIELD_MANAGER, Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import PACKAGE_ANNOTATION, ConditionType
from olmkit.api.meta import Object
from olmkit.api.ownership import OPERATOR_CONTROLLER, has_applied
from olmkit.errors import ApiError, NotFound

DEPLOYMENT_RESOURCE = f"{bundledeployments.KIND.plural}.{bundledeployments.KIND.group}"
"""The name of BundleDeployments for kubectl."""


@dataclass(frozen=True)
class LeftInstallation:
    """A BundleDeployment that nothing owns, of a package or of none."""

    deployment: Object

    @property
    def name(self) -> str:
        """The name of the BundleDeployment, which the Operator that takes it over has to have."""
        return text_at(self.deployment, "metadata", "name")

    @property
    def package(self) -> str:
        """The package; "" if the BundleDeployment is of none."""
        return text_at(self.deployment, "spec", "template", "metadata", "annotations", PACKAGE_ANNOTATION)

    @property
    def is_left(self) -> bool:
        """True if it is of a package and stays, so that an Operator can take it over."""
        return bool(self.package) and not is_terminating(self.deployment)

    @property
    def is_taken_over(self) -> bool:
        """True if an Operator of its name and package takes it over without a request: operator-controller has made it."""
        return bool(self.package) and has_applied(self.deployment, OPERATOR_CONTROLLER, "f:spec", "f:template")

    @property
    def is_run(self) -> bool:
        """True if `olm bundle run` has made it: labels and annotations are copied, but a copy has not been applied."""
        return has_applied(self.deployment, FIELD_MANAGER, "f:spec", "f:template")

    @property
    def command(self) -> str:
        """The command that has an Operator take it over."""
        name = f" --name {self.name}" if self.name != self.package else ""
        return f"olm install {self.package}{name}{'' if self.is_taken_over else ' --adopt'}"

    @property
    def return_command(self) -> str:
        """The command that brings back the bundle that is installed, while another one is asked for and not Ready; "" if there is
        none. What runs, with its data, is then not to be removed."""
        installed = part(self.deployment, "status", "installed", "spec", "source")
        is_other = installed is not None and installed != part(self.deployment, "spec", "template", "spec", "source")
        if not (self.is_run and is_other) or is_true(self.deployment, "Ready"):
            return ""
        return f"olm bundle upgrade {text_at(installed, 'image', 'ref') or 'DIRECTORY'} --name {self.name}"

    @property
    def _earlier(self) -> str:
        return text_at(self.deployment, "status", "installed", "name") or "the installed bundle"

    @property
    def sentence(self) -> str:
        """The sentence that describes it and names the commands for it."""
        version = text_at(self.deployment, "status", "installed", "version")
        what = " ".join(filter(None, ("package" * bool(self.package), self.package, version)))
        state = f"keeps {what} installed without an Operator" if version else f"of {what} has no Operator"
        removal = [f"`olm bundle cleanup {self.name}` removes it"] * self.is_run
        ways = [f"`{self.return_command}` returns to {self._earlier}"] if self.return_command else removal
        ways += [f"`{self.command}` takes it over"] * bool(self.package)
        if is_terminating(self.deployment):
            ways = ["it is being deleted"]
        text = ": ".join(filter(None, (state if self.package else "has no Operator", ", and ".join(ways))))
        return clean(f"BundleDeployment {self.name} {text}")

    @property
    def next_steps(self) -> str:
        """The commands for its state, which are those of the sentence unless it needs a person. While an upgrade is refused, that
        is none that removes what runs; and an Operator of a bundle that is refused would help as little."""
        if is_terminating(self.deployment) or not (self.is_run and is_true(self.deployment, ConditionType.STALLED)):
            return self.sentence.partition(": ")[2]
        if self.return_command:
            return clean(f"`{self.return_command}` returns to {self._earlier}")
        again = "`olm bundle run` with another bundle or other options changes it"
        return clean(f"{again}, and `olm bundle cleanup {self.name}` removes it")

    @property
    def operator(self) -> Object:
        """The installation as the status of an Operator of the package would report it."""
        recorded = part(self.deployment, "status", "installed")
        installed = {key: text_at(recorded, key) for key in ("name", "version", "catalog", "channel")}
        return {
            "metadata": {"name": self.name},
            "spec": {"packageName": self.package},
            "status": {"installed": installed} if recorded else {},
        }


async def left_installations(session: Session) -> list[LeftInstallation]:
    """All of packages, by name; none if the user may not list BundleDeployments."""
    return [each for each in await unowned_installations(session) if each.is_left]


async def unowned_installations(session: Session) -> list[LeftInstallation]:
    """All of them by name, also of no package; none if the user may not list BundleDeployments."""
    try:
        listed, _ = await session.client.list(bundledeployments.KIND)
    except ApiError:
        return []
    found = (LeftInstallation(each) for each in listed if controlling_owner(each) is None)
    return sorted(found, key=lambda each: each.name)


async def unowned_installation(session: Session, name: str) -> LeftInstallation | None:
    """The one of that name, also of no package; None if there is none, or if the user may not read it."""
    try:
        found = await session.client.get(bundledeployments.KIND, name)
    except ApiError:
        return None
    return LeftInstallation(found) if controlling_owner(found) is None else None


def with_left(operators: Mapping[str, Sequence[Object]], left: Iterable[LeftInstallation]) -> dict[str, list[Object]]:
    """The Operators by package, and what is installed without one as if an Operator reported it."""
    found = {package: list(known) for package, known in operators.items()}
    for each in left:
        found.setdefault(each.package, []).append(each.operator)
    return found


def controlling_owner(deployment: Object) -> Object | None:
    """The owner reference of the object that controls a BundleDeployment; None if nothing does."""
    owners = part(deployment, "metadata", "ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


async def operator_named(session: Session, name: str) -> Object:
    """The Operator of that name. Raises NotFound; NothingFound if it has left what it had installed."""
    try:
        return await session.client.get(operators.KIND, name)
    except NotFound as error:
        left = await unowned_installation(session, name)
        if left is None or not (left.package or left.is_run):
            raise
        raise NothingFound(f"there is no Operator {name}, but {left.sentence}") from error
