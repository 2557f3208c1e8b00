"""`olm diff OPERATOR [VERSION]`: what another version would change, without installing it.

Both bundles are rendered as rukpak renders them, and compared with each other; CustomResourceDefinitions are compared with those
on the cluster. Changes nothing. Ends as `kubectl diff` does: 0 without a difference, 1 with one, above 1 after an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmctl.commands import FAILED, CommandError, status_of
from olmctl.diff.objects import object_changes
from olmctl.diff.permissions import gained, permissions
from olmctl.operators.diff_output import Difference, as_value, print_text
from olmctl.operators.installed_objects import bundle_deployment_of
from olmctl.operators.left_installations import operator_named
from olmctl.operators.output import print_object
from olmctl.operators.planned_bundle import (
    Cluster,
    current_spec,
    has_operator_condition,
    rendered,
    running_bundle,
    wanted_bundle,
    wanted_spec,
)
from olmctl.operators.planned_definitions import definitions_of, planned_definitions
from olmctl.operators.session import Session, on_cluster
from olmkit.errors import ApiError, OlmError
from rukpak.format.objects import BundleObject

DIFFERENT, ERROR = 1, 2
"""Exit statuses; others are those of all commands."""


@on_cluster
async def diff(session: Session, operator: str, version: str | None, output: str | None, **options: Any) -> int:
    """Show what VERSION would change on the cluster if OPERATOR had it; nothing is changed."""
    try:
        found = await _difference(session, operator, version, options)
    except ApiError as error:
        raise CommandError(max(status_of(error), ERROR), error.message) from error
    except (OlmError, CommandError) as error:
        raise CommandError(max(getattr(error, "status", FAILED), ERROR), str(error)) from error
    if output in ("json", "yaml"):
        print_object(as_value(found), output)
    else:
        print_text(found)
    return DIFFERENT if found.has_changes else 0


async def _difference(session: Session, name: str, version: str | None, options: Mapping[str, Any]) -> Difference:
    operator = await operator_named(session, name)
    deployment = await bundle_deployment_of(session, operator)
    running = running_bundle(deployment)
    wanted = await wanted_bundle(session, operator, deployment, version)
    spec, cluster = wanted_spec(operator, wanted.image), await Cluster.of(session)
    new = await rendered(wanted.image, spec, name, cluster, options)
    before: Sequence[BundleObject] = ()
    if running is not None and deployment is not None:
        has_condition = has_operator_condition(deployment)
        old = await rendered(
            running.image, current_spec(deployment), name, cluster, options, has_condition=has_condition
        )
        before = old.ready.manifests
    after = new.ready.manifests
    planned = await planned_definitions(
        session, definitions_of(after), spec.crd_upgrade_safety, definitions_of(before), new.awaited_definitions
    )
    was, will = permissions(before), permissions(after)
    return Difference(
        operator=name,
        old_version=running.version if running is not None else "",
        new_version=wanted.version,
        refusals=(*new.ready.faults, *filter(None, [new.ready.too_old, planned.verdict.failure])),
        missing_kinds=new.ready.missing,
        objects=tuple(object_changes(before, after)),
        gained=tuple(gained(was, will)),
        lost=tuple(gained(will, was)),
        definitions=planned.changes,
        notes=planned.verdict.notes,
    )
