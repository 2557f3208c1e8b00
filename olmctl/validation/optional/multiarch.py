"""The validator multiarch: whether the images of a bundle, the labels of its ClusterServiceVersion and the node affinity of its
Deployments are about the same platforms.

The platforms come from the registries of the images; from docker or podman only if --optional-values names the tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmctl.validation.optional.csv_findings import (
    DEPLOYMENTS,
    Path,
    Reporter,
    Values,
    install_spec,
    quoted_list,
    text_of,
    texts_of,
)
from olmctl.validation.optional.platforms import Found, NoPlatforms, Platform, registry_platforms, tool_platforms
from olmkit.gocompat.text import format_list, quoted
from rukpak.format.objects import mapping, mappings

TOOL_VALUE: Final = "container-tools"
_TOOLS: Final = ("docker", "podman")
_ARCHITECTURE_LABEL, _OS_LABEL = "operatorframework.io/arch.", "operatorframework.io/os."
_FAILED: Final = Platform("error", "error")
"""The platform of an image that could not be inspected, as upstream prints it."""
_PROXY: Final = "kube-rbac-proxy"
"""The container that operator-sdk adds beside the manager."""
_LABELS_HINT: Final = "Label the ClusterServiceVersion with the platforms that all its images are built for."


@dataclass
class _Images:
    """The images of a bundle by their use, with their platforms, and the node affinity of the pods that have them."""

    managers: dict[str, tuple[Platform, ...]] = field(default_factory=dict)
    others: dict[str, tuple[Platform, ...]] = field(default_factory=dict)
    related: dict[str, tuple[Platform, ...]] = field(default_factory=dict)
    affinity: dict[str, tuple[Platform, ...]] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[dict[str, tuple[Platform, ...]], ...]:
        """The images by use, managers first."""
        return self.managers, self.others, self.related


@dataclass(frozen=True)
class _Supported:
    """Values of one kind of label: those of the labels, and with those of the manager's images."""

    prefix: str
    labels: tuple[str, ...]
    default: str
    found: tuple[str, ...] = ()

    @property
    def configured(self) -> tuple[str, ...]:
        """The values of the labels, or the default."""
        return tuple(label.replace(self.prefix, "") for label in self.labels) or (self.default,)

    @property
    def provided(self) -> tuple[str, ...]:
        """The values that the bundle supports by its labels or by its manager's images, sorted."""
        return tuple(sorted({*self.configured, *filter(None, self.found)}))

    @property
    def unlabelled(self) -> list[str]:
        """The provided values without a label. The default needs none if it is the only value."""
        if self.provided == (self.default,):
            return []
        known = [each for each in self.provided if not any(each in label for label in self.labels)]
        return [each for each in known if each != _FAILED.os]


def multiarch(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of multiarch."""
    report, tool = Reporter.of("multiarch", bundle), values.get(TOOL_VALUE, "").lower()
    if report is None:
        return
    if tool not in ("", "none", *_TOOLS):
        known = "One of: [docker, podman, none] (If not set, the default value is docker)"
        text = f"invalid value ({TOOL_VALUE}) for ({tool}). {known}"
        yield report.failed(ERROR, "multiarch-tool", text, hint="Leave it out: then the registries are asked.")
        return
    images = _images_of(report.csv)
    names = dict.fromkeys(name for group in images.groups for name in group)
    found = tool_platforms(names, tool) if tool in _TOOLS else registry_platforms(names, values)
    yield from _inspection_findings(report, images, found)
    yield from _platform_findings(report, images)


def _platform_findings(report: Reporter, images: _Images) -> Iterator[Finding]:
    labels = {key: value for key, value in mapping(report.csv.metadata.get("labels")).items() if value == "supported"}
    provided = [platform for group in images.managers.values() for platform in group]
    systems, architectures = (
        _Supported(prefix, tuple(sorted(key for key in labels if prefix in key)), default, tuple(found))
        for prefix, default, found in (
            (_OS_LABEL, "linux", [each.os for each in provided]),
            (_ARCHITECTURE_LABEL, "amd64", [each.architecture for each in provided]),
        )
    )
    yield from _label_findings(report, images, architectures, "Arch", "amd64 architectures")
    yield from _label_findings(report, images, systems, "OS", "linux OS")
    for group in (images.others, images.related):
        for name, platforms in group.items():
            has = [{each.architecture for each in platforms}, {each.os for each in platforms}]
            yield from _missing_findings(report, images, name, (architectures, has[0], "Arch"))
            yield from _missing_findings(report, images, name, (systems, has[1], "OS"))
    for group in (images.managers, images.others):
        for name, platforms in group.items():
            yield from _affinity_findings(report, images, name, platforms)
    yield from _support_findings(report, images, systems, architectures)


def _images_of(csv: Document) -> _Images:
    """The images. The manager of a Deployment is the container of this name, else each container but the proxy."""
    images = _Images()
    pods = list(_pods(csv))
    for index, pod in pods:
        affinity = tuple(_affinity(pod))
        has_manager = False
        for number, (name, image) in enumerate(containers := _containers(pod)):
            path = (*DEPLOYMENTS, index, "spec", "template", "spec", "containers", number, "image")
            images.paths.setdefault(image, path)
            if image in images.managers:
                continue
            if name == "manager":
                images.managers[image] = ()
                has_manager = True
            images.affinity[image] = affinity
        if not has_manager:
            images.managers |= {
                image: () for name, image in containers if name != _PROXY and image not in images.managers
            }
    images.others = {image: () for _, pod in pods for _, image in _containers(pod) if image not in images.managers}
    for index, related in enumerate(mappings(csv.spec.get("relatedImages"))):
        images.related[text_of(related.get("image"))] = ()
        images.paths.setdefault(text_of(related.get("image")), ("spec", "relatedImages", index, "image"))
    return images


def _pods(csv: Document) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, deployment in enumerate(mappings(install_spec(csv).get("deployments"))):
        yield index, mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))


def _containers(pod: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(text_of(each.get("name")), text_of(each.get("image"))) for each in mappings(pod.get("containers"))]


def _affinity(pod: Mapping[str, Any]) -> Iterator[Platform]:
    """The platforms of the required node affinity."""
    node = mapping(mapping(pod.get("affinity")).get("nodeAffinity"))
    required = mapping(node.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in mappings(required.get("nodeSelectorTerms")):
        named: dict[Any, list[str]] = {
            each.get("key"): texts_of(each.get("values"))
            for each in mappings(term.get("matchExpressions"))
            if each.get("operator") == "In" and isinstance(each.get("key"), str)
        }
        for system in named.get("kubernetes.io/os", ()):
            for architecture in named.get("kubernetes.io/arch", ()):
                yield Platform(system, architecture)


def _inspection_findings(report: Reporter, images: _Images, found: Found) -> Iterator[Finding]:
    """Fill in the platforms; a finding for each image that could not be inspected."""
    for group in images.groups:
        for name in group:
            answer = found[name]
            if isinstance(answer, NoPlatforms):
                group[name] = (_FAILED,)
                text = f"unable to inspect the image ({name}) : {answer}"
                hint = "Push the image, or log in to its registry."
                yield report.failed(WARNING, "multiarch-inspect", text, images.paths.get(name, ()), hint)
            else:
                group[name] = answer


def _label_findings(
    report: Reporter, images: _Images, supported: _Supported, noun: str, more_than: str
) -> Iterator[Finding]:
    if missing := supported.unlabelled:
        text = (
            f"check if the CSV is missing the label ({supported.prefix}<value>) for the {noun}(s): {_quoted(missing)}. Be aware "
            f"that your Operator manager image {_quoted(images.managers)} provides this support. Thus, it is very likely that "
            f"you want to provide it and if you support more than {more_than}{',' if noun == 'Arch' else ''} you MUST,use the "
            "required labels for all which are supported.Otherwise, your solution cannot be listed on the cluster for these "
            "architectures"
        )
        yield report.failed(WARNING, "multiarch-labels", text, ("metadata", "labels"), _LABELS_HINT)


def _missing_findings(
    report: Reporter, images: _Images, name: str, kind: tuple[_Supported, set[str], str]
) -> Iterator[Finding]:
    """A finding if another image lacks a platform that the bundle supports."""
    supported, has, noun = kind
    if _FAILED.os in has:
        return
    if missing := [each for each in supported.provided if each not in has and each != _FAILED.os]:
        text = (
            f"check if the image {name} should not support {_quoted(missing)}. Note that this CSV has labels for this {noun}(s) "
            f"Your manager image {_quoted(images.managers)} are providing this support OR the CSV is configured via labels to "
            "support it. Then, please verify if this image should not support it"
        )
        hint = "Build this image for the same platforms as the image of the manager."
        yield report.failed(WARNING, "multiarch-other-image", text, images.paths.get(name, ()), hint)


def _affinity_findings(
    report: Reporter, images: _Images, name: str, platforms: Sequence[Platform]
) -> Iterator[Finding]:
    path, affinity = images.paths.get(name, ()), images.affinity.get(name, ())
    hint = "Require kubernetes.io/os and kubernetes.io/arch of the image in the node affinity of the pod."
    if not affinity:
        if _FAILED in platforms:
            text = f"check if the CSV is missing a node affinity configuration for the image: {quoted(name)}. "
            yield report.failed(WARNING, "multiarch-affinity", text, path, hint)
        text = (
            f"check if the CSV has a missing or invalid node affinity configuration for the image: {quoted(name)}. The image "
            f"data suggests the following platforms are supported: {_quoted(platforms)}"
        )
        yield report.failed(WARNING, "multiarch-affinity", text, path, hint)
        return
    if extra := [each for each in affinity if each not in platforms]:
        text = (
            f"the CSV includes {_quoted(extra)} in the node affinity configuration for the image: {quoted(name)}, but the image "
            f"data suggests the following platforms are supported: {_quoted(platforms)}"
        )
        yield report.failed(WARNING, "multiarch-affinity", text, path, hint)
    if missing := [each for each in platforms if each not in affinity]:
        text = (
            f"the image data indicates {_quoted(missing)} is supported for the image: {quoted(name)}, but the node affinity "
            f"configuration for the image only specifies {_quoted(affinity)}"
        )
        yield report.failed(WARNING, "multiarch-affinity", text, path, hint)


def _support_findings(
    report: Reporter, images: _Images, systems: _Supported, architectures: _Supported
) -> Iterator[Finding]:
    """A finding for each platform of the labels that an image lacks."""
    for system in systems.configured:
        for architecture in architectures.configured:
            wanted = f"{system}.{architecture}"
            without = sorted(
                name
                for group in images.groups
                for name, platforms in group.items()
                if _FAILED not in platforms and wanted not in [f"{each.os}.{each.architecture}" for each in platforms]
            )
            if without:
                text = (
                    "not all images specified are providing the support described via the CSV labels. Note that "
                    f"(OS.architecture): ({wanted}) was not found for the image(s) {format_list(without)}"
                )
                yield report.failed(ERROR, "multiarch-support", text, ("metadata", "labels"), _LABELS_HINT)


def _quoted(items: Iterable[object]) -> str:
    return quoted_list(map(str, items), ascii_only=False)
