"""Command lines and documents that do what a page of the console does, for terminals and for GitOps. Pure.

Names and texts of other people stand in them: each word is quoted for a shell, and no text can end the document around it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from console.forms.yaml_text import dump
from olmctl.questions.requested_fields import followed_channels
from olmkit.api import catalogs, operators
from olmkit.api.catalogs import NAME_LABEL, REFRESH_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION, DELETION_PROTECTION_ANNOTATION, PROTECTED

_OPERATOR: Final = f"operator.{operators.KIND.group}"
_CATALOG: Final = f"catalog.{catalogs.KIND.group}"


@dataclass(frozen=True)
class Command:
    """A way to do the same: its name, and the text to copy."""

    title: str
    text: str


def line(*words: str) -> str:
    """The words as one command line."""
    return shlex.join(words)


def here_document(command: str, text: str) -> str:
    """The command that reads a text. The word that ends the text is none of its lines."""
    word, number = "EOF", 0
    lines = set(text.splitlines())
    while word in lines:
        number += 1
        word = f"EOF{number}"
    return f"{command} <<'{word}'\n{text.rstrip(chr(10))}\n{word}"


def apply(obj: Mapping[str, Any], options: str = "") -> str:
    """The command that applies an object."""
    return here_document(f"kubectl apply {options}{' ' if options else ''}-f -", dump(dict(obj)))


def install_commands(operator: Mapping[str, Any]) -> tuple[Command, ...]:
    """The ways to create an Operator."""
    text = dump(dict(operator))
    return (
        Command("kubectl", here_document("kubectl apply -f -", text)),
        *([Command("olm", olm)] if (olm := olm_install(operator)) else []),
        Command("YAML", text),
        *delivery_commands(f"operators/{operator['metadata']['name']}.yaml", text, str(operator["metadata"]["name"])),
    )


def olm_install(operator: Mapping[str, Any]) -> str:
    """`olm install` for an Operator; empty if it has no option for a field."""
    spec = operator["spec"]
    labels = (spec.get("catalogSelector") or {}).get("matchLabels") or {}
    install = spec.get("install") or {}
    selecting = {"packageName", "channel", "channels", "version", "catalogSelector"}
    known = {*selecting, "approval", "upgradeConstraintPolicy", "install"}
    settings = {"namespace", "namespacePolicy", "installModePolicy", "objectLabels", "adoptionPolicy"}
    if set(spec) - known or set(labels) - {NAME_LABEL} or set(install) - settings:
        return ""
    words = ["olm", "install", spec["packageName"]]
    if (name := operator["metadata"]["name"]) != spec["packageName"]:
        words += ["--name", name]
    for option, value in (
        ("--catalog", labels.get(NAME_LABEL)),
        *(("--channel", each) for each in followed_channels(spec)),
        ("--version", spec.get("version")),
        ("--approval", spec.get("approval")),
        ("--upgrade-constraint-policy", spec.get("upgradeConstraintPolicy")),
        ("--namespace", install.get("namespace")),
        ("--namespace-policy", install.get("namespacePolicy")),
        ("--install-mode-policy", install.get("installModePolicy")),
        ("--adoption-policy", install.get("adoptionPolicy")),
    ):
        words += [option, str(value)] if value else []
    for key, value in (install.get("objectLabels") or {}).items():
        words += ["--object-label", f"{key}={value}"]
    version = (operator["metadata"].get("annotations") or {}).get(APPROVED_VERSION_ANNOTATION)
    return line(*words) + (f"\n{line('olm', 'approve', name, '--version', version)}" if version else "")


def delivery_commands(path: str, text: str, name: str) -> tuple[Command, ...]:
    """The same from a git repository, by Argo CD and by Flux. The repository is a placeholder."""
    directory = path.rpartition("/")[0] or "."
    argo = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": "https://git.example.com/platform.git", "path": directory, "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc"},
            "syncPolicy": {"automated": {}, "syncOptions": ["ServerSideApply=true"]},
        },
    }
    flux = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "flux-system"},
        "spec": {
            "interval": "10m",
            "path": f"./{directory}",
            "prune": True,
            "wait": True,
            "sourceRef": {"kind": "GitRepository", "name": "platform"},
        },
    }
    head = f"# {path} in the repository:\n{text}---\n"
    return Command("Argo CD", f"{head}{dump(argo)}"), Command("Flux", f"{head}{dump(flux)}")


def patch(name: str, changes: Mapping[str, Any]) -> Command:
    """The way to change fields of an Operator by a merge patch; a field that is None is removed."""
    text = orjson.dumps(changes).decode()
    return Command("kubectl", line("kubectl", "patch", _OPERATOR, name, "--type=merge", "-p", text))


def approve(name: str, version: str) -> tuple[Command, ...]:
    """The ways to approve a version."""
    mark = f"{APPROVED_VERSION_ANNOTATION}={version}"
    annotate = line("kubectl", "annotate", "--overwrite", f"{_OPERATOR}/{name}", mark)
    return Command("olm", line("olm", "approve", name, "--version", version)), Command("kubectl", annotate)


def pause(name: str, *, is_paused: bool) -> tuple[Command, ...]:
    """The ways to pause an Operator, or to resume it."""
    return (patch(name, {"spec": {"paused": True if is_paused else None}}),)


def protect(name: str, *, is_protected: bool) -> tuple[Command, ...]:
    """The ways to protect an Operator from deletion, or to end that."""
    mark = f"{DELETION_PROTECTION_ANNOTATION}={PROTECTED}" if is_protected else f"{DELETION_PROTECTION_ANNOTATION}-"
    return (Command("kubectl", line("kubectl", "annotate", "--overwrite", f"{_OPERATOR}/{name}", mark)),)


def exclude(name: str, version: str) -> tuple[Command, ...]:
    """The way to refuse one version."""
    return (Command("olm", line("olm", "exclude", name, version)),)


def permit(name: str, version: str, *, is_forced: bool = False) -> tuple[Command, ...]:
    """The way to permit a version again. `is_forced`: although others exclude it."""
    forced = ("--force",) if is_forced else ()
    return (Command("olm", line("olm", "exclude", name, version, "--undo", *forced)),)


def uninstall(name: str) -> tuple[Command, ...]:
    """The ways to delete an Operator."""
    return Command("olm", line("olm", "uninstall", name)), Command(
        "kubectl", line("kubectl", "delete", _OPERATOR, name)
    )


def refresh(name: str, value: str) -> tuple[Command, ...]:
    """The way to have a Catalog checked."""
    mark = f"{REFRESH_ANNOTATION}={value}"
    return (Command("kubectl", line("kubectl", "annotate", "--overwrite", f"{_CATALOG}/{name}", mark)),)


def delete(kind: Kind, name: str, namespace: str = "") -> tuple[Command, ...]:
    """The way to delete an object."""
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    where = ("-n", namespace) if namespace else ()
    return (Command("kubectl", line("kubectl", "delete", resource, name, *where)),)
