"""The relatedImages of a ClusterServiceVersion: from the environment of Deployments, from the base, and from containers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olmctl.project.collection import DEPLOYMENT, Collection, Typed

ENV_PREFIX: Final = "RELATED_IMAGE_"
"""The beginning of the names of environment variables that name images."""


@dataclass(frozen=True)
class _Found:
    """An image, its name, and the container that names it."""

    name: str
    image: str
    container: str


def related_images(collection: Collection) -> tuple[list[dict[str, str]], list[str]]:
    """The images that the environment of containers names, as upstream lists them, and notes. Raises BadInput."""
    found = list(_first_of_each(_variables(collection)))
    names, images = _counts(each.name for each in found), _counts(each.image for each in found)
    result: list[dict[str, str]] = []
    notes: list[str] = []
    for each in found:
        name = f"{each.container}-{each.name}" if names[each.name] > 1 else each.name
        if images[each.image] > 1:
            if next(other for other in found if other.image == each.image).name != each.name:
                continue
            name = ""
            notes.append(
                f"several environment variables {ENV_PREFIX}* name the image {each.image}: it is listed once, without a name. "
                "Give them one name"
            )
        result.append({"image": each.image, "name": name})
    return result, notes


def _counts(texts: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    return counts


def _first_of_each(found: Iterable[_Found]) -> Iterator[_Found]:
    """One for each name and image."""
    seen: set[tuple[str, str]] = set()
    for each in found:
        if (each.name, each.image) not in seen:
            seen.add((each.name, each.image))
            yield each


def _variables(collection: Collection) -> Iterator[_Found]:
    for deployment in collection.of(DEPLOYMENT):
        containers = list(containers_of(deployment))
        for place, container in containers:
            owner = deployment.name if len(containers) == 1 else f"{deployment.name}-{container['name']}"
            for index, variable in enumerate(container.get("env") or []):
                name = variable["name"]
                if not name.startswith(ENV_PREFIX):
                    continue
                if "valueFrom" in variable:
                    problem = f"related images with valueFrom field unsupported, found in {name}"
                    raise deployment.manifest.refuse((*place, "env", index), problem)
                short = name.removeprefix(ENV_PREFIX).replace("_", "-").lower()
                yield _Found(short, variable.get("value", ""), owner)


def containers_of(deployment: Typed) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """The containers and then the init containers, each with its path."""
    pod = deployment.spec["template"]["spec"]
    for field in ("containers", "initContainers"):
        for index, container in enumerate(pod.get(field) or []):
            yield ("spec", "template", "spec", field, index), container


def with_containers(
    listed: Sequence[Mapping[str, str]], deployments: Iterable[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """The images, and those of all containers that are not among them, named as their containers.

    `deployments` are entries of spec.install.spec.deployments.
    """
    result = [dict(each) for each in listed]
    images, names = {each["image"] for each in listed}, {each["name"] for each in listed}
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        for container in [*(pod.get("containers") or []), *(pod.get("initContainers") or [])]:
            image = container.get("image", "")
            if image and image not in images:
                wanted = (container["name"], f"{deployment['name']}-{container['name']}")
                name = next((each for each in wanted if each not in names), f"{wanted[1]}-{len(result)}")
                images.add(image)
                names.add(name)
                result.append({"image": image, "name": name})
    return result


def with_kept(found: Sequence[Mapping[str, str]], base: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """The images, after those of the base that have neither a name nor an image of these."""
    names, images = {each["name"] for each in found}, {each["image"] for each in found}
    kept = [
        dict(each) for each in base if each["image"] not in images and (each["name"] not in names or not each["name"])
    ]
    return [*kept, *(dict(each) for each in found)]
