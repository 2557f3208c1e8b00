"""rukpak is killed after each of its writes: the next process brings about the same world, and removes all of it again.

Only its cache directory remains.
"""

from __future__ import annotations

import base64
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import HELM
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.source_secrets import SECRETS
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.setup import build
from tests.chart_files import small_chart
from tests.cluster import killable_process
from tests.cluster.killable_process import KillSwitch, first
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    cluster_role,
    config_map,
    data,
    definition,
    deployment,
    gone,
    kind_of,
    namespace,
    plain,
    running_informers,
    says,
    settings,
    thing,
)
from tests.cluster.rukpak.tenants import ACCOUNT, OWN, Tenant

pytestmark = pytest.mark.crash

SYSTEM = "olm-suite-system"
MAX_WRITES = 60
"""More writes than any of the three steps takes."""


Begin = Callable[[], Awaitable[Any]]


@dataclass
class Series:
    """A plain bundle and the next version of it, which changes, drops and adds objects. With a tenant, they are installed as its
    account."""

    at: Harness
    cache: Path
    tenant: Tenant | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sent: list[tuple[str, str]] = field(default_factory=list)
    """What all processes have sent: the user, and the request."""

    @property
    def spec(self) -> dict[str, Any]:
        """What the BundleDeployments have beside their bundles."""
        if self.tenant is None:
            return {}
        return {"serviceAccount": {"name": ACCOUNT, "namespace": self.tenant.namespace}}

    @contextlib.asynccontextmanager
    async def rukpak(self) -> AsyncIterator[KillSwitch]:
        """The process rukpak; it is killed at the end, whatever it is doing."""
        made = settings(self.at.cluster, self.cache, **self.settings)
        async with killable_process.run_killable("rukpak", made, build) as kill_switch:
            try:
                yield kill_switch
            finally:
                self.sent += kill_switch.sent

    def namespace(self, name: str) -> str:
        return name

    async def prepare(self, name: str) -> tuple[Begin, Begin]:
        """Make what a BundleDeployment needs; returns what installs the first version, and the second."""
        at = self.at
        await at.create(NAMESPACES, namespace(name))
        space, crd = namespace(name), definition(f"{name}.example.com")
        engine, boat = deployment("engine", name), thing(kind_of(f"{name}.example.com"), "dinghy", name)
        one = plain(space, crd, config_map("both", name, v="1"), config_map("old", name), engine)
        two = plain(space, crd, config_map("both", name, v="2"), config_map("new", name), engine, boat)
        refs = at.push(one, f"{name}-v1"), at.push(two, f"{name}-v2")
        first, second = (partial(at.install, ref, name, **self.spec) for ref in refs)
        return first, second

    async def world(self, name: str) -> dict[str, Any]:
        """What is there of a BundleDeployment, without what differs from one process to the next."""
        at, raw = self.at, self.at.deployments.get(name) or {}
        found = {key: _content(obj) for key, obj in (await at.owned(_uid(raw), await self.kinds(name))).items()}
        space = await at.find(NAMESPACES, self.namespace(name)) or {"metadata": {"labels": {}}}
        members = [label for label in space["metadata"]["labels"] if label.startswith("member.")]
        status = raw.get("status") or {}
        reported = {"revision": status.get("revision"), "is_known": "appliedDigest" in status}
        stable = self.stable(name, {key: str(value) for key, value in found.items()})
        return {key.replace(name, "NAME"): value.replace(name, "NAME") for key, value in stable.items()} | {
            "members": len(members),
            **reported,
        }

    async def kinds(self, name: str) -> list[Kind]:
        boats = kind_of(f"{name}.example.com")
        has_boats = await self.at.find(CRDS, f"boats.{boats.group}") is not None
        return [CRDS, CONFIG_MAPS, DEPLOYMENTS, *([boats] if has_boats else [])]

    def stable(self, name: str, found: dict[str, str]) -> dict[str, str]:
        """The objects without what differs by chance."""
        return found

    async def check_removed(self, name: str) -> None:
        assert (await self.at.find(NAMESPACES, name) or {})["metadata"]["labels"] == {
            "kubernetes.io/metadata.name": name
        }
        assert await self.at.find(CRDS, f"boats.{name}.example.com") is None

    def check_sent(self, *allowed: str) -> None:
        """With an account, rukpak itself writes its own kinds, and what is `allowed`."""
        if self.tenant is None:
            return
        lines = {line for user, line in self.sent if user != self.tenant.user}
        assert [
            line for line in sorted(lines) if not OWN.fullmatch(line) and not any(map(line.startswith, allowed))
        ] == []
        assert any(user == self.tenant.user for user, _ in self.sent)


class NarrowSeries(Series):
    """The same as an account that may do what the bundles need and nothing else."""

    async def prepare(self, name: str) -> tuple[Begin, Begin]:
        assert self.tenant is not None
        group, verbs = f"{name}.example.com", ["create", "delete", "get", "patch"]
        named = [
            ("", "configmaps", ["both", "old", "new"]),
            ("apps", "deployments", ["engine"]),
            ("apiextensions.k8s.io", "customresourcedefinitions", [f"boats.{group}"]),
            (group, "boats", ["dinghy"]),
        ]
        rules: list[Object] = [
            {"apiGroups": [each], "resources": [resource], "resourceNames": names, "verbs": verbs}
            for each, resource, names in named
        ]
        rules.append({"apiGroups": [group], "resources": ["boats"], "verbs": ["delete", "list"]})
        rules.append({"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [name], "verbs": ["get"]})
        await self.at.create(CLUSTER_ROLES, cluster_role(name, rules=rules))
        await self.tenant.bind(name)
        return await super().prepare(name)


class ChartSeries(Series):
    """A chart with a generated password, and values in a Secret."""

    passwords: defaultdict[str, set[str]]
    """BundleDeployment -> every password that one of its objects has had."""

    def chart(self, version: str) -> dict[str, bytes]:
        text = """
{{- $password := randAlphaNum 20 }}
apiVersion: v1
kind: ConfigMap
metadata: {name: url}
data: {password: {{ $password | quote }}, color: {{ .Values.color }}}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: {{ $password | b64enc }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: only-VERSION}
data: {color: {{ .Values.color }}}
"""
        return small_chart({"all.yaml": text.replace("VERSION", version)})

    def namespace(self, name: str) -> str:
        return f"{name}-system"

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Remember every password."""
        self.passwords = defaultdict(set)
        informers = [Informer(self.at.client, kind) for kind in (CONFIG_MAPS, SECRETS)]
        for each in informers:
            each.subscribe(self._remember)
        async with running_informers(*informers):
            yield

    def _remember(self, change: Change) -> None:
        raw = change.new or {"metadata": {"name": ""}}
        if raw["metadata"]["name"] in ("url", "login"):
            password = raw["data"]["password"]
            is_secret = raw["metadata"]["name"] == "login"
            found = base64.b64decode(password).decode() if is_secret else password
            self.passwords[raw["metadata"]["namespace"]].add(found)

    async def prepare(self, name: str) -> tuple[Begin, Begin]:
        at = self.at
        if await at.find(NAMESPACES, SYSTEM) is None:
            await at.client.create(NAMESPACES, namespace(SYSTEM))
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": SYSTEM}}
        await at.create(SECRETS, {**secret, "stringData": {"values.yaml": "color: red"}})
        refs = [at.push(self.chart(version), f"{name}-{version}") for version in ("v1", "v2")]
        config = {"valuesFrom": [{"kind": "Secret", "name": name}]}

        async def upgrade() -> None:
            await at.client.patch(SECRETS, name, {"stringData": {"values.yaml": "color: blue"}}, SYSTEM)
            await at.install(refs[1], name, HELM, config=config)
            await at.when(CONFIG_MAPS, "only-v2", f"{name}-system", lambda raw: data(raw) == {"color": "blue"})

        return partial(at.install, refs[0], name, HELM, config=config), upgrade

    async def kinds(self, name: str) -> list[Kind]:
        return [CONFIG_MAPS, SECRETS]

    def stable(self, name: str, found: dict[str, str]) -> dict[str, str]:
        assert len(self.passwords[self.namespace(name)]) == 1
        (password,) = self.passwords[self.namespace(name)]
        encoded = base64.b64encode(password.encode()).decode()
        return {key: value.replace(password, "PASSWORD").replace(encoded, "ENCODED") for key, value in found.items()}

    async def check_removed(self, name: str) -> None:
        assert await self.at.find(NAMESPACES, self.namespace(name)) is None


def _uid(raw: Object) -> str:
    return str(raw.get("metadata", {}).get("uid", "none"))


def _content(obj: Object) -> Any:
    return obj.get("data", {}) if obj["kind"] in ("ConfigMap", "Secret") else obj["spec"]


@pytest.fixture(params=["plain", "account", "narrow", "chart"])
async def series(
    request: pytest.FixtureRequest, at: Harness, tenant: Tenant, helm_program: Path, tmp_path: Path
) -> AsyncIterator[Series]:
    """What is installed."""
    if request.param == "chart":
        charts = ChartSeries(at, tmp_path, settings={"helm": helm_program})
        async with charts.watched():
            yield charts
        return
    if request.param == "account":
        await tenant.bind("cluster-admin")
    kind = NarrowSeries if request.param == "narrow" else Series
    yield kind(at, tmp_path, tenant if request.param in ("account", "narrow") else None)


@pytest.mark.timeout(900)
async def test_a_kill_after_any_write_leads_to_the_same_world(at: Harness, series: Series) -> None:
    """For each n: killed after the n-th write of the installation, of the upgrade and of the removal, and each time another
    process continues."""
    expected = await _uninterrupted(at, series)
    kills = 0
    for number in range(1, MAX_WRITES):
        name = f"{at.name}-{number}"
        install, upgrade = await series.prepare(name)
        was_killed = [
            await _step(series, number, name, install, READY),
            await _checked(series, name, expected[0]),
            await _step(series, number, name, upgrade, READY),
            await _checked(series, name, expected[1]),
            await _step(series, number, name, partial(at.remove, name), gone),
        ]
        await series.check_removed(name)
        kills += sum(was_killed)
        if not any(was_killed):
            break
    print(f"{kills} kills, {number - 1} writes in the longest step")
    assert not any(was_killed)
    assert kills > 20
    series.check_sent(f"PATCH /api/v1/namespaces/{at.name}-")


async def _uninterrupted(at: Harness, series: Series) -> tuple[dict[str, Any], dict[str, Any]]:
    """The worlds after the first and the second bundle when nothing goes wrong."""
    name = f"{at.name}-x"
    install, upgrade = await series.prepare(name)
    async with series.rukpak():
        await install()
        await at.until(READY, name)
        one = await series.world(name)
        await upgrade()
        await _settled(at, name)
        two = await series.world(name)
        await at.remove(name)
        await at.until(gone, name)
    assert two != one
    return one, two


async def _settled(at: Harness, name: str) -> None:
    """Ready, and nothing of the bundle before is left."""
    await at.until(READY, name)
    await at.until(lambda _: bundles_of(at, name) == 1, name)


async def _step(series: Series, number: int, name: str, begin: Begin, end: Callable[[Object | None], bool]) -> bool:
    """Kill the process during a step, then let another one finish it; returns whether it was killed before the end."""
    at = series.at

    async def whole() -> None:
        await begin()
        await at.until(end, name)

    async with series.rukpak() as kill_switch:
        kill_switch.writes_left = number
        await first(kill_switch.killed.wait(), whole())
        was_killed = kill_switch.was_killed
    async with series.rukpak():
        await (at.until(gone, name) if end is gone else _settled(at, name))
    return was_killed


async def _checked(series: Series, name: str, expected: dict[str, Any]) -> bool:
    assert await series.world(name) == expected
    return False


@pytest.mark.timeout(600)
@pytest.mark.parametrize("series", ["plain", "account"], indirect=True)
async def test_a_kill_during_the_deletion_of_a_namespace_leaves_none(at: Harness, series: Series) -> None:
    """One exists at a time: each process applies again what exists, and its writes would be counted."""
    kills = 0
    for number in range(1, MAX_WRITES):
        name = f"{at.name}-{number}"
        async with series.rukpak():
            ref = at.push(plain(namespace(name), config_map("log", name)), name)
            await at.install(ref, name, **series.spec)
            await at.until(READY, name)
        was_killed = await _step(series, number, name, partial(at.remove, name), gone)
        assert await at.find(NAMESPACES, name) is None
        kills += was_killed
        if not was_killed:
            break
    assert kills
    assert not was_killed
    series.check_sent()


BROKEN = """
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: engine}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: engine}
spec:
  selector: {matchLabels: {app: engine}}
  template: {metadata: {labels: {app: another}}, spec: {containers: [{name: main, image: registry.example.com/x:v1}]}}
"""
"""What the API server refuses, after other objects of its chart have been applied."""


ROLLED_BACK = says("Stalled", "True", "RolledBack", "selector")


@pytest.mark.timeout(900)
async def test_a_kill_during_the_rollback_of_a_chart_leads_back_to_what_ran(
    at: Harness, helm_program: Path, tmp_path: Path
) -> None:
    series = ChartSeries(at, tmp_path, settings={"helm": helm_program})
    kills = 0
    async with series.watched():
        for number in range(1, MAX_WRITES):
            was_killed = await _killed_rollback(series, number, f"{at.name}-{number}")
            kills += was_killed
            if not was_killed:
                break
    print(f"{kills} kills")
    assert kills > 5
    assert not was_killed


async def _killed_rollback(series: ChartSeries, number: int, name: str) -> bool:
    """Kill the process after the n-th write of an upgrade that is rolled back; returns whether it was killed before the end."""
    at = series.at
    install, _ = await series.prepare(name)
    async with series.rukpak():
        await install()
        await at.until(READY, name)
        before = await series.world(name)
    (path, text), *others = sorted(series.chart("v2").items(), key=lambda each: not each[0].endswith("all.yaml"))
    ref = at.push({path: text + BROKEN.encode(), **dict(others)}, f"{name}-broken")
    config = {"valuesFrom": [{"kind": "Secret", "name": name}]}
    upgrade = partial(at.install, ref, name, HELM, config=config, rollback="OnFailure")
    async with series.rukpak() as kill_switch:
        kill_switch.writes_left = number
        await first(kill_switch.killed.wait(), _upgraded(at, upgrade, name))
        was_killed = kill_switch.was_killed
    async with series.rukpak():
        await at.until(ROLLED_BACK, name)
        await at.until(lambda _: bundles_of(at, name) == 1, name)
        assert await series.world(name) == before
        await at.remove(name)
        await at.until(gone, name)
    await series.check_removed(name)
    return was_killed


async def _upgraded(at: Harness, upgrade: Begin, name: str) -> None:
    await upgrade()
    await at.until(ROLLED_BACK, name)


def bundles_of(at: Harness, name: str) -> int:
    return sum(known.startswith(f"{name}-") for _, known in at.bundles.objects)
