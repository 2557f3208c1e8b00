"""Small bundles for the tests of rukpak: files, a CSV, a CRD. Whatever is not said is the least that is valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from rukpak.format import RegistryBundle, read_registry

MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
Body = dict[str, Any]
MERGED_CRD = b"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          first: &text {type: string, maxLength: 9}
          second:
            !!merge <<: *text
            description: of the second
"""
"""A CustomResourceDefinition, of which a part is merged into another by a key that is written with its tag."""


def csv(
    name: str = "things.v1.0.0",
    *,
    modes: Sequence[str] = ("AllNamespaces",),
    annotations: Mapping[str, str] | None = None,
    install: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Body:
    """A ClusterServiceVersion; `install` replaces the one Deployment `manager`."""
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {
            "installModes": [{"type": mode, "supported": mode in modes} for mode in MODES],
            "install": {"strategy": "deployment", "spec": install or {"deployments": [deployment()]}},
            **spec,
        },
    }


def deployment(name: str = "manager", **pod: Any) -> Body:
    """An item of the install strategy's deployments."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c"}], **pod}}
    return {"name": name, "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}


def crd(plural: str = "things", group: str = "example.com", *, kind: str = "Thing", version: str = "v1") -> Body:
    """A CustomResourceDefinition of one version."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def obj(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Body:
    """Any object."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def files(*bodies: Body, package: str = "things") -> dict[str, bytes]:
    """The files of a registry+v1 bundle."""
    annotations = {"annotations": {"operators.operatorframework.io.bundle.package.v1": package}}
    manifests = {f"manifests/{number:02}.json": orjson.dumps(body) for number, body in enumerate(bodies)}
    return manifests | {"metadata/annotations.yaml": orjson.dumps(annotations)}


def bundle(*bodies: Body, package: str = "things") -> RegistryBundle:
    """A registry+v1 bundle as it is read; a CSV is added when none is given."""
    if not any(body["kind"] == "ClusterServiceVersion" for body in bodies):
        bodies = (csv(), *bodies)
    return read_registry(files(*bodies, package=package))
