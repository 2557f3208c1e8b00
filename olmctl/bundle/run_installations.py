"""Finds what `olm bundle run` has installed, for the commands that upgrade or remove it: a BundleDeployment that nothing owns and
that `olm` has applied itself. Changes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from olmctl.commands import NOT_FOUND, REFUSED, CommandError
from olmctl.questions.left_installations import LeftInstallation
from olmctl.questions.operator_state import text_at
from olmctl.questions.packages import installed_packages
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object, controlling_owner
from olmkit.errors import Forbidden


class NothingRun(CommandError):
    """Nothing of the package or name was installed with `olm bundle run`; the message names what is there instead."""

    def __init__(self, message: str, operator: str = "", *, is_free: bool = False) -> None:
        """`operator`: the name of the Operator that has it, as an owner reference has it; `is_free`: True if nobody has it."""
        super().__init__(NOT_FOUND, clean(message))
        self.operator = shlex.quote(clean(operator)) if operator else ""
        """A word of a command line."""
        self.is_free = is_free


async def run_installation(session: Session, text: str, package: str = "") -> LeftInstallation:
    """The one of that name, else the only one of that package. Raises CommandError, NothingRun among them, and Forbidden.
    `package`: that of the bundle, if the text is a name."""
    listed, _ = await session.client.list(bundledeployments.KIND)
    try:
        return chosen(listed, text)
    except NothingRun as error:
        package = package or text
        if error.is_free and (name := await _operator_of(session, package)):
            raise NothingRun(f"{error}: package {package} is that of Operator {name}", name) from error
        raise


async def _operator_of(session: Session, package: str) -> str:
    """The name of an Operator of the package, installed or not; "" if there is none, or the user may not list Operators."""
    try:
        found = (await installed_packages(session)).get(package)
    except Forbidden:
        return ""
    return text_at(found[0], "metadata", "name") if found else ""


def chosen(listed: Sequence[Object], text: str) -> LeftInstallation:
    """The same among BundleDeployments. Raises CommandError, and NothingRun with what has the package instead."""
    known = sorted((LeftInstallation(each) for each in listed), key=lambda each: each.name)
    related = [each for each in known if text in (each.name, each.package)]
    own = [each for each in related if each.is_run and controlling_owner(each.deployment) is None]
    named = [each for each in own if each.name == text] or own
    if len(named) > 1:
        names = ", ".join(each.name for each in named)
        raise CommandError(REFUSED, f"package {clean(text)} is installed several times: name one of {names}")
    if named:
        return named[0]
    raise _nothing(text, related)


def _nothing(text: str, others: Sequence[LeftInstallation]) -> NothingRun:
    nothing = f"nothing of {text} was installed with olm bundle run"
    if not others:
        return NothingRun(nothing, is_free=True)
    owner = controlling_owner(others[0].deployment)
    if owner is None:
        return NothingRun(f"{nothing}: BundleDeployment {others[0].name} was made by others")
    kind, name = text_at(owner, "kind"), text_at(owner, "name")
    place = f"{nothing}: BundleDeployment {others[0].name} belongs to {kind} {name}"
    return NothingRun(place, name if kind == operators.KIND.kind else "")
