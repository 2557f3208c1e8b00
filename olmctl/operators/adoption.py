"""Decides what `olm install` does about a BundleDeployment that is there before its Operator.

An Operator takes over what operator-controller has made for one of its name and package; anything else of its name is taken over
only if a person asks for it, by an annotation of the BundleDeployment.
"""

from __future__ import annotations

import click

from olmctl.commands import FAILED, NOT_FOUND, REFUSED, CommandError
from olmctl.operators.left_installations import LeftInstallation, controlling_owner, left_installations
from olmctl.operators.operator_state import is_protected, is_terminating, text_at
from olmctl.operators.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object
from olmkit.api.operators import ADOPT, ADOPT_ANNOTATION, DELETION_PROTECTION_ANNOTATION, PROTECTED
from olmkit.errors import ApiError, NotFound

_OTHER_NAME = "choose another name with --name"


async def request_adoption(
    session: Session, package: str, name: str, operator: Object | None, *, is_dry_run: bool
) -> bool:
    """Have the Operator of that name and package, which may exist already, take over the BundleDeployment of its name.

    Returns False if the Operator owns it already. Raises CommandError if there is none, or if it is not for the Operator to take.
    """
    try:
        found = await session.client.get(bundledeployments.KIND, name)
    except NotFound as error:
        raise CommandError(NOT_FOUND, f"there is no BundleDeployment {name} to take over") from error
    owner = controlling_owner(found)
    if operator is not None and text_at(owner, "uid") == operator["metadata"]["uid"]:
        return False
    if is_terminating(found):
        raise CommandError(FAILED, f"BundleDeployment {name} is being deleted: run the command again when it is gone")
    _check_owner(found, owner, package)
    _report_protection(found, operator)
    metadata = {"resourceVersion": found["metadata"]["resourceVersion"], "annotations": {ADOPT_ANNOTATION: ADOPT}}
    if not is_dry_run:
        await session.client.patch(bundledeployments.KIND, name, {"metadata": metadata})
    return True


async def check_left_installations(session: Session, package: str, name: str) -> None:
    """Say so if a new Operator of that name and package takes a BundleDeployment over. What the user may not read is not checked.

    Raises CommandError if one keeps the Operator from installing the package.
    """
    try:
        found = await session.client.get(bundledeployments.KIND, name)
    except ApiError:
        await _check_other_names(session, package)
        return
    owner = controlling_owner(found)
    if is_terminating(found) or (text_at(owner, "kind"), text_at(owner, "name")) == (operators.KIND.kind, name):
        return  # the Operator waits until it is gone
    _check_owner(found, owner, package)
    if not LeftInstallation(found).is_taken_over:
        text = f"BundleDeployment {name} exists, and no Operator owns it"
        raise CommandError(REFUSED, f"{text}: --adopt has this one take it over, or {_OTHER_NAME}")
    click.echo(f"note: BundleDeployment {name}, which keeps what it has installed, is taken over", err=True)
    _report_protection(found, None)


async def _check_other_names(session: Session, package: str) -> None:
    """Raises CommandError if the package is installed under another name: a second installation would find its objects."""
    for each in await left_installations(session):
        if each.package == package:
            raise CommandError(REFUSED, f"{each.sentence}; --force installs it under another name")


def _check_owner(deployment: Object, owner: Object | None, package: str) -> None:
    """Raises CommandError for a BundleDeployment that has an owner, or is of another package."""
    found = LeftInstallation(deployment)
    if owner is not None:
        text = f"belongs to {owner.get('kind')} {owner.get('name')}"
    elif found.package not in ("", package):
        text = f"is of package {found.package}"
    else:
        return
    raise CommandError(REFUSED, clean(f"BundleDeployment {found.name} exists and {text}: {_OTHER_NAME}"))


def _report_protection(deployment: Object, operator: Object | None) -> None:
    """Say how it stays protected: from now on the annotation of the Operator counts."""
    if is_protected(deployment) and not (operator is not None and is_protected(operator)):
        name, kind = deployment["metadata"]["name"], operators.KIND
        command = f"kubectl annotate {kind.plural}.{kind.group} {name} {DELETION_PROTECTION_ANNOTATION}={PROTECTED}"
        text = f"BundleDeployment {name} is protected from deletion, which ends when the Operator takes it over"
        click.echo(f"note: {text}: `{command}` protects it again", err=True)
