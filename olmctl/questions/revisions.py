"""The revisions of what Operators have installed, as their BundleDeployments record them."""

from __future__ import annotations

from collections.abc import Iterable

from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.operator_state import part
from olmctl.questions.session import Session
from olmkit.api.meta import Object


async def with_revisions(session: Session, operators: Iterable[Object]) -> list[Object]:
    """Of each Operator: its name, the number of the revision that is installed, and the history of its BundleDeployment."""
    found = []
    for each in operators:
        deployment = await bundle_deployment_of(session, each)
        status = {"revision": part(deployment, "status", "revision"), "history": part(deployment, "status", "history")}
        found.append({"name": each["metadata"]["name"], **{key: value for key, value in status.items() if value}})
    return found
