"""Decides what an upgrade leaves of a CustomResourceDefinition until the pods of the new version convert its custom resources.

Such a definition is applied twice: with the others, in a form that keeps what is held; and with the webhooks, as the bundle has
it, when its webhook can be called and no pod of the version before is behind it. What is held follows from the cluster alone, so
that a process that starts in between continues. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from olmkit.api.meta import Object
from rukpak.bundledeployment.rendered_bundle import Content, InstallPhase, RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import CRD, World
from rukpak.crds.conversion_order import NOTHING_HELD, Held, held_of
from rukpak.render.phases import ADMISSION, PHASE_NAMES
from rukpak.render.serving import INJECT_CA


def with_held_definitions(world: World, content: Content) -> Content:
    """The target, with the definitions of which something is held in both forms; unchanged if nothing is, or it is installed."""
    if not isinstance(content, RenderedBundle) or not world.is_upgrade or world.target.is_rolled_back:
        return content
    forms = {item.key: held for item in content.objects() if (held := _held(world, content, item))}
    if not forms:
        return content
    deferred = tuple(replace(item, is_deferred=True) for item in content.objects() if item.key in forms)
    phases = {phase.name: tuple(_form(item, forms.get(item.key)) for item in phase.objects) for phase in content.phases}
    phases[ADMISSION] = (*phases.get(ADMISSION, ()), *deferred)
    ordered = (InstallPhase(name, phases[name]) for name in PHASE_NAMES if name in phases)
    return replace(content, phases=tuple(ordered))


def _held(world: World, content: RenderedBundle, item: RenderedObject) -> Held:
    live = world.crds.get(item.key.name) if item.key[:2] == CRD and item.key in world.owned else None
    is_awaited = item.key in content.awaited_keys
    return held_of(live, item.versions) if live is not None and is_awaited else NOTHING_HELD


def _form(item: RenderedObject, held: Held | None) -> RenderedObject:
    if held is None:
        return item
    digest = hashlib.sha256(f"{item.digest} {tuple(held)}".encode()).hexdigest()[:16]
    return replace(item, digest=digest, held=held)


def held_body(body: Mapping[str, Any], live: Object, held: Held) -> Object:
    """A definition of the bundle with what is held of the one on the cluster.

    An authority that cert-manager injects is left to it, and so is the annotation that says which one.
    """
    spec, metadata = dict(body["spec"]), dict(body["metadata"])
    if held.storage:
        spec["versions"] = [{**each, "storage": each["name"] == held.storage} for each in spec["versions"]]
    if held.conversion is not None:
        annotations = live["metadata"].get("annotations") or {}
        injected = {INJECT_CA: annotations[INJECT_CA]} if INJECT_CA in annotations else {}
        others = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != INJECT_CA}
        metadata["annotations"] = {**others, **injected}
        conversion = dict(live["spec"].get("conversion") or {"strategy": "None"})
        if injected and conversion.get("webhook"):
            webhook = conversion["webhook"]
            client = {name: value for name, value in webhook["clientConfig"].items() if name != "caBundle"}
            conversion["webhook"] = {**webhook, "clientConfig": client}
        spec["conversion"] = conversion
    return {**body, "metadata": metadata, "spec": spec}
