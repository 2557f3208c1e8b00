"""Installations without an Operator: BundleDeployments of a package that nothing owns.

`kubectl delete --cascade=orphan` of an Operator leaves one, and so does a backup that is restored without Operators. A
command that shows Operators, or is given the name of one, says what is installed, and the command that takes it over. Changes
nothing. To a user who may not read BundleDeployments nothing is said about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import click

from olmctl.commands import NOT_FOUND, CommandError
from olmctl.operators.operator_state import is_terminating, part, text_at
from olmctl.operators.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import PACKAGE_ANNOTATION
from olmkit.api.meta import Object
from olmkit.api.ownership import OPERATOR_CONTROLLER, has_applied
from olmkit.errors import ApiError, NotFound


@dataclass(frozen=True)
class LeftInstallation:
    """A BundleDeployment of a package that nothing owns."""

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
    def is_taken_over(self) -> bool:
        """True if an Operator of its name and package takes it over without a request: operator-controller has made it."""
        return bool(self.package) and has_applied(self.deployment, OPERATOR_CONTROLLER, "f:spec", "f:template")

    @property
    def command(self) -> str:
        """The command that has an Operator take it over."""
        name = f" --name {self.name}" if self.name != self.package else ""
        return f"olm install {self.package}{name}{'' if self.is_taken_over else ' --adopt'}"

    @property
    def sentence(self) -> str:
        """The sentence that describes it and names the command."""
        version = text_at(self.deployment, "status", "installed", "version")
        what = " ".join(filter(None, (f"package {self.package}", version)))
        text = f"keeps {what} installed without an Operator" if version else f"of {what} has no Operator"
        return clean(f"BundleDeployment {self.name} {text}: `{self.command}` takes it over")

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
    """All of them by name; none if the user may not list BundleDeployments."""
    try:
        listed, _ = await session.client.list(bundledeployments.KIND)
    except ApiError:
        return []
    found = [LeftInstallation(each) for each in listed if is_unowned(each)]
    return sorted((each for each in found if each.package), key=lambda each: each.name)


async def left_installation(session: Session, name: str) -> LeftInstallation | None:
    """The one of that name; None if there is none, or if the user may not read it."""
    try:
        found = await session.client.get(bundledeployments.KIND, name)
    except ApiError:
        return None
    left = LeftInstallation(found)
    return left if is_unowned(found) and left.package else None


def with_left(operators: Mapping[str, Sequence[Object]], left: Iterable[LeftInstallation]) -> dict[str, list[Object]]:
    """The Operators by package, and what is installed without one as if an Operator reported it."""
    found = {package: list(known) for package, known in operators.items()}
    for each in left:
        found.setdefault(each.package, []).append(each.operator)
    return found


def is_unowned(deployment: Object) -> bool:
    """Report whether no object owns a BundleDeployment that is to stay."""
    return controlling_owner(deployment) is None and not is_terminating(deployment)


def controlling_owner(deployment: Object) -> Object | None:
    """The owner reference of the object that controls a BundleDeployment; None if nothing does."""
    owners = part(deployment, "metadata", "ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def report_left_installations(found: Iterable[LeftInstallation]) -> None:
    """Name each on stderr, with the command that takes it over."""
    for each in found:
        click.echo(f"note: {each.sentence}", err=True)


async def operator_named(session: Session, name: str) -> Object:
    """The Operator of that name. Raises NotFound; CommandError with NOT_FOUND if it has left what it had installed."""
    try:
        return await session.client.get(operators.KIND, name)
    except NotFound as error:
        left = await left_installation(session, name)
        if left is None:
            raise
        raise CommandError(NOT_FOUND, f"there is no Operator {name}, but {left.sentence}") from error
