"""The Operator that installs a package, and what is in its way on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olmctl.questions.adoption import taken_over
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.errors import NothingFound, QuestionError, Refused, after
from olmctl.questions.exclusions import FIELD, own_exclusions
from olmctl.questions.offered_versions import check_version
from olmctl.questions.operator_state import is_terminating, text_at
from olmctl.questions.owners import change_refusal
from olmctl.questions.packages import check_channels, installed_packages
from olmctl.questions.requested_fields import channel_fields, followed_channels
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.meta import Object
from olmkit.errors import NotFound


@dataclass(frozen=True)
class InstallRequest:
    """The package to install, and the name and the spec of its Operator."""

    package: str
    name: str
    spec: Mapping[str, Any]
    catalog: str | None = None
    """The only catalog that counts."""

    @property
    def manifest(self) -> Object:
        """The Operator to apply."""
        metadata = {"name": self.name}
        return {"apiVersion": operators.KIND.api_version, "kind": "Operator", "metadata": metadata, "spec": self.spec}

    def manifest_over(self, existing: Object | None) -> Object:
        """The same over an Operator that is there: the versions that `olm` excludes stay excluded."""
        excluded = own_exclusions(existing) if existing is not None else []
        return {**self.manifest, "spec": {**self.spec, **({FIELD: excluded} if excluded else {})}}


@dataclass(frozen=True)
class InstallCheck:
    """The result of a request. `problem`: why nothing would come of it; None if nothing is in the way."""

    notes: tuple[str, ...] = ()
    """Sentences about what a new Operator takes over."""
    problem: QuestionError | None = None


def install_request(package: str, name: str | None = None, **asked: Any) -> InstallRequest:
    """The request for a package. `asked`: version, channel (names), catalog, upgrade_constraint_policy, approval, namespace,
    namespace_policy, install_mode_policy, object_labels, adoption_policy, rollback and progress_deadline; what is empty is not
    in the spec."""
    catalog = asked.get("catalog")
    install = {
        "namespace": asked.get("namespace"),
        "namespacePolicy": asked.get("namespace_policy"),
        "installModePolicy": asked.get("install_mode_policy"),
        "objectLabels": dict(asked.get("object_labels") or ()),
        "adoptionPolicy": asked.get("adoption_policy"),
        "rollback": asked.get("rollback"),
        "progressDeadline": asked.get("progress_deadline"),
    }
    fields = {
        "version": asked.get("version"),
        **channel_fields(asked.get("channel") or ()),
        "catalogSelector": {"matchLabels": {NAME_LABEL: catalog}} if catalog else None,
        "upgradeConstraintPolicy": asked.get("upgrade_constraint_policy"),
        "approval": asked.get("approval"),
        "install": {key: value for key, value in install.items() if value},
    }
    spec = {"packageName": package, **{key: value for key, value in fields.items() if value}}
    return InstallRequest(package, name or operator_name(package), spec, catalog)


def operator_name(package: str) -> str:
    """The name of the Operator for a package: the package's, cut to the length that the API allows."""
    return package[: operators.MAX_NAME_LENGTH].rstrip("-.")


async def existing_operator(session: Session, request: InstallRequest) -> Object | None:
    """The Operator of the name of the request as it is. Raises Refused if it is that of another package, or belongs to a
    ClusterExtension."""
    try:
        found = await session.client.get(operators.KIND, request.name)
    except NotFound:
        return None
    package = text_at(found, "spec", "packageName")
    if package != request.package:
        raise Refused(f"an Operator {request.name} exists for package {package}: choose another name with --name")
    if not is_terminating(found) and (refusal := change_refusal(found)):
        raise Refused(refusal)
    return found


async def install_check(
    session: Session, request: InstallRequest, existing: Object | None, *, is_adopting: bool = False
) -> InstallCheck:
    """Check a request. `existing` is the Operator of its name; `is_adopting`: a BundleDeployment of its name is taken over by
    request. Raises ApiError."""
    notes: tuple[str, ...] = ()
    try:
        if existing is None:
            await _check_claim(session, request)
            if not is_adopting:
                notes = await taken_over(session, request.package, request.name)
    except QuestionError as error:
        return InstallCheck(problem=error)
    with after(notes, "note"):
        try:
            await _check_offer(session, request, existing)
        except QuestionError as error:
            return InstallCheck(notes, error)
    return InstallCheck(notes)


async def _check_claim(session: Session, request: InstallRequest) -> None:
    """Raises Refused if another Operator manages the package: a second one would never be resolved."""
    managing = [
        each for each in (await installed_packages(session)).get(request.package, ()) if not is_terminating(each)
    ]
    if managing:
        name = text_at(managing[0], "metadata", "name")
        text = f"package {request.package} is already managed by Operator {name}"
        instead = change_refusal(managing[0]) or f"change that one (olm upgrade {name})"
        raise Refused(f"{text}: {instead}")


async def _check_offer(session: Session, request: InstallRequest, existing: Object | None) -> None:
    """Raises NothingFound if no catalog, or not the one that is named, has the package, its channel or its version."""
    try:
        entries = await offered_entries(session, request.package, request.catalog)
    except NothingFound as error:
        raise NothingFound(f"{error.message}; --force installs it when a catalog has it") from error
    check_channels(entries, followed_channels(request.spec))
    await check_version(session, entries, request.spec.get("version", ""), existing)
