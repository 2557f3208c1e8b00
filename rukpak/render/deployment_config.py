"""Changes the Deployments of a bundle as the user's config says, by the rules of upstream's deploymentConfig (formats 2.7).

What the config leaves out stays as the bundle has it. Bodies are never changed in place. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from olmkit.gocompat.go_encoding import Mismatch, round_trip, unknown_fields
from rukpak.format.bundle import Body
from rukpak.format.errors import INVALID_CONFIGURATION, BadBundle
from rukpak.render.install_options import MAX_CONFIG_BYTES

Config = Mapping[str, Any]
_TYPE = "DeploymentConfig"
_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def read_config(raw: Config) -> Config:
    """The config in the form in which Kubernetes' types write it. Raises BadBundle with what has to be corrected."""
    wrong = [f"config{path}" for path in unknown_fields(_TYPE, raw)]
    problems = [f'unknown field "{field}"' for field in wrong]
    typed: dict[str, Any] = {}
    try:
        typed = round_trip(_TYPE, raw)
    except Mismatch as error:
        wrong.append(f"config{error.path}")
        problems.append(f'invalid type for field "config{error.path}": {error.problem}')
    if not problems and (size := len(orjson.dumps(typed))) > MAX_CONFIG_BYTES:
        what = f"it has {size:,} bytes as JSON, at most {MAX_CONFIG_BYTES:,} are allowed"
        problems.append(f"{what}: put large values into a ConfigMap or Secret, and name it in envFrom or volumes")
    if problems:
        text = problems[0] if len(problems) == 1 else "; ".join(["multiple errors found", *problems])
        raise BadBundle(INVALID_CONFIGURATION, f"invalid configuration: {text}", subject=wrong or ["config"])
    return typed


def with_config(deployment: Body, config: Config) -> Body:
    """The Deployment, changed by a config that `read_config` has read."""
    if not config:
        return deployment
    spec = deployment["spec"]
    template = spec["template"]
    pod = dict(template["spec"])
    pod["containers"] = [_container(container, config) for container in pod.get("containers") or ()]
    if config.get("volumes"):
        pod["volumes"] = _merged(pod.get("volumes"), config["volumes"])
    if config.get("tolerations"):
        pod["tolerations"] = _appended(pod.get("tolerations"), config["tolerations"])
    _set_or_remove(pod, "nodeSelector", config.get("nodeSelector"))
    if "affinity" in config:
        _set_or_remove(pod, "affinity", _affinity(pod.get("affinity") or {}, config["affinity"]))
    annotations = config.get("annotations") or {}
    template = {**template, "metadata": _annotated(template.get("metadata") or {}, annotations), "spec": pod}
    metadata = _annotated(deployment["metadata"], annotations)
    return {**deployment, "metadata": metadata, "spec": {**spec, "template": template}}


def _container(container: Body, config: Config) -> Body:
    changed = dict(container)
    for name, merge in (("env", _merged), ("envFrom", _appended), ("volumeMounts", _merged)):
        if config.get(name):
            changed[name] = merge(container.get(name), config[name])
    if "resources" in config:
        changed["resources"] = config["resources"]
    return changed


def _merged(own: Sequence[Body] | None, given: Sequence[Body]) -> list[Body]:
    """The items, of which a given one takes the place of one with its name, or is appended."""
    merged = list(own or ())
    places = {item["name"]: number for number, item in enumerate(merged)}
    for item in given:
        if item["name"] in places:
            merged[places[item["name"]]] = item
        else:
            merged.append(item)
    return merged


def _appended(own: Sequence[Body] | None, given: Sequence[Body]) -> list[Body]:
    items = list(own or ())
    for item in given:
        if item not in items:
            items.append(item)
    return items


def _set_or_remove(pod: dict[str, Any], name: str, value: Body | None) -> None:
    """None leaves the field as it is; an empty value removes it."""
    if value:
        pod[name] = value
    elif value is not None:
        pod.pop(name, None)


def _affinity(own: Body, given: Body) -> Body:
    if not given:
        return {}
    merged = dict(own)
    for name in _AFFINITIES:
        if name in given:
            _set_or_remove(merged, name, given[name] if _has_terms(given[name]) else {})
    return merged if any(_has_terms(merged.get(name) or {}) for name in _AFFINITIES) else {}


def _has_terms(affinity: Body) -> bool:
    required = affinity.get(_REQUIRED)
    terms = required.get("nodeSelectorTerms") if isinstance(required, Mapping) else required
    return bool(terms or affinity.get(_PREFERRED))


def _annotated(metadata: Body, annotations: Mapping[str, str]) -> Body:
    """The metadata with the annotations that it does not have yet."""
    if not annotations:
        return metadata
    return {**metadata, "annotations": {**annotations, **(metadata.get("annotations") or {})}}
