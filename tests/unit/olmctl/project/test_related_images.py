"""The relatedImages of a ClusterServiceVersion."""

from __future__ import annotations

import pytest

from olmctl.project.csv import Options, make, new_base
from olmctl.project.manifests import BadInput
from olmctl.project.permissions import split_permissions
from olmctl.project.related_images import related_images, with_containers, with_kept
from tests.project_input import collection, deployment


def env(**images: str) -> str:
    return "env:\n" + "".join(f"- {{name: RELATED_IMAGE_{name}, value: {image}}}\n" for name, image in images.items())


def second(container: str) -> str:
    return "initContainers:\n- name: init\n  image: i\n" + "".join(f"  {line}\n" for line in container.splitlines())


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([deployment(container=env(A_Long="a:1", B="b:1"))], "a-long=a:1 b=b:1", id="names are lower-case"),
        pytest.param([deployment(container="env: [{name: OTHER, value: a}]\n")], "", id="other variables do not count"),
        pytest.param(
            [deployment(container=env(A="a:1"), pod=second(env(A="a:1")))],
            "a=a:1",
            id="one image that two containers name",
        ),
        pytest.param(
            [deployment("x", container=env(A="a:1")), deployment("z", container=env(A="a:2"))],
            "x-a=a:1 z-a=a:2",
            id="one name for two images: the Deployment is part of it",
        ),
        pytest.param(
            [deployment("x", container=env(A="a:1"), pod=second(env(A="a:2")))],
            "x-manager-a=a:1 x-init-a=a:2",
            id="in one Deployment the container is part of it too",
        ),
        pytest.param([deployment(container=env(A="a:1", B="a:1"))], "=a:1", id="two names for one image: no name"),
    ],
)
def test_images_of_the_environment(objects: list[str], expected: str) -> None:
    found, notes = related_images(collection(*objects))
    assert " ".join(f"{each['name']}={each['image']}" for each in found) == expected
    assert bool(notes) == expected.startswith("=")


def test_a_variable_without_a_value_is_refused_at_its_line() -> None:
    text = deployment(container="env:\n- name: RELATED_IMAGE_A\n  valueFrom: {fieldRef: {fieldPath: a}}\n")
    line = text.split("\n").index("        - name: RELATED_IMAGE_A") + 1
    with pytest.raises(BadInput) as raised:
        related_images(collection(text))
    problem = "related images with valueFrom field unsupported, found in RELATED_IMAGE_A"
    assert str(raised.value) == f"all.yaml:{line}: Deployment kettle: {problem}"


def test_images_of_the_base_stay_unless_the_input_has_their_name_or_image() -> None:
    base = [{"name": name, "image": image} for name, image in (("a", "old"), ("b", "b:1"), ("", "c:1"), ("d", "new"))]
    found = [{"name": "a", "image": "new"}]
    assert with_kept(found, base) == [base[1], base[2], found[0]]


def test_images_of_containers_are_listed_once_under_the_first_name_that_is_free() -> None:
    objects = [deployment("x", pod=second("")), deployment("z").replace("kettle:1", "kettle:2")]
    parts = collection(*objects)
    made = make(new_base("p"), parts, split_permissions(parts, ()), Options("p", lists_all_images=True))
    assert made.value["spec"]["relatedImages"] == [
        {"image": "registry.example.com/kettle:1", "name": "manager"},
        {"image": "i", "name": "init"},
        {"image": "registry.example.com/kettle:2", "name": "z-manager"},
    ]
    assert with_containers([{"image": "i", "name": "mine"}], made.value["spec"]["install"]["spec"]["deployments"])[
        0
    ] == {
        "image": "i",
        "name": "mine",
    }
