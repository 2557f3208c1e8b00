"""Images and their digests in a ClusterServiceVersion."""

from __future__ import annotations

from typing import Any

from olmctl.project.pinning import images_of, pinned


def csv() -> dict[str, Any]:
    container = {
        "name": "m",
        "image": "m:1",
        "args": ["--image", "i:1"],
        "env": [{"name": "RELATED_IMAGE_A", "value": "a:1"}],
    }
    pod = {"containers": [container], "initContainers": [{"name": "i", "image": "i:1"}]}
    return {
        "metadata": {"annotations": {"containerImage": "c:1", "alm-examples": "m:1"}},
        "spec": {
            "relatedImages": [{"name": "a", "image": "a:1"}],
            "install": {"spec": {"deployments": [{"name": "d", "spec": {"template": {"spec": pod}}}]}},
        },
    }


def test_all_images_are_found_once() -> None:
    assert images_of(csv()) == ["c:1", "a:1", "m:1", "i:1"]


def test_each_text_that_is_an_image_gets_its_digest_but_for_examples() -> None:
    found = pinned(csv(), {each: f"{each[0]}@digest" for each in images_of(csv())})
    assert found["metadata"]["annotations"] == {"containerImage": "c@digest", "alm-examples": "m:1"}
    assert images_of(found) == ["c@digest", "a@digest", "m@digest", "i@digest"]
    pod = found["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["--image", "i@digest"]


def test_a_csv_without_images_has_none() -> None:
    assert images_of({"metadata": {}, "spec": {"install": {}}}) == []
