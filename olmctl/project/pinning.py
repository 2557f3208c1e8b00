"""The images of a ClusterServiceVersion, and the same ClusterServiceVersion with their digests. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olmctl.project.related_images import ENV_PREFIX

_IMAGE_ANNOTATION: Final = "containerImage"
_EXAMPLES: Final = "alm-examples"


def images_of(csv: Mapping[str, Any]) -> list[str]:
    """The images of containers, of RELATED_IMAGE_ variables and of relatedImages, and that of the annotation containerImage."""
    return list(dict.fromkeys(each for each in _images(csv) if each))


def _images(csv: Mapping[str, Any]) -> Iterator[str]:
    annotation = (csv["metadata"].get("annotations") or {}).get(_IMAGE_ANNOTATION)
    yield annotation or ""
    yield from (each["image"] for each in csv["spec"].get("relatedImages") or [])
    for deployment in (csv["spec"]["install"].get("spec") or {}).get("deployments") or []:
        pod = deployment["spec"]["template"]["spec"]
        for container in [*(pod.get("containers") or []), *(pod.get("initContainers") or [])]:
            yield container.get("image", "")
            for variable in container.get("env") or []:
                if variable["name"].startswith(ENV_PREFIX):
                    yield variable.get("value", "")


def pinned(csv: Mapping[str, Any], digests: Mapping[str, str]) -> dict[str, Any]:
    """The ClusterServiceVersion in which each text that is one of the images is the reference with its digest."""
    metadata = dict(csv["metadata"])
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        key: value if key == _EXAMPLES else digests.get(value, value) for key, value in annotations.items()
    }
    spec: dict[str, Any] = _replaced(csv["spec"], digests)
    return {**csv, "metadata": metadata, "spec": spec}


def _replaced(value: Any, digests: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, digests) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, digests) for each in value]
    return digests.get(value, value) if isinstance(value, str) else value
