"""Rotates the serving certificate of an operator as rukpak does when it nears its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from devcluster.watch import Object, Watch
from olmkit.api.bundledeployments import CERTIFICATE_ANNOTATION, ROTATION_ANNOTATION
from rukpak.certificates import secrets
from rukpak.certificates.serving_certificate import Step
from tests.e2e.stage import ClusterStage

SECONDS = 180.0


def rotate(stage: ClusterStage, service: str, namespace: str) -> None:
    """Take the first step, which rukpak takes 30 days before the end of a certificate, and return after rukpak's last one."""
    name = f"{service}-cert"
    with Watch(stage.cluster, f"/api/v1/namespaces/{namespace}/secrets") as watched:
        key = f"{namespace}/{name}"
        before = watched.until("there is a certificate", lambda objects: objects.get(key))
        host = f"{service}.{namespace}"
        _trust_next(stage, before, (host, f"{host}.svc", f"{host}.svc.cluster.local"))
        old = _annotations(before)[CERTIFICATE_ANNOTATION]

        def is_rotated(objects: Mapping[str, Object]) -> bool:
            found = _annotations(objects[key])
            return found[CERTIFICATE_ANNOTATION] != old and ROTATION_ANNOTATION not in found

        watched.until("the certificate is another one, and alone trusted", is_rotated, SECONDS)


def _trust_next(stage: ClusterStage, secret: Object, host_names: tuple[str, ...]) -> None:
    data = secrets.changed(secret, Step.TRUST, host_names, datetime.now(UTC))
    metadata = secret["metadata"]
    changed = {
        "metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "annotations": secrets.annotations_of(data, host_names, Step.TRUST),
        },
        "data": secrets.encoded(data),
    }
    where = (f"--namespace={metadata['namespace']}", "--type=merge", f"--patch={json.dumps(changed)}")
    stage.cluster.kubectl("patch", "secret", metadata["name"], *where)


def _annotations(secret: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = secret["metadata"]["annotations"]
    return found
