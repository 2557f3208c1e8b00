"""The web console, which is installed on request, and then belongs to the suite: `olm suite install --console`."""

from __future__ import annotations

import secrets
from dataclasses import replace

from olmctl.suite.manifests import CONSOLE_NAME, Manifests
from olmctl.suite.objects import find, is_own
from olmkit.api.meta import Object, OwnerReference
from olmkit.errors import Conflict
from olmkit.runtime.client import Client
from olmkit.tls.certificate_rotator import SECRET

SESSION_KEY_SECRET = "olm-console-session-key"
"""The Secret with the key of the console's cookies. Its owner is the Deployment: it ends with it."""
_KEY_BYTES = 32


def key_command(namespace: str) -> str:
    """The command that makes the Secret where `olm suite install` does not."""
    key = f'--from-literal=key="$(openssl rand -hex {_KEY_BYTES})"'
    return f"kubectl create secret generic {SESSION_KEY_SECRET} --namespace={namespace} {key}"


def with_console(manifests: Manifests) -> Manifests:
    """The manifests with the console."""
    return replace(manifests, objects=(*manifests.objects, *manifests.console))


async def with_own_console(client: Client, manifests: Manifests, *, is_wanted: bool = False) -> Manifests:
    """The manifests with the console if the suite has it on the cluster, or if it is wanted."""
    if is_wanted:
        return with_console(manifests)
    found = await find(client, _deployment(manifests))
    return with_console(manifests) if found is not None and is_own(found) else manifests


async def make_session_key(client: Client, manifests: Manifests) -> bool:
    """Create the Secret of the console, if the manifests have the console and there is none. Returns whether it did."""
    deployment = _deployment(manifests)
    found = await find(client, deployment) if deployment in manifests.objects else None
    if found is None:
        return False
    metadata = found["metadata"]
    owner = OwnerReference(api_version="apps/v1", kind="Deployment", name=metadata["name"], uid=metadata["uid"])
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": SESSION_KEY_SECRET,
            "namespace": metadata["namespace"],
            "labels": deployment["metadata"]["labels"],
            "ownerReferences": [owner.dump()],
        },
        "stringData": {"key": secrets.token_hex(_KEY_BYTES)},
    }
    try:
        await client.create(SECRET, secret)
    except Conflict:
        return False  # the one that is there stays, and with it all sessions
    return True


def _deployment(manifests: Manifests) -> Object:
    place = "Deployment", CONSOLE_NAME
    return next(each for each in manifests.console if (each["kind"], each["metadata"]["name"]) == place)
