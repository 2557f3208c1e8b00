"""Finds what `olm bundle run` has installed, for the commands that upgrade or remove it: a BundleDeployment that nothing owns and
that `olm` has applied itself. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from olmctl.commands import NOT_FOUND, REFUSED, CommandError
from olmctl.questions.left_installations import LeftInstallation, controlling_owner
from olmctl.questions.operator_state import text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.meta import Object


async def run_installation(session: Session, text: str) -> LeftInstallation:
    """The one of that name, else the only one of that package. Raises CommandError, Forbidden."""
    listed, _ = await session.client.list(bundledeployments.KIND)
    return chosen(listed, text)


def chosen(listed: Sequence[Object], text: str) -> LeftInstallation:
    """The same among BundleDeployments. Raises CommandError: NOT_FOUND if there is none, with what has the package instead."""
    known = sorted((LeftInstallation(each) for each in listed), key=lambda each: each.name)
    related = [each for each in known if text in (each.name, each.package)]
    own = [each for each in related if each.is_run and controlling_owner(each.deployment) is None]
    named = [each for each in own if each.name == text] or own
    if len(named) > 1:
        names = ", ".join(each.name for each in named)
        raise CommandError(REFUSED, f"package {clean(text)} is installed several times: name one of {names}")
    if named:
        return named[0]
    raise CommandError(NOT_FOUND, clean(_nothing(text, related)))


def _nothing(text: str, others: Sequence[LeftInstallation]) -> str:
    nothing = f"nothing of {text} was installed with olm bundle run"
    if not others:
        return nothing
    owner = controlling_owner(others[0].deployment)
    if owner is None:
        return f"{nothing}: BundleDeployment {others[0].name} was made by others"
    kind, name = text_at(owner, "kind"), text_at(owner, "name")
    return f"{nothing}: BundleDeployment {others[0].name} belongs to {kind} {name}"
