"""`olm bundle upload NAME PATH`: send the archive of a Bundle whose source is `upload`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from olmctl.bundle.archive import archive_of
from olmctl.bundle.sending import send
from olmctl.commands import FAILED, NOT_FOUND, REFUSED, CommandError
from olmctl.operators.session import on_cluster
from olmctl.questions.operator_state import text_at
from olmctl.questions.session import Session
from olmctl.terminal_output import ProgressLine, say
from olmkit.api import bundledeployments, bundles
from olmkit.api.content import SourceType
from olmkit.api.meta import Object
from olmkit.errors import NotFound


@on_cluster
async def upload(session: Session, name: str, path: str) -> int:
    """Send the bundle in PATH, a directory or an archive, to the Bundle NAME."""
    archive = archive_of(Path(path))
    found = await read_bundle(session, name)
    wanted = check_bundle(found, archive.digest)
    line = ProgressLine()
    line.show(f"uploading {archive}")
    try:
        is_new = await send(session, name, archive, has_digest=bool(wanted))
    finally:
        line.end()
    say(sent(name, is_new=is_new))
    return 0


async def read_bundle(session: Session, name: str) -> Object:
    """The Bundle as it is. Raises CommandError with the name of its Bundle if there is a BundleDeployment of the name."""
    try:
        return await session.client.get(bundles.KIND, name)
    except NotFound as error:
        with suppress(NotFound):
            deployment = await session.client.get(bundledeployments.KIND, name)
            active = text_at(deployment, "status", "activeBundle")
            text = (
                f"{name} is a BundleDeployment, and its Bundle is {active}"
                if active
                else f"{name} is a BundleDeployment"
            )
            hint = f"kubectl get bundles -l {bundledeployments.OWNER_NAME_LABEL}={name} lists its Bundles"
            raise CommandError(NOT_FOUND, f"{text}: {hint}") from error
        raise


def sent(name: str, *, is_new: bool) -> str:
    """The line that says that the Bundle has its archive."""
    return f'successfully uploaded bundle content for "{name}"' if is_new else f'bundle "{name}" is already up-to-date'


def check_bundle(bundle: Object, digest: str) -> str:
    """The digest in the spec of the Bundle; "" if there is none. Raises CommandError if it takes no archive of this digest."""
    name, kind = text_at(bundle, "metadata", "name"), text_at(bundle, "spec", "source", "type")
    if kind != SourceType.UPLOAD:
        raise CommandError(FAILED, f"Bundle {name} has the source {kind}: only one of type upload takes an archive")
    wanted = text_at(bundle, "spec", "source", "upload", "digest")
    if wanted and wanted != digest:
        advice = "a Bundle cannot be changed: create another one, or change the template of its BundleDeployment (olm bundle run)"
        raise CommandError(REFUSED, f"Bundle {name} takes the archive {wanted}, and this one is {digest}; {advice}")
    return wanted
