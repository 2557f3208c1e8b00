"""Every object of a cluster that the run brought about, without what differs from one run to the next.

Left out: uids, resourceVersions, times and managedFields; what was there before the run; objects that controllers of Kubernetes
make under names and addresses of their own choice (pods, ReplicaSets, endpoints); Events, Leases and Nodes. Of certificates it is
compared that they are there.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from olmkit.api.meta import Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client

Key = tuple[str, str, str, str]
"""Group, kind, namespace, name."""
_IGNORED_KINDS = frozenset({"Endpoints", "Event", "Lease", "Node", "ComponentStatus", "IPAddress"})
_BUILT_IN_OWNERS = frozenset({"Deployment", "ReplicaSet", "Service", "Node", "Lease"})
_MADE_IN_EACH_NAMESPACE = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
_DROPPED = ("resourceVersion", "managedFields", "creationTimestamp")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CERTIFICATES = re.compile(
    r'"(caBundle|ca\.crt|tls\.crt|tls\.key|core\.rukpak\.io/certificate-[a-z-]*(?:digest|after))":"[^"]*"'
)
_REPLICA_SET = re.compile(r'ReplicaSet \\"[^"]*\\"')
"""Its name has a hash of the pod template, which names the certificate."""
_CLUSTER_ADDRESS = re.compile(r'"clusterIPs?":(?:"[0-9.]+"|\["[0-9.]+"\])')
_APPLIED_DIGEST = re.compile(r'"appliedDigest":"[^"]*"')
"""A digest of the fields of objects, labels with uids among them."""


async def read_objects(client: Client) -> dict[Key, Object]:
    """All objects of all kinds that can be listed."""
    discovery = await client.discover()
    found: dict[Key, Object] = {}
    for group_kind, kind in sorted(discovery.kinds.items()):
        if kind.kind in _IGNORED_KINDS or (kind.group, kind.version, kind.kind) not in discovery.listable:
            continue
        try:
            objects, _ = await client.list(kind)
        except ApiError as error:
            raise AssertionError(f"{group_kind} cannot be listed: {error}") from error
        for obj in objects:
            metadata = obj["metadata"]
            named = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
            found[(*group_kind, metadata.get("namespace", ""), metadata["name"])] = named
    return found


def normalized(objects: dict[Key, Object], before: dict[Key, Object]) -> dict[str, Any]:
    """The objects that were not there before, by key, as they are compared."""
    names = {obj["metadata"]["uid"]: " ".join(filter(None, key)) for key, obj in objects.items()}
    kept = {key: obj for key, obj in objects.items() if key not in before and not _is_made_by_kubernetes(key, obj)}
    return {" ".join(filter(None, key)): orjson.loads(_text(obj, names)) for key, obj in sorted(kept.items())}


def _is_made_by_kubernetes(key: Key, obj: Object) -> bool:
    owners = {owner["kind"] for owner in obj["metadata"].get("ownerReferences") or ()}
    return bool(owners & _BUILT_IN_OWNERS) or (key[1], key[3]) in _MADE_IN_EACH_NAMESPACE


def _text(obj: Object, names: dict[str, str]) -> str:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
    text = orjson.dumps({**obj, "metadata": metadata}, option=orjson.OPT_SORT_KEYS).decode()
    text = _UID.sub(lambda match: f"uid of {names.get(match[0], 'what is gone')}", text)
    text = _CERTIFICATES.sub(r'"\1":"MADE"', text)
    text = _REPLICA_SET.sub("ReplicaSet", text)
    text = _CLUSTER_ADDRESS.sub('"clusterIP":"ADDRESS"', text)
    return _APPLIED_DIGEST.sub('"appliedDigest":"DIGEST"', _TIME.sub("TIME", text))


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """One line for each object and field that differs."""
    lines = [f"missing: {key}" for key in expected if key not in found]
    lines += [f"left over: {key}" for key in found if key not in expected]
    for key in expected.keys() & found.keys():
        lines += [f"{key}: {line}" for line in _fields("", expected[key], found[key])]
    return sorted(lines)


def _fields(path: str, one: Any, two: Any) -> list[str]:
    if isinstance(one, dict) and isinstance(two, dict):
        return [
            line
            for name in sorted(one.keys() | two.keys())
            for line in _fields(f"{path}.{name}", one.get(name), two.get(name))
        ]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return [
            line for index, pair in enumerate(zip(one, two, strict=True)) for line in _fields(f"{path}[{index}]", *pair)
        ]
    return [] if one == two else [f"{path} is {two!r}, without kills {one!r}"]
