"""The CustomResourceDefinition of OperatorConditions, which is installed on request, and then belongs to the suite.

One that others have installed, such as OLM v0, is never changed or deleted.
"""

from __future__ import annotations

from dataclasses import replace

from olmctl.suite.manifests import Manifests
from olmctl.suite.objects import CRD, find, is_own, name_of
from olmkit.api import operator_conditions
from olmkit.api.crd import operator_condition_definition
from olmkit.runtime.client import Client

_NAME = f"{operator_conditions.KIND.plural}.{operator_conditions.KIND.group}"
_DEFINITION = {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": {"name": _NAME}}
"""The CRD by its name alone: to make its schema takes a tenth of a second."""


def with_definition(manifests: Manifests) -> Manifests:
    """The manifests with the CRD."""
    return replace(manifests, crds=(*manifests.crds, operator_condition_definition()))


async def with_own_definition(client: Client, manifests: Manifests, *, is_wanted: bool = False) -> Manifests:
    """The manifests with the CRD if the suite has it on the cluster, or if it is wanted and nobody has it."""
    found = await find(client, _DEFINITION)
    has_it = is_wanted if found is None else is_own(found)
    return with_definition(manifests) if has_it else manifests


def foreign_definition(manifests: Manifests) -> str:
    """The sentence about the CRD if it is wanted and these manifests, of with_own_definition(), lack it; "" if they have it."""
    if any(name_of(each) == name_of(_DEFINITION) for each in manifests.crds):
        return ""
    return f"{name_of(_DEFINITION)} stays as it is: it is not olm-suite's, and rukpak uses it"
