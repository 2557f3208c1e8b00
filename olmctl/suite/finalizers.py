"""The finalizers of the suite, and what holds an object that is being deleted."""

from __future__ import annotations

from olmctl.questions.operator_state import condition, part, text_at
from olmctl.suite.objects import resource_name
from olmkit.api import bundledeployments, clustercatalogs, clusterextensions, operators
from olmkit.api.meta import Kind, Object
from olmkit.runtime.client import Client

CONTROLLER_OF = {
    clusterextensions.FINALIZER: "operator-controller",
    clustercatalogs.FINALIZER: "catalogd",
    operators.FINALIZER: "operator-controller",
    bundledeployments.FINALIZER: "rukpak",
}
"""Finalizer -> the controller that removes it, which is also the name of its Lease."""


def controllers_of(obj: Object) -> set[str]:
    """The controllers whose finalizers an object has."""
    return {CONTROLLER_OF[each] for each in part(obj, "metadata", "finalizers") or () if each in CONTROLLER_OF}


async def remove_own_finalizers(client: Client, kind: Kind, obj: Object) -> None:
    """Remove the finalizers of the suite from an object, and no others. Raises Conflict if it has changed."""
    kept = [each for each in obj["metadata"]["finalizers"] if each not in CONTROLLER_OF]
    metadata = {"finalizers": kept, "resourceVersion": obj["metadata"]["resourceVersion"]}
    await client.patch(kind, obj["metadata"]["name"], {"metadata": metadata})


def held_text(kind: Kind, obj: Object) -> str:
    """Say what holds an object that is being deleted, in one line."""
    shown = (condition(obj, name) for name in ("Ready", "Progressing"))  # those of OLM v1 have no Ready
    finalizers = ", ".join(part(obj, "metadata", "finalizers") or ())
    texts = [
        next(filter(None, (text_at(each, "message") for each in shown)), ""),
        f"finalizers {finalizers}" if finalizers else "",
    ]
    return f"{resource_name(kind, obj)}: {'; '.join(text for text in texts if text) or 'it is being deleted'}"
