"""A Namespace that several BundleDeployments share: what each of them applies to it, and what it leaves to others.

A Namespace is the one object without an owner: each BundleDeployment that installs into it is a member and has a label of its own
on it. Labels and annotations of others are kept. Whether rukpak created it is recorded elsewhere:
rukpak.bundledeployment.apply.created_namespaces. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.api.meta import apply_precondition
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo, member_label
from rukpak.bundledeployment.rendered_bundle import RenderedNamespace
from rukpak.bundledeployment.world import World

POD_SECURITY = "pod-security.kubernetes.io/"
LEVELS = ("restricted", "baseline", "privileged")
"""The Pod Security levels from the strictest to the most permissive."""


def namespace_body(
    item: RenderedNamespace, live: NamespaceInfo | None, uid: str, *, only_joins: bool = False
) -> dict[str, Any]:
    """The manifest that the BundleDeployment of that uid applies: create-only if there is no Namespace, else only to the one that
    was observed. With `only_joins` it has no label but that of the member."""
    if only_joins:
        item = RenderedNamespace(item.name, is_in_bundle=item.is_in_bundle)
    membership = {member_label(uid): "true"}
    if live is None:
        metadata: dict[str, Any] = {
            "name": item.name,
            **apply_precondition(None),
            "labels": {**item.labels, **membership},
        }
        annotations = dict(item.annotations)
    else:
        metadata = {
            "name": item.name,
            **apply_precondition(live.uid),
            "labels": {**_labels(item.labels, live.labels), **membership},
        }
        annotations = _shared(item.annotations, live.annotations)
    if annotations:
        # An empty map belongs to its last applier only: with several members it would change with each apply.
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def namespace_warnings(world: World) -> Iterator[str]:
    """A sentence for each label or annotation of our Namespaces that keeps the value of others."""
    for item in _items(world):
        live = world.namespaces.get(item.name)
        if live is None:
            continue
        only_joins = world.only_joins(item.name)
        kept = item.labels.items() & live.labels.items() if only_joins else _labels(item.labels, live.labels).items()
        for key, value in sorted(item.labels.items()):
            if (key, value) not in kept:
                yield f"Namespace {item.name} keeps {_present(key, live.labels)}; the bundle asks for {value}"
        present = live.annotations.items() if only_joins else _shared(item.annotations, live.annotations).items()
        for key, _ in sorted(item.annotations.items() - present):
            yield f"Namespace {item.name} keeps the value of annotation {key} that others set"


def _items(world: World) -> tuple[RenderedNamespace, ...]:
    return getattr(world.content, "namespaces", ())


def _present(key: str, labels: Mapping[str, str]) -> str:
    return f"{key}: {labels[key]}" if key in labels else f"no {key}"


def _shared(wanted: Mapping[str, str], live: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if live.get(key, value) == value}


def _labels(wanted: Mapping[str, str], live: Mapping[str, str]) -> dict[str, str]:
    """The labels that do not differ from the live ones; of Pod Security levels the more permissive one, each with its version."""
    plain = {key: value for key, value in wanted.items() if not key.startswith(POD_SECURITY)}
    result = _shared(plain, live)
    for mode in ("enforce", "audit", "warn"):
        key, version = POD_SECURITY + mode, f"{POD_SECURITY}{mode}-version"
        if key in wanted and _permits(wanted[key]) >= _permits(live.get(key)):
            result.update({name: wanted[name] for name in (key, version) if name in wanted})
    return result


def _permits(level: str | None) -> int:
    """A Namespace without a level permits everything."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)
