"""`olm bundle upgrade IMAGE|DIRECTORY`: change what `olm bundle run` has installed to another version of the package.

The edges of the new bundle have to reach the installed version, as in a catalog. How the bundle is installed stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmctl.bundle.edges import edge_problem
from olmctl.bundle.install_options import safety_settings
from olmctl.bundle.installed_output import print_installed
from olmctl.bundle.installing import Request, install
from olmctl.bundle.run_installations import NothingRun, run_installation
from olmctl.bundle.source import BundleSource, read_source
from olmctl.commands import FAILED, NOT_FOUND, REFUSED, CommandError, warn
from olmctl.operators.session import on_cluster
from olmctl.questions.left_installations import LeftInstallation
from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.questions.own_fields import merged, own_spec
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api.bundledeployment_status import RevisionOutcome

_GIVEN = ("provisionerClassName", "template")
"""Fields of spec that the new bundle sets."""


@on_cluster
async def upgrade(session: Session, bundle: str, name: str | None, force: bool, seconds: float, **options: Any) -> int:
    """Upgrade what `olm bundle run` has installed to the bundle of a directory or an image."""
    asked = safety_settings(options)
    source = await read_source(bundle, options, options["pull_secret"])
    found = await _installation(session, source, name, is_forced=force)
    spec = own_spec(found.deployment)
    source = source.with_secret_of(spec)
    source.check_found(is_forced=force)
    problem = upgrade_problem(source, found)
    if problem and not force:
        raise CommandError(REFUSED, clean(f"{problem}: --force upgrades nevertheless"))
    if problem:
        warn(source.warning or clean(problem))
    request = Request(found.name, source, merged(_settings(spec), asked), force, seconds)
    await print_installed(session, source, await install(session, request))
    return 0


async def _installation(
    session: Session, source: BundleSource, name: str | None, *, is_forced: bool
) -> LeftInstallation:
    """The installation to upgrade. Raises CommandError."""
    try:
        found = await run_installation(session, name or source.package or source.name, source.package)
    except NothingRun as error:
        source.check_found(is_forced=is_forced)
        if problem := unknown_package(source, name):
            raise CommandError(FAILED, clean(problem)) from error
        raise CommandError(NOT_FOUND, f"{error}{other_way(error)}") from error
    if is_terminating(found.deployment):
        raise CommandError(FAILED, f"BundleDeployment {found.name} is being deleted: olm bundle run installs it again")
    return found


def other_way(error: NothingRun) -> str:
    """The command that helps instead, to follow the error; "" if `olm` has none."""
    if error.operator:
        return f": olm upgrade {error.operator} upgrades it"
    return "; olm bundle run installs it" if error.is_free else ""


def unknown_package(source: BundleSource, name: str | None) -> str:
    """Explain why it is not known what the image upgrades; "" if it is, or was named."""
    if name or source.unread is None:
        return ""
    return f"{source.unread.message}: the package of {source.shown} is not known: name the installation with --name"


def upgrade_problem(source: BundleSource, found: LeftInstallation) -> str:
    """Explain why the bundle is no upgrade of what is installed; "" if it is one, or nothing is known against it."""
    installed = part(found.deployment, "status", "installed")
    name, version = text_at(installed, "name"), text_at(installed, "version")
    if found.package and source.owner is not None and found.package != source.package:
        return f"{source.shown} is {source.owner}, and {found.name} of package {found.package}"
    if source.facts is None:
        cause = f" ({source.unread.message})" if source.unread else ""
        return "" if source.archive is not None else f"the upgrades to {source.shown} are not known here{cause}"
    if source.facts.registry is None or installed is None:
        return ""
    if not name:
        return f"the name of the installed bundle of {found.name} is not known"
    newest = next(iter(part(found.deployment, "status", "history") or ()), None)
    has_failed = text_at(newest, "name") == name and text_at(newest, "outcome") == RevisionOutcome.FAILED
    return edge_problem(source.facts.edges, name, version, has_failed=has_failed)


def _settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in _GIVEN}
