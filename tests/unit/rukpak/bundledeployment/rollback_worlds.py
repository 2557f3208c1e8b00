"""Worlds of a BundleDeployment with rollback OnFailure: version 1 was installed, and version 2 is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.customresourcedefinitions import NO_WEBHOOK, Conversion
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle
from rukpak.bundledeployment.revisions.target import asked_digest, bundle_name
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    NAME,
    WORKLOAD,
    applied,
    bundle,
    installed,
    member,
    raw,
    rendered,
    revision,
    upgrading,
)

V1, V2 = "registry.example.com/ship:v1", "registry.example.com/ship:v2"
OLD, NEW = (bundle_name(NAME, raw(ref)["spec"]["template"]["spec"]) for ref in (V1, V2))
GOOD = revision(1, V1)
IN_PROGRESS, FAILED = revision(2, V2, "InProgress"), revision(2, V2, "Failed", reason="it crashes")
STARTING = Health("Unknown", "starts", timedelta(minutes=10))


def changed(seen: World, *history: Any, spec: dict[str, Any] | None = None, **status: Any) -> World:
    """The World with rollback OnFailure, other fields of spec and of the status, and this history."""
    obj = {
        **seen.raw,
        "spec": {**seen.raw["spec"], "rollback": "OnFailure", **(spec or {})},
        "status": {**seen.raw["status"], "history": list(history), **status},
    }
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def half_way(*history: Any, **spec: Any) -> World:
    """Version 2 is being applied, and version 1 is active."""
    seen = upgrading()
    return replace(changed(seen, *history, spec=spec), fallback_content=seen.active_content)


def running(*history: Any, **spec: Any) -> World:
    """All objects of version 2 are applied, and it is active."""
    seen = applied(upgrading())
    seen = changed(seen, *history, spec=spec, activeBundle=NEW, revision=2)
    return replace(seen, fallback_content=upgrading().active_content, active_content=MissingContent())


def rolled_back(seen: World, outcome: str = "RollingBack") -> World:
    """The same cluster after the rollback was recorded."""
    record = revision(2, V2, outcome, reason="it crashes", asked=asked_digest(seen.raw))
    after = changed(seen, record, GOOD)
    assert after.target_bundle == OLD
    is_active = after.active_bundle == OLD
    new = MissingContent() if is_active else seen.content
    return replace(after, content=seen.fallback_content, fallback_content=MissingContent(), active_content=new)


def brought_back(outcome: str = "RollingBack") -> World:
    """Version 1 is installed again, and its Bundle is the only one."""
    after = rolled_back(running(FAILED, GOOD), outcome)
    after = replace(after, last_applied=installed().last_applied, bundles={OLD: bundle(OLD)})
    history = [one.dump() for one in after.deployment.status.history or ()]
    return changed(after, *history, activeBundle=OLD, revision=1)


def unwell(seen: World, health: Health) -> World:
    """The workload is in another state."""
    return replace(seen, labeled={**seen.labeled, WORKLOAD: member(WORKLOAD, health=health)})


def serving(versions: Sequence[str], conversion: Conversion = NO_WEBHOOK) -> RenderedBundle:
    """Version 1, whose CRD serves these versions, and converts so."""
    content = rendered(bundle=OLD)
    phases = [
        replace(
            phase,
            objects=tuple(
                replace(item, versions=item.versions._replace(served=tuple(versions), conversion=conversion))
                if item.key == DEFINITION
                else item
                for item in phase.objects
            ),
        )
        for phase in content.phases
    ]
    return replace(content, phases=tuple(phases))
