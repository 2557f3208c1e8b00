"""An admission policy that tests create."""

from __future__ import annotations

import asyncio
from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from tests.cluster.rukpak.harness import Harness

_GROUP = "admissionregistration.k8s.io"
_POLICIES = Kind(_GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies")
BINDINGS = Kind(_GROUP, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings")


async def create_policy(at: Harness, operation: str, expression: str, message: str) -> None:
    """Deny this operation on ConfigMaps for which the expression is false, until the binding with the name of `at` is deleted."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": ["configmaps"]}]
    validations = [{"expression": expression, "message": message}]
    specs = {
        _POLICIES: {"matchConstraints": {"resourceRules": rules}, "validations": validations},
        BINDINGS: {"policyName": at.name, "validationActions": ["Deny"]},
    }
    for kind, spec in specs.items():
        head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": at.name}}
        await at.create(kind, {**head, "spec": spec})


async def until_denied(at: Harness, message: str, method: str, path: str, body: Any = None) -> None:
    """Wait until such a request is denied with the message of the policy. A policy counts some time after it was made, no event
    reports when, and until then the API server may refuse the request for another reason. A DELETE has no body:
    one would take the place of the parameters, and the object would be deleted."""
    content_type = "application/merge-patch+json" if method == "PATCH" else None
    async with asyncio.timeout(60):
        while True:
            try:
                await at.client.request(method, path, query={"dryRun": "All"}, body=body, content_type=content_type)
            except ApiError as error:
                if message in error.message:
                    return
            await asyncio.sleep(0.2)
