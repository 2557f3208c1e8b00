"""The Helm release of a suite that the command olm takes over: Helm still has it recorded, and can delete it later.

Reads metadata only: the Secrets of a release contain its values.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmctl.commands import warn
from olmctl.questions.operator_state import part, text_at
from olmkit.api.meta import Object
from olmkit.api.names import dns1123_subdomain_errors
from olmkit.errors import Forbidden
from olmkit.runtime.client import Client
from olmkit.tls.certificate_rotator import SECRET

_RELEASE = "meta.helm.sh/release-name"
_NAMESPACE = "meta.helm.sh/release-namespace"


async def warn_of_helm_release(client: Client, controllers: Sequence[Object]) -> None:
    """Say which release would delete what this command installs, and how Helm forgets it."""
    annotations = [part(each, "metadata", "annotations") for each in controllers]
    for name, namespace in sorted({(text_at(each, _RELEASE), text_at(each, _NAMESPACE)) for each in annotations}):
        if dns1123_subdomain_errors(name) or dns1123_subdomain_errors(namespace):
            continue
        selector = f"owner=helm,name={name}"
        if await _is_recorded(client, namespace, selector):
            command = f"kubectl delete secrets --namespace={namespace} --selector={selector}"
            text = f"Helm has the suite recorded as the release {name}: `helm uninstall` would delete what this command installs"
            warn(f"{text}. `{command}` makes Helm forget it, and deletes nothing else")


async def _is_recorded(client: Client, namespace: str, selector: str) -> bool:
    try:
        found, _ = await client.list(SECRET, namespace, selector, metadata_only=True)
    except Forbidden:
        return True
    return bool(found)
