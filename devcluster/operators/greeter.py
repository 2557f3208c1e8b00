"""An operator that writes the greeting of each Greeting into a ConfigMap. Run as `python -m devcluster.operators.greeter`.

It watches the namespaces of WATCH_NAMESPACE, which a pod gets from the annotation olm.targetNamespaces: separated by commas, and
all if it is empty. A Greeting has its finalizer: a deleted Greeting stays until the operator has removed its ConfigMap.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterable
from typing import Any

from devcluster.operators.program import Program, run
from olmkit.api.meta import Kind, Object, controller_reference
from olmkit.errors import NotFound
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Change, Informer

GROUP = "greeter.example.com"
GREETING = Kind(GROUP, "v1alpha1", "Greeting", "greetings", namespaced=True)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
FINALIZER = f"{GROUP}/config-map"
LABEL = f"{GROUP}/greeting"
"""The label of a ConfigMap: the name of its Greeting."""
DEFAULT_SALUTATION = "Hello"

_MANAGER = "greeter"


class Greeter:
    """Reconciles the Greetings that the informers know. `version` is the operator's, which it reports in each status."""

    def __init__(self, program: Program, greetings: Iterable[Informer], version: str) -> None:
        self._client = program.client
        self._greetings = list(greetings)
        self._version = version

    async def reconcile(self, key: str) -> None:
        """Bring the ConfigMap and the status of one Greeting up to date; the key is `namespace/name`."""
        namespace, _, name = key.partition("/")
        greeting = next((found for each in self._greetings if (found := each.get(name, namespace))), None)
        if greeting is None:
            return
        metadata = greeting["metadata"]
        if metadata.get("deletionTimestamp"):
            await self._finalize(metadata)
            return
        if FINALIZER not in metadata.get("finalizers", ()):
            await self._set_finalizers(metadata, [*metadata.get("finalizers", ()), FINALIZER])
            return
        await self._client.apply(CONFIG_MAP, config_map(greeting), _MANAGER)
        status = {
            "greeting": text(greeting),
            "greetedBy": self._version,
            "observedGeneration": metadata["generation"],
        }
        if greeting.get("status") != status:
            body = {"metadata": {"name": name, "namespace": namespace}, "status": status}
            await self._client.apply_status(GREETING, body, _MANAGER)

    async def _finalize(self, metadata: dict[str, Any]) -> None:
        if FINALIZER not in metadata.get("finalizers", ()):
            return
        with contextlib.suppress(NotFound):
            await self._client.delete(CONFIG_MAP, config_map_name(metadata["name"]), metadata["namespace"])
        await self._set_finalizers(metadata, [each for each in metadata["finalizers"] if each != FINALIZER])

    async def _set_finalizers(self, metadata: dict[str, Any], finalizers: list[str]) -> None:
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}}
        await self._client.patch(GREETING, metadata["name"], patch, metadata["namespace"])


def text(greeting: Object) -> str:
    """The greeting of a Greeting."""
    spec = greeting["spec"]
    return f"{spec.get('salutation', DEFAULT_SALUTATION)}, {spec['name']}!"


def config_map_name(greeting: str) -> str:
    """The name of the ConfigMap of a Greeting."""
    return f"{greeting}-greeting"


def config_map(greeting: Object) -> Object:
    """The ConfigMap of a Greeting, which owns it."""
    metadata = greeting["metadata"]
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.kind,
        "metadata": {
            "name": config_map_name(metadata["name"]),
            "namespace": metadata["namespace"],
            "labels": {LABEL: metadata["name"]},
            "ownerReferences": [controller_reference(GREETING, metadata["name"], metadata["uid"])],
        },
        "data": {"greeting": text(greeting)},
    }


def watched_namespaces(value: str) -> list[str | None]:
    """The namespaces of WATCH_NAMESPACE; None stands for all."""
    return [name.strip() for name in value.split(",") if name.strip()] or [None]


def _key(change: Change) -> list[str]:
    metadata = (change.new or change.old or {})["metadata"]
    return [f"{metadata['namespace']}/{metadata['name']}"]


def _key_of_config_map(change: Change) -> list[str]:
    metadata = (change.new or change.old or {})["metadata"]
    return [f"{metadata['namespace']}/{metadata['labels'][LABEL]}"]


async def _body(program: Program) -> None:
    namespaces = watched_namespaces(os.environ.get("WATCH_NAMESPACE", ""))
    greetings = [Informer(program.client, GREETING, namespace=each) for each in namespaces]
    config_maps = [Informer(program.client, CONFIG_MAP, namespace=each, label_selector=LABEL) for each in namespaces]
    greeter = Greeter(program, greetings, os.environ.get("OPERATOR_VERSION", ""))
    controller = Controller("greeter", greeter.reconcile)
    for informer in greetings:
        controller.watch(informer, _key)
    for informer in config_maps:
        controller.watch(informer, _key_of_config_map)
    async with asyncio.TaskGroup() as group:
        informers = [group.create_task(each.run()) for each in controller.informers]
        work = group.create_task(controller.run())
        starting = group.create_task(_set_started(program, controller.informers))
        await program.stopping.wait()
        controller.stop()
        await work
        for task in (*informers, starting):
            task.cancel()


async def _set_started(program: Program, informers: Iterable[Informer]) -> None:
    for informer in informers:
        await informer.synced.wait()
    program.started.set()


if __name__ == "__main__":
    raise SystemExit(run(_body))
