"""The manifests of a small operator, from which the tests generate bundles."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from olmctl.project.collection import Collection, collect
from olmctl.project.manifests import read_manifests

FILE = "all.yaml"
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kettles.tea.example.com}
spec:
  group: tea.example.com
  scope: Namespaced
  names: {kind: Kettle, plural: kettles}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
"""
SAMPLE = """\
apiVersion: tea.example.com/v1
kind: Kettle
metadata: {name: blue}
spec: {note: "a < b & c"}
"""
ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: kettle, namespace: tea}
"""


def deployment(name: str = "kettle", *, account: str = "kettle", container: str = "", pod: str = "") -> str:
    """A Deployment with one container `manager`, which has the fields `container`, in a pod with the fields `pod`."""
    text = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: tea, labels: {{app: {name}}}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      serviceAccountName: {account or '""'}
      containers:
      - name: manager
        image: registry.example.com/kettle:1
"""
    return text + textwrap.indent(container, " " * 8) + textwrap.indent(pod, " " * 6)


def role(name: str, *, verb: str = "get", kind: str = "ClusterRole", namespace: str = "") -> str:
    """A role with one rule, whose verb tells it from others."""
    return f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: {name}{f", namespace: {namespace}" if namespace else ""}}}
rules:
- {{apiGroups: [""], resources: [pods], verbs: [{verb}]}}
"""


def binding(
    name: str, role_name: str, *subjects: str, kind: str = "ClusterRoleBinding", role_kind: str = "ClusterRole"
) -> str:
    """A binding of ServiceAccounts; a subject `user:NAME` is a user."""
    lines = [
        f"- {{kind: User, name: {each.removeprefix('user:')}}}"
        if each.startswith("user:")
        else f"- {{kind: ServiceAccount, name: {each}, namespace: tea}}"
        for each in subjects
    ]
    return f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {role_kind}, name: {role_name}}}
subjects:
""" + "".join(f"{line}\n" for line in lines)


def service(name: str = "kettle-webhook", *, app: str = "kettle", port: int = 443, target: str = "9443") -> str:
    """A Service of the pods of a Deployment."""
    return f"""\
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: tea}}
spec:
  ports: [{{port: {port}, targetPort: {target}}}]
  selector: {{app: {app}}}
"""


def base(name: str = "kettle-operator.v0.0.0", spec: str = "", annotations: str = "") -> str:
    """A base with more fields of its spec, and more annotations."""
    text = f"""\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: {name}
  namespace: placeholder
  annotations:
    capabilities: Basic Install
"""
    fields = """\
displayName: Kettle
description: Boils water.
provider: {name: Tea}
version: 0.0.0
minKubeVersion: 1.28.0
install: {strategy: deployment, spec: {deployments: null}}
installModes:
- {type: AllNamespaces, supported: true}
"""
    return text + textwrap.indent(annotations, " " * 4) + "spec:\n" + textwrap.indent(fields + spec, "  ")


def stream(*objects: str) -> str:
    """Several objects as one text."""
    return "---\n".join(objects)


def operator(*more: str) -> str:
    """The manifests of an operator with one Deployment, account, role, definition and sample, and more objects."""
    return stream(CRD, ACCOUNT, role("manager"), binding("manager", "manager", "kettle"), deployment(), SAMPLE, *more)


def collection(*objects: str) -> Collection:
    """The objects as they are collected."""
    return collect(read_manifests(stream(*objects).encode(), FILE))


def write(directory: Path, text: str, *, base_text: str = "") -> None:
    """Write the manifests into deploy/, and a base where it belongs."""
    files = {f"deploy/{FILE}": text}
    if base_text:
        files["config/manifests/bases/kettle-operator.clusterserviceversion.yaml"] = base_text
    write_all(directory, files.items())


def write_all(directory: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write texts by their paths."""
    for path, text in files:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
