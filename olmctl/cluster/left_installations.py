"""BundleDeployments that operator-controller has made and that no Operator owns: what `kubectl delete --cascade=orphan` leaves.

Called by `olm list`, which shows Operators alone. Changes nothing; a user who may not read BundleDeployments gets no note.
"""

from __future__ import annotations

import click

from olmctl.cluster.operator_state import is_terminating, part, text_at
from olmctl.cluster.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import PACKAGE_ANNOTATION
from olmkit.api.meta import Object
from olmkit.api.ownership import OPERATOR_CONTROLLER, has_applied
from olmkit.errors import ApiError


async def report_left_installations(session: Session) -> None:
    """Name each on stderr, with the command that installs an Operator for it again."""
    for found in await _left(session):
        package = text_at(found, "spec", "template", "metadata", "annotations", PACKAGE_ANNOTATION)
        name = found["metadata"]["name"]
        if package:
            command = f"olm install {package}" + (f" --name {name}" if name != package else "")
            text = f"BundleDeployment {name} keeps package {package} installed without an Operator"
            click.echo(clean(f"note: {text}: `{command}` takes it over"), err=True)


async def _left(session: Session) -> list[Object]:
    try:
        listed, _ = await session.client.list(bundledeployments.KIND, metadata_only=True)
        names = sorted(each["metadata"]["name"] for each in listed if _is_left(each))
        return [await session.client.get(bundledeployments.KIND, name) for name in names]
    except ApiError:
        return []


def _is_left(obj: Object) -> bool:
    owners = part(obj, "metadata", "ownerReferences") or ()
    is_owned = any(owner.get("controller") for owner in owners) or is_terminating(obj)
    return not is_owned and has_applied(obj, OPERATOR_CONTROLLER, "f:spec", "f:template")
