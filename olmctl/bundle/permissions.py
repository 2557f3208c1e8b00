"""`olm bundle permissions NAME|IMAGE|DIRECTORY`: print the roles that an account needs to install a bundle.

The bundle of a directory or an image is rendered without a cluster, that of the BundleDeployment NAME as it is installed: from
its summary if an Operator has it, else from its image. The rules are those that rukpak asks for before it applies anything.
Changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olmctl.bundle.directory import read_directory
from olmctl.bundle.install_options import account_of
from olmctl.bundle.pulled_image import OPTIONS, pulled
from olmctl.commands import FAILED, CommandError
from olmctl.directory_files import check_directory, is_directory_meant
from olmctl.object_text import as_json, as_yaml, object_list
from olmctl.operators.bundle_reader import summary_or_image
from olmctl.operators.session import on_cluster
from olmctl.questions.bundle_summaries import deployment_summaries
from olmctl.questions.permissions import bundle_roles, installed_roles
from olmctl.questions.session import Session
from olmctl.terminal_output import say, write_document
from olmkit.api.impersonation import Account
from olmkit.api.meta import Object
from olmkit.errors import OlmError, Waiting
from rukpak.format import Bundle
from rukpak.permissions.missing import bindings

_FROM_STATUS = (
    "if a BundleDeployment NAME has it, `olm bundle permissions NAME` prints the rules that its account lacks, from "
    "status.missingPermissions"
)
"""The other way to these rules, for an image that cannot be reached."""


def permissions(
    source: str, namespace: str | None, service_account: str | None, output: str, *, exists: bool, **given: Any
) -> int:
    """Print the roles that an account needs to install the bundle, and their bindings if the account is named."""
    account = account_of(service_account, namespace) if service_account else None
    options = {key: given.pop(key) for key in OPTIONS}
    try:
        if (Path(source) / "Chart.yaml").is_file():
            text = f"{source} is a Helm chart, which is rendered on a cluster: apply a BundleDeployment of it, and give its name"
            raise CommandError(FAILED, text)
        is_name = "/" not in source and ":" not in source and not Path(source).is_dir()
        if not is_name and is_directory_meant(source):
            check_directory(Path(source))
            needed = bundle_roles(read_directory(Path(source)), Path(source).resolve().name, namespace, exists=exists)
        elif not is_name:
            needed = bundle_roles(_pulled(source, options), "bundle", namespace, exists=exists)
        else:
            return _of_installed(name=source, account=account, output=output, options=options, **given)
    except OlmError as error:
        raise CommandError(FAILED, error.message) from error
    _print(needed.roles, account, output)
    return 0


def _pulled(image: str, options: Mapping[str, Any]) -> Bundle:
    try:
        return pulled(image, options, read_directory)
    except Waiting as error:
        raise CommandError(FAILED, f"{error.message}; {_FROM_STATUS}") from error


@on_cluster
async def _of_installed(
    session: Session, *, name: str, account: Account | None, output: str, options: Mapping[str, Any]
) -> int:
    """Print those of a BundleDeployment."""
    read = summary_or_image(await deployment_summaries(session, name), options, session)
    needed = await installed_roles(session, name, read)
    for note in needed.notes:
        say(f"note: {note}", err=True)
    _print(needed.roles, account or needed.account, output)
    return 0


def _print(made: Sequence[Object], account: Account | None, output: str) -> None:
    bound = [*made, *(bindings(made, account) if account is not None else ())]
    if output == "json":
        write_document(as_json(object_list(bound)))
    else:
        write_document("---\n".join(map(as_yaml, bound)))
