"""The API of PackageManifests, which is installed on request, and then belongs to the suite.

One that others have installed, such as OLM v0's packageserver, is never changed or deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from olmctl.questions.errors import Refused
from olmctl.questions.operator_state import part, text_at
from olmctl.suite.manifests import Manifests, containers
from olmctl.suite.objects import find, is_own, name_of
from olmctl.terminal import clean
from olmkit.api.meta import Object
from olmkit.api.package_manifests import package_manifest_objects
from olmkit.runtime.client import Client

_AUTHENTICATION = "--authenticate-requests"


def with_package_manifests(manifests: Manifests, namespace: str) -> Manifests:
    """The manifests with the API, which comes after the controllers."""
    return replace(manifests, objects=(*manifests.objects, *package_manifest_objects(namespace)))


async def with_own_package_manifests(client: Client, manifests: Manifests, namespace: str) -> Manifests:
    """The manifests with the API if the suite has it on the cluster."""
    found = await find(client, package_manifest_objects(namespace)[-1])
    return with_package_manifests(manifests, namespace) if found is not None and is_own(found) else manifests


async def check_package_manifests(client: Client, namespace: str, controllers: Iterable[Object]) -> None:
    """Raises Refused if the API cannot be installed: others have it, or catalogd would refuse the API server."""
    wanted = package_manifest_objects(namespace)[-1]
    found = await find(client, wanted)
    if found is not None and not is_own(found):
        service = f"{text_at(found, 'spec', 'service', 'namespace')}/{text_at(found, 'spec', 'service', 'name')}"
        text = f"{name_of(wanted)} is not olm-suite's: it leads to the Service {clean(service)}"
        raise Refused(f"{text}. If that is OLM v0's packageserver, remove OLM v0 first (olm migrate v0)")
    catalogd = [each for each in controllers if each["metadata"]["name"] == "catalogd"]
    if any(_AUTHENTICATION in (part(each, "args") or ()) for each in containers(catalogd)):
        text = f"catalogd runs with {_AUTHENTICATION}, and the API server sends it no token"
        raise Refused(f"--packagemanifests: {text}: remove one of the two flags")
