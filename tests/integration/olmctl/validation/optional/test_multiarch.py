"""The platforms of a bundle's images, from a tool as upstream runs it, and from a real registry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.multiarch import multiarch
from tests import images
from tests.servers.local_registry import LocalRegistry
from tests.unit.olmctl.validation.made_bundle import made, put

IMAGE = "quay.io/kettles/operator:v1.2.3"
POD = "spec.install.spec.deployments.0.spec.template.spec"
TOOL = """#!/bin/sh
printf '%s %s\\n' "$1" "$2" >> {log}
case "$1 $2 $3" in
"manifest inspect {image}") cat {answer};;
"pull {image} ") ;;
*) echo "no such image" >&2; exit 1;;
esac
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a program podman that knows one image; `answer` in it is the index, `log` what was asked."""
    program = tmp_path / "podman"
    program.write_text(TOOL.format(image=IMAGE, answer=tmp_path / "answer", log=tmp_path / "log"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    built_for(tmp_path, "linux/amd64")
    return tmp_path


def built_for(tool: Path, *platforms: str) -> None:
    pairs = [platform.split("/") for platform in platforms]
    entries = [{"platform": {"os": system, "architecture": architecture}} for system, architecture in pairs]
    (tool / "answer").write_text(json.dumps({"manifests": entries}))


def for_platforms(
    *architectures: str, labels: tuple[str, ...] = (), image: str = "", related: str = ""
) -> LoadedBundle:
    """A bundle whose pods require these architectures, and that is labelled for others, with other images."""
    expressions = [
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": list(architectures)},
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    named = {f"operatorframework.io/arch.{each}": "supported" for each in labels}
    changes = [put(f"{POD}.containers.0.image", image)] if image else []
    changes += [put("spec.relatedImages", [{"name": "a", "image": related}])] if related else []
    return made(put(f"{POD}.affinity", affinity), put("metadata.labels", named), *changes)


def texts(bundle: LoadedBundle, **values: str) -> list[str]:
    given = {name.replace("_", "-"): value for name, value in values.items()}
    return [each.message.replace(" Value kettle-operator.v1.2.3:", "") for each in multiarch(bundle, given)]


def test_a_bundle_for_the_platforms_of_its_image(tool: Path) -> None:
    assert texts(for_platforms("amd64"), container_tools="podman") == []
    built_for(tool, "linux/amd64", "linux/arm64", "unknown/unknown")
    assert texts(for_platforms("amd64", "arm64", labels=("amd64", "arm64")), container_tools="Podman") == []


def test_platforms_without_labels(tool: Path) -> None:
    built_for(tool, "linux/amd64", "linux/arm64")
    (text,) = texts(for_platforms("amd64", "arm64"), container_tools="podman")
    start = "Warning: check if the CSV is missing the label (operatorframework.io/arch.<value>) for the Arch(s): "
    assert text.startswith(f'{start}["amd64" "arm64"]. Be aware that your Operator manager image ["{IMAGE}"] provides')


def test_labels_without_platforms(tool: Path) -> None:
    (text,) = texts(for_platforms("amd64", labels=("amd64", "s390x")), container_tools="podman")
    assert text.endswith(f"(OS.architecture): (linux.s390x) was not found for the image(s) [{IMAGE}]")


def test_affinity_with_other_platforms(tool: Path) -> None:
    missing, extra = texts(for_platforms("arm64"), container_tools="podman")[::-1]
    assert extra.startswith(
        'Warning: the CSV includes ["linux/arm64"] in the node affinity configuration for the image: '
    )
    assert missing.endswith('but the node affinity configuration for the image only specifies ["linux/arm64"]')
    (text,) = texts(made(), container_tools="podman")
    assert text.endswith('The image data suggests the following platforms are supported: ["linux/amd64"]')


def test_an_image_that_the_tool_does_not_know_is_tried_twice(tool: Path) -> None:
    bundle = for_platforms("amd64", related="quay.io/a/b:gone")
    assert texts(bundle, container_tools="podman") == [
        "Warning: unable to inspect the image (quay.io/a/b:gone) : podman pull quay.io/a/b:gone failed with error: "
        "(exit status 1) no such image\n"
    ]
    assert (tool / "log").read_text().count("pull quay.io/a/b:gone") == 2


def test_an_image_is_never_an_option_of_the_tool(tool: Path) -> None:
    bundle = for_platforms("amd64", related="--help")
    (text,) = texts(bundle, container_tools="podman")
    assert text == "Warning: unable to inspect the image (--help) : it is no reference to an image"
    assert "--help" not in (tool / "log").read_text()


def test_a_tool_that_is_not_there(tool: Path) -> None:
    text, *_ = texts(for_platforms("amd64"), container_tools="docker")
    assert 'failed with error: (exec: "docker": executable file not found in $PATH)' in text


def test_another_tool() -> None:
    assert texts(made(), container_tools="Buildah") == [
        "Error: invalid value (container-tools) for (buildah). One of: [docker, podman, none] (If not set, the default value is "
        "docker)"
    ]


@pytest.mark.parametrize("values", [{}, {"container_tools": "none"}])
def test_without_a_tool_the_registries_are_asked(values: dict[str, str], local_registry: LocalRegistry) -> None:
    host = local_registry.address
    digest = images.push(host, "multiarch/operator", "v1", [], {})
    images.push_index(host, "multiarch/operator", "both", dict.fromkeys(("linux/amd64", "linux/arm64"), digest))
    access = {"registries-conf": str(local_registry.registries_conf), **values}
    single = for_platforms("amd64", image=f"{host}/multiarch/operator:v1")
    assert texts(single, **access) == []
    both = for_platforms("amd64", "arm64", labels=("amd64", "arm64"), image=f"{host}/multiarch/operator:both")
    assert texts(both, **access) == []
    gone = for_platforms("amd64", image=f"{host}/multiarch/operator:gone")
    text, *_ = texts(gone, **access)
    assert text.startswith(f"Warning: unable to inspect the image ({host}/multiarch/operator:gone) : ")
