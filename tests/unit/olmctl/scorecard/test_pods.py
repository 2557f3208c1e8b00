"""The pods of custom tests."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from olmctl.scorecard.cluster import longest_run
from olmctl.scorecard.configuration import Stage, TestSpec
from olmctl.scorecard.pods import (
    LONGEST_ANNOTATION,
    MAX_CONFIG_MAP_BYTES,
    FileTooLarge,
    Run,
    bundle_volume,
    is_left,
    pod_of,
    state_of,
)
from olmctl.scorecard.storage import Packer

RUN = Run("scorecard-1", "ns", "tester")


def test_a_bundle_of_any_size_reaches_a_pod_in_several_configmaps() -> None:
    files = {f"manifests/{number}.yaml": bytes([number]) * (MAX_CONFIG_MAP_BYTES // 2) for number in range(5)}
    files["metadata/annotations.yaml"] = b"a: b\n"
    found = bundle_volume(RUN, files)
    assert len(found.config_maps) == 3
    contents = {}
    for source in found.volume["projected"]["sources"]:
        (made,) = (each for each in found.config_maps if each["metadata"]["name"] == source["configMap"]["name"])
        assert sum(len(value) for value in made["binaryData"].values()) < 2 * 1024**2
        for item in source["configMap"]["items"]:
            contents[item["path"]] = base64.b64decode(made["binaryData"][item["key"]])
    assert contents == files
    assert [(each["mountPath"], each["subPath"]) for each in found.mounts] == [
        ("/bundle/manifests", "manifests"),
        ("/bundle/metadata", "metadata"),
    ]


@pytest.mark.parametrize(
    ("longest", "now", "expected"),
    [
        pytest.param("600", "2026-01-01T10:10:01Z", True, id="its run cannot take so long"),
        pytest.param("600", "2026-01-01T10:09:59Z", False, id="its run may still take place"),
        pytest.param("600", "2025-01-01T10:00:00Z", False, id="the clock of the cluster was wrong"),
        pytest.param(None, "2030-01-01T10:00:00Z", False, id="it is to be kept"),
        pytest.param("1e9", "2030-01-01T10:00:00Z", False, id="no number"),
        pytest.param("9" * 20, "2030-01-01T10:00:00Z", False, id="no time"),
    ],
)
def test_a_configmap_that_a_killed_run_has_left(longest: str | None, now: str, expected: bool) -> None:
    annotations = {LONGEST_ANNOTATION: longest} if longest is not None else None
    metadata = {"creationTimestamp": "2026-01-01T10:00:00Z", "annotations": annotations}
    assert is_left({"metadata": metadata}, now) is expected


def test_a_run_says_how_long_it_takes() -> None:
    run = Run(
        "r", "ns", "s", longest=longest_run([Stage((TestSpec("i"),) * 40, is_parallel=True)], 30, stores_files=True)
    )
    (made,) = bundle_volume(run, {"manifests/a.yaml": b""}).config_maps
    assert made["metadata"]["annotations"] == {LONGEST_ANNOTATION: str(2 * (30 + 300 + 60) + 300)}
    assert bundle_volume(RUN, {"manifests/a.yaml": b""}).config_maps[0]["metadata"]["annotations"] == {}


def test_a_file_that_fits_into_no_configmap_is_named() -> None:
    with pytest.raises(FileTooLarge, match=r"manifests/a\.yaml has 900,001 bytes"):
        bundle_volume(RUN, {"manifests/a.yaml": b"x" * (MAX_CONFIG_MAP_BYTES + 1)})


def test_a_pod() -> None:
    bundle = bundle_volume(RUN, {"manifests/a.yaml": b"a"})
    files = Packer("tools:v1").storage("/files")
    pod = pod_of(RUN, "p", TestSpec("i:v1", ("run", "a")), bundle, 30, files)
    container, packer = pod["spec"]["containers"]
    assert (packer["name"], packer["image"]) == ("scorecard-gather", "tools:v1")
    assert [each["volumeMounts"][-1] for each in (container, packer)] == [
        {"name": "storage", "mountPath": "/files"}
    ] * 2
    assert packer["securityContext"]["runAsUser"] == 0, "files of any user are read"
    assert (container["image"], container["command"]) == ("i:v1", ["run", "a"])
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "SCORECARD_NAMESPACE": "ns",
        "SCORECARD_STORAGE": "/files",
    }
    assert (pod["spec"]["serviceAccountName"], pod["spec"]["activeDeadlineSeconds"]) == ("tester", 90)
    assert "runAsNonRoot" not in pod["spec"]["securityContext"]
    restricted = Run("r", "ns", "s", restricted=True)
    limited = pod_of(restricted, "p", TestSpec("i"), bundle, 30, Packer("i", is_suite=True).storage("/a"))["spec"]
    assert "runAsUser" not in limited["containers"][1]["securityContext"]
    plain = pod_of(restricted, "p", TestSpec("i"), bundle, 30)["spec"]
    assert plain["securityContext"]["runAsNonRoot"] is True
    assert [each["name"] for each in plain["volumes"]] == ["bundle"]
    assert "command" not in plain["containers"][0]


def pod(phase: str, state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    others = [{"name": "scorecard-gather", "state": {"running": {}}}]
    containers = [*others, {"name": "scorecard-test", "state": state}] if state else []
    return {"status": {"phase": phase, "containerStatuses": containers, **status}}


PULL = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "i"'}}
UNSCHEDULED = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]


@pytest.mark.parametrize(
    ("found", "is_ended", "has_run", "words"),
    [
        pytest.param(pod("Succeeded"), True, True, "", id="it has ended"),
        pytest.param(
            pod("Failed", {"terminated": {"exitCode": 2, "reason": "Error", "message": "no"}}),
            True,
            True,
            "its container ended with exit code 2 (Error): no",
            id="it has failed",
        ),
        pytest.param(
            pod("Running", {"terminated": {"exitCode": 0}}), True, True, "", id="it has ended, and its files are packed"
        ),
        pytest.param(
            pod("Running", {"terminated": {"exitCode": 2, "reason": "Error"}}),
            True,
            True,
            "its container ended with exit code 2 (Error)",
            id="it has failed, and its files are packed",
        ),
        pytest.param(
            pod("Failed", reason="DeadlineExceeded", message="too long"),
            True,
            False,
            "its pod failed: DeadlineExceeded: too long",
            id="its time is over",
        ),
        pytest.param(
            pod("Pending", PULL),
            False,
            False,
            'its container waits: ImagePullBackOff: Back-off pulling image "i"',
            id="an image that cannot be pulled",
        ),
        pytest.param(
            pod("Pending", {"waiting": {"reason": "InvalidImageName"}}),
            True,
            False,
            "its container waits: InvalidImageName",
            id="an image that can never be pulled",
        ),
        pytest.param(
            pod("Pending", conditions=UNSCHEDULED),
            False,
            False,
            "its pod is not scheduled: Unschedulable: 0/1 nodes",
            id="no node",
        ),
        pytest.param(pod("Pending"), False, False, "its pod has not started", id="not yet"),
        pytest.param(pod("Running", {"running": {}}), False, True, "its container still runs", id="it runs"),
    ],
)
def test_the_state_of_a_pod(found: dict[str, Any], is_ended: bool, has_run: bool, words: str) -> None:
    state = state_of(found)
    assert (state.is_ended, state.has_run, state.failure) == (is_ended, has_run, words)
