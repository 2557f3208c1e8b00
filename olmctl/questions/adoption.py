"""Decides what a new Operator means for a BundleDeployment that is there before it.

An Operator takes over what operator-controller has made for one of its name and package; anything else of its name is taken over
only if a person asks for it, by an annotation of the BundleDeployment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmctl.questions.errors import NothingFound, QuestionError, Refused
from olmctl.questions.left_installations import LeftInstallation, left_installations
from olmctl.questions.operator_state import is_protected, is_terminating, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object, controlling_owner
from olmkit.api.operators import ADOPT, ADOPT_ANNOTATION, DELETION_PROTECTION_ANNOTATION, PROTECTED
from olmkit.errors import ApiError, NotFound

_OTHER_NAME = "choose another name with --name"


@dataclass(frozen=True)
class Adoption:
    """The BundleDeployment that an Operator is to take over: `patch` requests it."""

    patch: Object
    notes: tuple[str, ...]
    """Sentences about what changes with it."""


async def adoption_of(session: Session, package: str, name: str, operator: Object | None) -> Adoption | None:
    """The adoption of the BundleDeployment of that name by the Operator of that name and package, which may exist already.

    None if the Operator owns it already. Raises QuestionError if there is none, or if it is not for the Operator to take.
    """
    try:
        found = await session.client.get(bundledeployments.KIND, name)
    except NotFound as error:
        raise NothingFound(f"there is no BundleDeployment {name} to take over") from error
    owner = controlling_owner(found)
    if operator is not None and text_at(owner, "uid") == operator["metadata"]["uid"]:
        return None
    if is_terminating(found):
        raise QuestionError(f"BundleDeployment {name} is being deleted: run the command again when it is gone")
    _check_owner(found, owner, package)
    metadata = {"resourceVersion": found["metadata"]["resourceVersion"], "annotations": {ADOPT_ANNOTATION: ADOPT}}
    return Adoption({"metadata": metadata}, tuple(_protection(found, operator)))


async def taken_over(session: Session, package: str, name: str) -> tuple[str, ...]:
    """Sentences about a BundleDeployment that a new Operator of that name and package takes over without a request. What the user
    may not read is not checked. Raises Refused if one keeps the Operator from installing the package."""
    try:
        found = await session.client.get(bundledeployments.KIND, name)
    except ApiError:
        await _check_other_names(session, package)
        return ()
    owner = controlling_owner(found)
    if is_terminating(found) or (text_at(owner, "kind"), text_at(owner, "name")) == (operators.KIND.kind, name):
        return ()  # the Operator waits until it is gone
    _check_owner(found, owner, package)
    if not LeftInstallation(found).is_taken_over:
        text = f"BundleDeployment {name} exists, and no Operator owns it"
        raise Refused(f"{text}: --adopt has this one take it over, or {_OTHER_NAME}")
    text = f"BundleDeployment {name}, which keeps what it has installed, is taken over"
    return text, *_protection(found, None)


async def _check_other_names(session: Session, package: str) -> None:
    """Raises Refused if the package is installed under another name: a second installation would find its objects."""
    for each in await left_installations(session):
        if each.package == package:
            raise Refused(f"{each.sentence}; --force installs it under another name")


def _check_owner(deployment: Object, owner: Object | None, package: str) -> None:
    """Raises Refused for a BundleDeployment that has an owner, or is of another package."""
    found = LeftInstallation(deployment)
    if owner is not None:
        text = f"belongs to {owner.get('kind')} {owner.get('name')}"
    elif found.package not in ("", package):
        text = f"is of package {found.package}"
    else:
        return
    raise Refused(clean(f"BundleDeployment {found.name} exists and {text}: {_OTHER_NAME}"))


def _protection(deployment: Object, operator: Object | None) -> Iterator[str]:
    """Say how it stays protected: from now on the annotation of the Operator counts."""
    if is_protected(deployment) and not (operator is not None and is_protected(operator)):
        name, kind = deployment["metadata"]["name"], operators.KIND
        command = f"kubectl annotate {kind.plural}.{kind.group} {name} {DELETION_PROTECTION_ANNOTATION}={PROTECTED}"
        text = f"BundleDeployment {name} is protected from deletion, which ends when the Operator takes it over"
        yield f"{text}: `{command}` protects it again"
