"""The target of a BundleDeployment: the Bundle that is brought or kept, and how it is installed.

It is what spec asks for. After a rollback of exactly that it is the last good revision, until spec asks for something else. It
follows from spec and status alone, so that each process brings the same: the status is written before the first write that
depends on it.

    newest revision of status.history                 target                    its revision
    rolled or rolling back, and what spec asks for    the newest good revision  that one
    of this Bundle and options, not rolled back       what spec asks for        the newest
    another one, or there is none                     what spec asks for        none yet

The name of a Bundle has few digits of its template's hash, and who publishes images can find another template with the same ones.
So a name that is known with another spec is the name of that Bundle alone.

A revision of a registry+v1 bundle has an OperatorCondition if the cluster serves that kind when it begins. It keeps what it
began with, so that nothing is restarted when the kind appears or disappears.

Never reads the cluster. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import orjson

from olmkit.api.bundledeployment_status import MAX_REVISIONS, Revision, RevisionOutcome
from olmkit.api.bundledeployments import BundleDeployment, BundleDeploymentSpec, install_fields, template_spec
from olmkit.api.install_policies import ON_FAILURE
from olmkit.api.install_settings import UNREVISIONED
from olmkit.api.provisioner_classes import PLAIN, REGISTRY
from rukpak.render.install_options import InstallOptions

HASH_LENGTH = 6
_BACK = (RevisionOutcome.ROLLING_BACK, RevisionOutcome.ROLLED_BACK)
_ATTEMPTS = 3 * MAX_REVISIONS
"""Names of one template: more than other Bundles can have taken."""


@dataclass(frozen=True)
class Target:
    """The Bundle that is installed or kept, and its options."""

    bundle: str
    """The name of the Bundle."""
    options: InstallOptions
    revision: Revision | None = None
    """Its revision in the status; None: none has begun."""
    is_rolled_back: bool = False
    """True if it is an earlier revision than the one that spec asks for."""


def target_of(raw: Mapping[str, Any], deployment: BundleDeployment, *, has_conditions: bool = False) -> Target:
    """The target of a BundleDeployment as read. `has_conditions`: the cluster serves OperatorConditions."""
    asked = Target(_asked_bundle(raw, deployment), InstallOptions.of(deployment.spec))
    is_registry = deployment.spec.template.spec.provisioner_class_name == REGISTRY
    new = replace(asked, options=replace(asked.options, operator_condition=has_conditions and is_registry))
    history = revisions_of(deployment)
    newest = history[0] if history else None
    if newest is None:
        return new
    if newest.outcome in _BACK:
        good = last_good(history)
        if good is None or newest.asked != asked_digest(raw):
            return new
        return Target(good.bundle, options_of(good), good, is_rolled_back=True)
    recorded = options_of(newest)
    if (newest.bundle, replace(recorded, operator_condition=False)) == (asked.bundle, asked.options):
        return Target(asked.bundle, recorded, newest)
    return new


def _asked_bundle(raw: Mapping[str, Any], deployment: BundleDeployment) -> str:
    """The name of the Bundle that spec asks for: the one that it is known by, else the first one that no other spec has."""
    name, template, wanted = deployment.metadata.name, template_spec(dict(raw)), deployment.spec.template.spec
    installed = deployment.status.installed
    known = (*(deployment.status.history or ()), *((installed,) if installed is not None else ()))
    names = [bundle_name(name, template, attempt) for attempt in range(_ATTEMPTS)]
    taken = {one.bundle for one in known}
    own = (one.bundle for one in known if one.spec == wanted and one.bundle in names)
    return next(chain(own, (each for each in names if each not in taken)), names[0])


def fallback_of(deployment: BundleDeployment, target: Target) -> Revision | None:
    """The revision that is brought back if the target fails; None: there is none, or the target has succeeded."""
    has_succeeded = target.revision is not None and target.revision.outcome == RevisionOutcome.SUCCEEDED
    if deployment.spec.rollback != ON_FAILURE or target.is_rolled_back or has_succeeded:
        return None
    return last_good(revisions_of(deployment))


def revisions_of(deployment: BundleDeployment) -> tuple[Revision, ...]:
    """The revisions of the status, without those of which another version of rukpak, or somebody else, has written options that
    cannot be read: nothing is brought, kept or brought back by them."""
    return tuple(one for one in deployment.status.history or () if _is_readable(one))


def _is_readable(revision: Revision) -> bool:
    try:
        options_of(revision)
    except (TypeError, ValueError):
        return False
    return True


def last_good(history: Sequence[Revision]) -> Revision | None:
    """The newest revision that succeeded."""
    return next((one for one in history if one.outcome == RevisionOutcome.SUCCEEDED), None)


def options_of(revision: Revision) -> InstallOptions:
    """The options with which a revision was installed. Raises TypeError or ValueError for a text that cannot be read."""
    fields = {
        "provisionerClassName": PLAIN,
        "template": {"spec": revision.spec.dump()},
        **orjson.loads(revision.install),
    }
    options = InstallOptions.of(BundleDeploymentSpec.load(fields))
    return replace(options, operator_condition=revision.operator_condition is not None)


def install_text(raw: Mapping[str, Any]) -> str:
    """The options with which spec asks to install, as a revision records them."""
    fields = {name: value for name, value in install_fields(dict(raw)).items() if name not in UNREVISIONED}
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()


def asked_digest(raw: Mapping[str, Any]) -> str:
    """The digest of what spec asks for: the Bundle, and everything about how it is installed."""
    return hashlib.sha256(f"{_json(template_spec(dict(raw)))}{install_text(raw)}".encode()).hexdigest()[:16]


def bundle_name(deployment: str, template: Mapping[str, Any], attempt: int = 0) -> str:
    """`<deployment>-<hash>`: the Bundle of a template's spec as read. Labels and annotations do not make another Bundle. Each
    attempt has another hash."""
    hashed = f"{_json(template)}{attempt or ''}"
    return f"{deployment}-{hashlib.sha256(hashed.encode()).hexdigest()[:HASH_LENGTH]}"


def _json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
