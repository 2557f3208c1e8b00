"""The Deployments of a ClusterServiceVersion, and the images that it names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olmctl.validation.extra.report import Checked, Path, entries, found_at, shown
from olmctl.validation.finding import ERROR, WARNING, Finding, Level
from olmctl.validation.go_values import format_value
from olmkit.fbc.checks.pull_specs import pull_spec_error
from olmkit.gocompat.go_unmarshal import is_zero
from rukpak.format.objects import mapping

DEPLOYMENTS: Final[Path] = ("spec", "install", "spec", "deployments")
_IMAGE_HINT: Final = "Write a reference such as quay.io/team/operator:v1.2.3, best with a digest."
_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def deployment_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about Deployments and images."""
    seen: set[str] = set()
    if checked.install_spec.get("deployments") == []:
        text = "the bundle has no Deployment, so that nothing of it runs"
        yield found_at(WARNING, "no-deployments", text, checked.csv, DEPLOYMENTS, "Add the Deployment of the operator.")
    if checked.csv.spec.get("install") and is_zero("StrategyDetailsDeployment", checked.install_spec):
        text = "spec.install.spec.deployments is missing: the bundle cannot be installed"
        hint = "Add the Deployment of the operator; an empty list if the bundle has none."
        yield found_at(ERROR, "deployments-missing", text, checked.csv, DEPLOYMENTS, hint)
    for index, deployment in checked.deployments:
        path: Path = (*DEPLOYMENTS, index)
        name = format_value(deployment.get("name") or "")
        if name and name in seen:
            text = f"the Deployment {name} stands there twice"
            yield found_at(
                ERROR, "deployment-twice", text, checked.csv, (*path, "name"), "Keep one, or rename the other."
            )
        seen.add(name)
        spec = mapping(deployment.get("spec"))
        yield from _selector_findings(checked, (*path, "spec"), spec)
        template = mapping(spec.get("template"))
        yield from _pod_findings(checked, (*path, "spec", "template", "spec"), mapping(template.get("spec")))
    yield from _related_images(checked)


def _selector_findings(checked: Checked, path: Path, spec: Mapping[str, Any]) -> Iterator[Finding]:
    selector = mapping(spec.get("selector"))
    labels = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("labels"))
    wanted = mapping(selector.get("matchLabels"))
    hint = "Let selector.matchLabels have labels of template.metadata.labels."
    if not wanted and not selector.get("matchExpressions"):
        text = "the Deployment has no selector"
        yield found_at(ERROR, "deployment-selector", text, checked.csv, (*path, "selector"), hint)
        return
    wrong = [key for key, value in wanted.items() if labels.get(key) != value]
    wrong += [
        str(each.get("key")) for _, each in entries(selector.get("matchExpressions")) if not _matches(each, labels)
    ]
    if wrong:
        text = f"does not select the pods of the template, whose label {wrong[0]} is {shown(labels.get(wrong[0], ''))}"
        yield found_at(ERROR, "deployment-selector", text, checked.csv, (*path, "selector"), hint)


def _matches(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, values = expression.get("key"), expression.get("values")
    values = values if isinstance(values, list) else []
    value = labels.get(key) if isinstance(key, str) else None
    match expression.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def _pod_findings(checked: Checked, path: Path, pod: Mapping[str, Any]) -> Iterator[Finding]:
    csv = checked.csv
    if not list(entries(pod.get("containers"))):
        text = "the pod has no container"
        yield found_at(ERROR, "no-containers", text, csv, (*path, "containers"), "Add the container of the operator.")
    volumes: set[str] = set()
    for index, volume in entries(pod.get("volumes")):
        name = format_value(volume.get("name") or "")
        if name in volumes:
            text = f"the volume {name} stands there twice"
            yield found_at(ERROR, "volume-twice", text, csv, (*path, "volumes", index), "Keep one of them.")
        volumes.add(name)
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in entries(pod.get(field)):
            place: Path = (*path, field, index)
            name = format_value(container.get("name") or "")
            if not name or name in names:
                text = f"the container {name} stands there twice" if name else "the container has no name"
                yield found_at(ERROR, "container-name", text, csv, place, "Give each container a name of its own.")
            names.add(name)
            yield from _container_findings(checked, place, container, volumes)


def _container_findings(
    checked: Checked, path: Path, container: Mapping[str, Any], volumes: set[str]
) -> Iterator[Finding]:
    csv, image = checked.csv, container.get("image")
    if not image:
        text = f"the container {format_value(container.get('name') or '')} has no image"
        yield found_at(ERROR, "image", text, csv, (*path, "image") if "image" in container else path, _IMAGE_HINT)
    elif not isinstance(image, str) or (problem := pull_spec_error(image)):
        problem = problem if isinstance(image, str) else "it is no text"
        text = f"{shown(format_value(image))} is no reference of an image: {problem}"
        yield found_at(ERROR, "image", text, csv, (*path, "image"), _IMAGE_HINT)
    for index, mount in entries(container.get("volumeMounts")):
        name = format_value(mount.get("name") or "")
        if name not in volumes and not _is_certificate_volume(name):
            text = f"mounts the volume {shown(name)}, which the pod does not have"
            yield found_at(ERROR, "volume-mount", text, csv, (*path, "volumeMounts", index), "Add it to volumes.")
    yield from _repeated(checked, (*path, "env"), "env", WARNING)
    yield from _repeated(checked, (*path, "ports"), "ports", ERROR)


def _is_certificate_volume(name: str) -> bool:
    """Report whether the installer adds this volume: those of serving certificates."""
    return name in ("apiservice-cert", "webhook-cert")


def _repeated(checked: Checked, path: Path, field: str, level: Level) -> Iterator[Finding]:
    value: Any = checked.csv.body
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) and isinstance(step, str) else _nth(value, step)
    seen: set[tuple[str, ...]] = set()
    for index, item in entries(value):
        if field == "env":
            key: tuple[str, ...] = (format_value(item.get("name") or ""),)
            text = f"the variable {key[0]} stands there twice: the last one counts"
        else:
            key = (format_value(item.get("containerPort") or ""), format_value(item.get("protocol") or "TCP"))
            text = f"the port {'/'.join(key)} stands there twice, and a server-side apply takes one"
        if key in seen:
            hint = "Keep one of them."
            yield found_at(
                level, f"{'env' if field == 'env' else 'port'}-twice", text, checked.csv, (*path, index), hint
            )
        seen.add(key)


def _nth(value: Any, step: str | int) -> Any:
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None


def _related_images(checked: Checked) -> Iterator[Finding]:
    for index, related in entries(checked.csv.spec.get("relatedImages")):
        path: Path = ("spec", "relatedImages", index)
        image = related.get("image")
        if not image:
            text = f"the related image {format_value(related.get('name') or '')} names no image"
            yield found_at(ERROR, "related-image", text, checked.csv, path, _IMAGE_HINT)
        elif problem := pull_spec_error(format_value(image)):
            text = f"{shown(format_value(image))} is no reference of an image: {problem}"
            yield found_at(ERROR, "related-image", text, checked.csv, (*path, "image"), _IMAGE_HINT)
