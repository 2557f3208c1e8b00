"""The CustomResourceDefinition of OperatorConditions, which is installed on request, and then belongs to the suite.

One that others have installed, such as OLM v0, is never changed or deleted.
"""

from __future__ import annotations

from dataclasses import replace

from olmctl.commands import warn
from olmctl.suite.manifests import Manifests
from olmctl.suite.objects import find, is_own, name_of
from olmkit.api.crd import operator_condition_definition
from olmkit.runtime.client import Client


def with_definition(manifests: Manifests) -> Manifests:
    """The manifests with the CRD."""
    return replace(manifests, crds=(*manifests.crds, operator_condition_definition()))


async def with_own_definition(client: Client, manifests: Manifests, *, is_wanted: bool = False) -> Manifests:
    """The manifests with the CRD if the suite has it on the cluster, or if it is wanted and nobody has it."""
    definition = operator_condition_definition()
    found = await find(client, definition)
    if found is None:
        return with_definition(manifests) if is_wanted else manifests
    if is_own(found):
        return with_definition(manifests)
    if is_wanted:
        warn(f"{name_of(definition)} stays as it is: it is not olm-suite's, and rukpak uses it")
    return manifests
