"""What a BundleDeployment reports about the health of its objects, on the real API server with its own controllers."""

from typing import Any

from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.pod_watch import PODS
from tests.cluster.rukpak.harness import (
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    definition,
    deployment,
    kind_of,
    namespace,
    plain,
    says,
    thing,
)
from tests.conditions import triple

NOWHERE = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}


def with_pods(body: Object, **spec: Any) -> Object:
    """A workload whose pods have these fields too."""
    body["spec"]["template"]["spec"].update(spec)
    return body


async def kubelet_reports(at: Harness, pod: Object, *statuses: Object) -> None:
    """Write the status of the containers of a pod that no node runs, as its kubelet would."""
    body = {"status": {"phase": "Running", "containerStatuses": list(statuses)}}
    await at.client.request(
        "PATCH",
        PODS.path(at.name, pod["metadata"]["name"]) + "/status",
        body=body,
        content_type="application/strategic-merge-patch+json",
    )


async def test_the_words_of_a_pod_that_does_not_run_are_reported(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), with_pods(deployment("engine", at.name), **NOWHERE))))
    raw = await at.until(says("Ready", "False", "Progressing", "is not running: Unschedulable"))
    pod = await at.when_any(PODS, at.name, lambda _: True)
    assert f"pod {pod['metadata']['name']}: is not running: Unschedulable" in triple(raw, "Healthy")[2]
    crash = {"terminated": {"exitCode": 3, "reason": "Error", "message": "starting\ncannot open the hatch\n"}}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
    container = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 4}
    await kubelet_reports(at, pod, {**container, "state": state, "lastState": crash})
    words = "CrashLoopBackOff: container main exited with 3, its last line: cannot open the hatch"
    await at.until(says("Healthy", "Unknown", "Progressing", words))
    pull = {"waiting": {"reason": "ErrImagePull", "message": 'failed to pull "x": not found'}}
    await kubelet_reports(at, pod, {**container, "restartCount": 0, "state": pull, "lastState": None})
    await at.until(
        says("Healthy", "Unknown", "Progressing", 'ImagePullBackOff: container main cannot pull x: failed to pull "x"')
    )


async def test_scaling_never_turns_ready_false(at: Harness, running: Client) -> None:
    # One node: the scheduler places one of the replicas, the other ones have to wait.
    rule = {"labelSelector": {"matchLabels": {"app": "engine"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}
    await at.install(at.push(plain(namespace(at.name), with_pods(deployment("engine", at.name), **apart))))
    await at.until(READY)
    seen: list[str] = []
    at.deployments.subscribe(lambda change: seen.append(" ".join(triple(change.new or {}, "Ready"))))
    for replicas in (3, 1):
        patch = {"spec": {"replicas": replicas}}
        path = DEPLOYMENTS.path(at.name, "engine") + "/scale"
        await at.client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
        if replicas == 3:
            raw = await at.until(says("Healthy", "Unknown", "Progressing", "1 of 3 replicas are available"))
            assert "1 of 3 replicas are available" in triple(raw, "Ready")[2]
        else:
            await at.until(says("Healthy", "True"))
    assert [text for text in seen if not text.startswith("True")] == []


async def test_a_custom_resource_of_the_bundle_is_ready_before_the_bundle_is(at: Harness, running: Client) -> None:
    boats = kind_of(at.group)
    objects = (namespace(at.name), definition(at.group), thing(boats, "dinghy", at.name))
    await at.install(at.push(plain(*objects)))
    await at.until(READY)  # a custom resource without conditions
    for status, wanted in (("False", says("Ready", "False", "Progressing", "is not ready: Leaking")), ("True", READY)):
        conditions = [{"type": "Ready", "status": status, "reason": "Leaking" if status == "False" else "Tight"}]
        await at.client.patch(boats, "dinghy", {"status": {"conditions": conditions}}, at.name)
        await at.until(wanted)
