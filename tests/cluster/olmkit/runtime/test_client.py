"""The client on a real API server: requests, responses, errors, authentication."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import Cluster
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, OlmError, Unavailable
from olmkit.runtime import client as client_module
from olmkit.runtime.client import Client
from olmkit.runtime.metrics import REQUESTS
from tests.cluster.olmkit.conftest import CONFIG_MAP, Object, config_map, proxied


async def test_create_get_patch_and_delete(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAP, config_map(namespace, "a", key="1"))
    assert (await client.get(CONFIG_MAP, "a", namespace)) == made
    patched = await client.patch(CONFIG_MAP, "a", {"data": {"other": "2"}}, namespace)
    assert patched["data"] == {"key": "1", "other": "2"}
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAP, "a", namespace, resource_version=made["metadata"]["resourceVersion"])
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAP, "a", namespace, uid="another")
    await client.delete(CONFIG_MAP, "a", namespace, uid=made["metadata"]["uid"])
    with pytest.raises(NotFound):
        await client.delete(CONFIG_MAP, "a", namespace)


async def test_creating_an_existing_object_is_a_conflict(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a"))
    with pytest.raises(Conflict) as raised:
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
    assert raised.value.reason == "AlreadyExists"


async def test_apply_owns_its_fields_and_removes_omitted_ones(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAP, config_map(namespace, "a", one="1", two="2"), "first")
    await client.apply(CONFIG_MAP, config_map(namespace, "a", three="3"), "second")
    applied = await client.apply(CONFIG_MAP, config_map(namespace, "a", one="1"), "first")
    assert applied["data"] == {"one": "1", "three": "3"}
    with pytest.raises(Conflict):
        await client.apply(CONFIG_MAP, config_map(namespace, "a", one="9"), "second", force=False)
    forced = await client.apply(CONFIG_MAP, config_map(namespace, "a", one="9"), "second")
    assert forced["data"] == {"one": "9"}


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    answer = await client.apply(CONFIG_MAP, config_map(namespace, "a", key="1"), "me", dry_run=True)
    assert answer["data"] == {"key": "1"}
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAP, "a", namespace)


async def test_a_resource_version_of_1_makes_an_apply_create_only(client: Client, namespace: str) -> None:
    wanted = config_map(namespace, "a", key="1")
    locked = {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": "1"}}
    await client.apply(CONFIG_MAP, locked, "me")
    with pytest.raises(Conflict):
        await client.apply(CONFIG_MAP, locked, "me")


async def test_text_that_yaml_would_change_is_applied_unchanged(client: Client, namespace: str) -> None:
    text = 'line\u2028paragraph\u2029next\x85delete\x7fmark\ufeff end\x9f 😀 é \\ " \t'
    applied = await client.apply(CONFIG_MAP, config_map(namespace, "a", text=text), "me")
    assert applied["data"]["text"] == text


async def test_an_undeclared_field_is_an_invalid_object(client: Client, namespace: str) -> None:
    with pytest.raises(Invalid, match=r"\.surprise: field not declared in schema"):
        await client.apply(CONFIG_MAP, {**config_map(namespace, "a"), "surprise": 1}, "me")


async def test_a_list_is_read_in_pages_and_its_items_have_kinds(client: Client, namespace: str) -> None:
    for number in range(7):
        await client.create(CONFIG_MAP, config_map(namespace, f"a{number}", key="1"))
    selector = "test=runtime"
    sizes = [len(items) async for items, _ in client.pages(CONFIG_MAP, namespace, selector, limit=3)]
    assert sizes == [3, 3, 1]
    items, version = await client.list(CONFIG_MAP, namespace, selector, limit=3)
    assert int(version) >= max(int(item["metadata"]["resourceVersion"]) for item in items)
    assert {(item["apiVersion"], item["kind"]) for item in items} == {("v1", "ConfigMap")}
    metadata, _ = await client.list(CONFIG_MAP, namespace, selector, metadata_only=True)
    assert all(set(item) == {"apiVersion", "kind", "metadata"} and item["kind"] == "ConfigMap" for item in metadata)


@pytest.mark.parametrize("metadata_only", [False, True])
async def test_a_watch_sends_all_events_after_a_version(client: Client, namespace: str, metadata_only: bool) -> None:
    _, version = await client.list(CONFIG_MAP, namespace)
    big = "x" * 900_000
    await client.create(CONFIG_MAP, config_map(namespace, "a", big=big))
    await client.patch(CONFIG_MAP, "a", {"data": {"more": "1"}}, namespace)
    await client.delete(CONFIG_MAP, "a", namespace)
    received: list[tuple[str, str | None]] = []
    events = client.watch(CONFIG_MAP, version, namespace, "test=runtime", metadata_only=metadata_only)
    async with asyncio.timeout(60), aclosing(events):
        async for event in events:
            received.append((event["type"], event["object"]["metadata"].get("name")))
            assert event["object"]["kind"] == "ConfigMap"
            assert ("data" in event["object"]) is (event["type"] != "BOOKMARK" and not metadata_only)
            if event["type"] == "DELETED":
                break
    assert received == [("BOOKMARK", None), ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_ends_after_its_timeout(client: Client, namespace: str) -> None:
    _, version = await client.list(CONFIG_MAP, namespace)
    async with asyncio.timeout(60):
        events = client.watch(CONFIG_MAP, version, namespace, "test=runtime", timeout_seconds=1)
        types = [event["type"] async for event in events]
    assert set(types) == {"BOOKMARK"}


async def test_an_idle_watch_is_closed(
    cluster: Cluster, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        client_module, "WATCH_IDLE_TIMEOUT_SECONDS", 3.0
    )  # the time in which the API server has to accept the watch
    async with proxied(cluster, tmp_path) as (between, client):
        _, version = await client.list(CONFIG_MAP, namespace)
        events = client.watch(CONFIG_MAP, version, namespace, "test=runtime")
        assert (await anext(events))["type"] == "BOOKMARK"
        between.silence()
        with pytest.raises(Unavailable):
            await asyncio.wait_for(anext(events), 60)


async def test_a_refused_connection_is_unavailable(cluster: Cluster, tmp_path: Path) -> None:
    async with proxied(cluster, tmp_path) as (between, client):
        between.close()
        between.cut()
        with pytest.raises(Unavailable) as raised:
            await client.version()
    assert (raised.value.status, raised.value.reason) == (0, "NoAnswer")
    assert str(between.port) not in str(raised.value), "a message with an address would differ each time"


async def test_a_kind_that_is_not_served_is_not_found(client: Client) -> None:
    nothing = Kind("nobody.example.com", "v1", "Nothing", "nothings")
    with pytest.raises(NotFound):
        await client.list(nothing)
    with pytest.raises(NotFound):
        await anext(client.watch(nothing, "1"))


async def test_discovery(client: Client) -> None:
    found = await client.discover()
    deployment = found.find("apps/v1", "Deployment")
    assert deployment is not None
    assert deployment.path("space", "a") == "/apis/apps/v1/namespaces/space/deployments/a"
    assert found.kinds["", "Namespace"].namespaced is False
    assert found.find("apps/v1beta1", "Deployment") is None


async def test_version(client: Client, cluster: Cluster) -> None:
    assert await client.version() == cluster.server_version()


async def test_requests_are_counted_by_code_method_and_host(client: Client, namespace: str) -> None:
    counter = REQUESTS.labels("404", "GET", client.host)
    before = counter._value.get()
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAP, "missing", namespace)
    assert counter._value.get() == before + 1


def account(cluster: Cluster, namespace: str, name: str) -> Object:
    """The content of a kubeconfig for a new ServiceAccount without rights."""
    cluster.kubectl("create", "serviceaccount", name, f"--namespace={namespace}")
    content: Object = yaml.safe_load(cluster.token_kubeconfig(namespace, name).read_text())
    return content


async def test_a_request_without_permission_is_forbidden(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(account(cluster, namespace, "nobody")))
    async with await Client.connect(str(path)) as client:
        with pytest.raises(Forbidden) as raised:
            await client.list(CONFIG_MAP, namespace)
    assert raised.value.status == 403


async def test_a_token_file_is_read_again_when_its_token_is_rejected(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    content = account(cluster, namespace, "someone")
    user = content["users"][0]["user"]
    token = tmp_path / "token"
    token.write_text("expired")
    good = user.pop("token")
    user["tokenFile"] = "token"  # relative to the kubeconfig, as kubectl reads it
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    async with await Client.connect(str(path)) as client:
        with pytest.raises(Forbidden) as raised:
            await _user_name(client)
        assert raised.value.status == 401
        token.write_text(good + "\n")
        assert await _user_name(client) == f"system:serviceaccount:{namespace}:someone"


async def test_a_token_file_is_read_again_when_it_is_old(
    cluster: Cluster, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = account(cluster, namespace, "first")
    first = content["users"][0]["user"].pop("token")
    second = account(cluster, namespace, "second")["users"][0]["user"]["token"]
    token = tmp_path / "token"
    token.write_text(first)
    content["users"][0]["user"]["tokenFile"] = str(token)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    async with await Client.connect(str(path)) as client:
        assert await _user_name(client) == f"system:serviceaccount:{namespace}:first"
        token.write_text(second)
        assert await _user_name(client) == f"system:serviceaccount:{namespace}:first", "not read for each request"
        monkeypatch.setattr("olmkit.runtime.kubeconfig.MAX_CREDENTIALS_AGE_SECONDS", 0.0)
        assert await _user_name(client) == f"system:serviceaccount:{namespace}:second"


async def test_an_exec_plugin_is_run_again_when_its_token_is_rejected(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    content = account(cluster, namespace, "plugged")
    user = content["users"][0]["user"]
    good = user.pop("token")
    version = "client.authentication.k8s.io/v1beta1"
    answer = tmp_path / "answer.json"
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": "expired"}}
    answer.write_text(json.dumps(credential))
    user["exec"] = {"apiVersion": version, "command": "cat", "args": [str(answer)], "interactiveMode": "Never"}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    async with await Client.connect(str(path)) as client:
        with pytest.raises(Forbidden):
            await _user_name(client)
        answer.write_text(json.dumps({**credential, "status": {"token": good}}))
        assert await _user_name(client) == f"system:serviceaccount:{namespace}:plugged"


async def test_old_credentials_remain_in_use_if_they_cannot_be_read_again(
    cluster: Cluster, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = account(cluster, namespace, "steady")
    token = tmp_path / "token"
    token.write_text(content["users"][0]["user"].pop("token"))
    content["users"][0]["user"]["tokenFile"] = str(token)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    async with await Client.connect(str(path)) as client:
        monkeypatch.setattr("olmkit.runtime.kubeconfig.MAX_CREDENTIALS_AGE_SECONDS", 0.0)
        token.unlink()
        assert await _user_name(client) == f"system:serviceaccount:{namespace}:steady"


async def _user_name(client: Client) -> str:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.request("POST", path, body=body)
    return str(answer["status"]["userInfo"]["username"])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="a missing file"),
        pytest.param("{", id="no YAML"),
        pytest.param("", id="an empty file"),
        pytest.param(json.dumps({"current-context": "a", "contexts": []}), id="a missing context"),
        pytest.param(json.dumps([1]), id="a list"),
    ],
)
async def test_an_unusable_kubeconfig_is_an_error(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    with pytest.raises(OlmError, match="kubeconfig"):
        await Client.connect(str(path))


async def test_errors_keep_their_cause(cluster: Cluster, tmp_path: Path) -> None:
    async with proxied(cluster, tmp_path) as (between, client):
        between.touch(lambda chunk: b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
        with pytest.raises(ApiError) as raised:
            await client.version()
    assert raised.value.reason == "BadAnswer"
    assert raised.value.__cause__ is not None


async def test_another_context_of_a_kubeconfig_and_another_user(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    content = account(cluster, namespace, "a")
    admin = yaml.safe_load(cluster.kubeconfig.read_text())
    content["users"].append({"name": "boss", "user": admin["users"][0]["user"]})
    content["contexts"].append({"name": "boss", "context": {**content["contexts"][0]["context"], "user": "boss"}})
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    async with await Client.connect(str(path)) as plain:
        own = await _user_name(plain)
    async with await Client.connect(str(path), context="boss", impersonate="jane") as impersonating:
        assert (own, await _user_name(impersonating)) == (f"system:serviceaccount:{namespace}:a", "jane")
    with pytest.raises(OlmError, match="kubeconfig"):
        await Client.connect(str(path), context="x")
