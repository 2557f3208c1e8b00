"""Charts rendered by the real helm in its sandbox."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from olmkit.errors import OlmError
from olmkit.jobs.job import Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from rukpak.charts.rendering import Rendering, unpacked
from rukpak.charts.template_request import LIMITS, TEMPLATE, TemplateRequest, TemplateResult
from rukpak.charts.values import ValuesLayer
from rukpak.format.errors import BadBundle
from tests.chart_files import chart_files, packed_chart, small_chart, write_chart
from tests.integration.job_results import next_result

NUMBERS = itertools.count()
VERSIONS = ("apps/v1", "apps/v1/Deployment", "policy/v1", "policy/v1/PodDisruptionBudget", "v1", "v1/Secret")


class Renderer:
    """The jobs that render, and a directory of charts."""

    def __init__(self, program: Path, root: Path, timeout: float = 60) -> None:
        self.program, self.root = program, root
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        sandbox = Sandbox(reads=(root,), network=False, executes=(program,))
        limits = replace(LIMITS, timeout=timedelta(seconds=timeout))
        self.jobs = Jobs[TemplateResult](
            self.ends.put_nowait, limits=limits, preload=[TEMPLATE.module], sandbox=sandbox
        )

    async def result(
        self,
        files: Mapping[str, bytes],
        *layers: ValuesLayer,
        versions: tuple[str, ...] = VERSIONS,
        upgrade: bool = False,
    ) -> TemplateResult:
        chart = write_chart(files, self.root / f"chart-{next(NUMBERS)}")
        request = TemplateRequest(self.program, chart, "ship", "port", "v1.34.4", versions, upgrade, layers)
        self.jobs.forget("one")
        self.jobs.ensure("one", "1", Task(TEMPLATE, request))
        return await next_result(self.jobs, self.ends)

    async def render(self, files: Mapping[str, bytes], *layers: ValuesLayer, **options: Any) -> Rendering:
        return unpacked((await self.result(files, *layers, **options)).content)

    async def objects(
        self, files: Mapping[str, bytes], *layers: ValuesLayer, **options: Any
    ) -> dict[str, dict[str, Any]]:
        """The objects by kind and name."""
        rendering = await self.render(files, *layers, **options)
        return {f"{each['kind']} {each['metadata']['name']}": dict(each) for each in rendering.objects}

    async def error(self, files: Mapping[str, bytes], *layers: ValuesLayer, **options: Any) -> BadBundle:
        with pytest.raises(BadBundle) as error:
            await self.result(files, *layers, **options)
        return error.value


@pytest.fixture
async def renderer(helm_program: Path, tmp_path: Path) -> AsyncIterator[Renderer]:
    made = Renderer(helm_program, tmp_path)
    try:
        yield made
    finally:
        await made.jobs.close()


def values(**given: Any) -> ValuesLayer:
    return ValuesLayer("config.values", json.dumps(given))


async def test_a_chart_is_rendered_with_values_for_the_cluster(renderer: Renderer) -> None:
    objects = await renderer.objects(chart_files("web"), values(replicas=3, settings={"color": None, "size": "large"}))
    assert objects.keys() == {"ServiceAccount ship", "ConfigMap ship-settings", "Service ship", "Deployment ship"}
    assert objects["Deployment ship"]["spec"]["replicas"] == 3
    assert objects["ConfigMap ship-settings"]["data"] == {"greeting": "hello", "size": "large", "release": "install"}
    assert objects["Service ship"]["metadata"]["namespace"] == "port"
    upgraded = await renderer.objects(chart_files("web"), upgrade=True)
    assert upgraded["ConfigMap ship-settings"]["data"]["release"] == "upgrade"


async def test_subcharts_follow_conditions_and_tags(renderer: Renderer) -> None:
    assert (await renderer.objects(chart_files("umbrella"))).keys() == {
        "ConfigMap ship-umbrella",
        "Service ship-cache",
        "StatefulSet ship-cache",
    }
    chosen = values(cache={"enabled": False}, tags={"messaging": True})
    objects = await renderer.objects(chart_files("umbrella"), chosen)
    assert objects.keys() == {"ConfigMap ship-umbrella", "ConfigMap ship-events"}
    assert objects["ConfigMap ship-events"]["data"] == {"topics": "orders"}


async def test_definitions_of_crds_are_rendered_too(renderer: Renderer) -> None:
    rendering = await renderer.render(chart_files("definitions"))
    assert [body["kind"] for body in rendering.objects] == ["CustomResourceDefinition", "ClusterRole", "Boat"]


async def test_libraries_files_and_lists(renderer: Renderer) -> None:
    library = await renderer.objects(chart_files("with-library"))
    assert library["ConfigMap ship-extra"]["data"] == {"ns": "port"}
    objects = await renderer.objects(chart_files("files"))
    assert objects.keys() == {"ConfigMap ship-files", "Service ship-http", "Service ship-admin"}
    data = objects["ConfigMap ship-files"]["data"]
    assert (data["big"], data["app.conf"].strip()) == ("12345678901", 'listen = "{{ port }}"')


async def test_capabilities_are_those_of_the_cluster(renderer: Renderer) -> None:
    result = await renderer.result(chart_files("capabilities"))
    assert result.uses_api_versions
    objects = {body["kind"]: body for body in unpacked(result.content).objects}
    assert objects["PodDisruptionBudget"]["apiVersion"] == "policy/v1"
    assert objects["ConfigMap"]["data"] == {
        "version": "v1.34.4",
        "minor": "34",
        "monitoring": "false",
        "deployment": "true",
        "beta": "false",
    }
    many = (
        *VERSIONS,
        *(f"group{number}.example.com/v1/Kind{number}" for number in range(6000)),
        "monitoring.coreos.com/v1",
    )
    objects = {
        body["kind"]: body
        for body in unpacked((await renderer.result(chart_files("capabilities"), versions=many)).content).objects
    }
    assert objects["ConfigMap"]["data"]["monitoring"] == "true"
    assert not (await renderer.result(chart_files("web"))).uses_api_versions


async def test_generated_values_are_named(renderer: Renderer) -> None:
    rendering = await renderer.render(chart_files("password"))
    assert {str(key): paths for key, paths in rendering.changing.items()} == {
        "Secret ship": (("data", "password"),),
        "ConfigMap ship-url": (("data", "plain"),),
    }
    certificates = await renderer.render(chart_files("certificates"))
    assert {str(key): len(paths) for key, paths in certificates.changing.items()} == {
        "Secret ship-tls": 3,
        "ValidatingWebhookConfiguration.admissionregistration.k8s.io ship": 1,
    }


@pytest.mark.parametrize("is_archived", [False, True], ids=["of a chart", "of a chart within a chart"])
async def test_times_in_seconds_differ_each_time(renderer: Renderer, is_archived: bool) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {at: {{ now | unixEpoch | quote }}}"
    files = small_chart({"a.yaml": text})
    if is_archived:
        files = {**small_chart({}, "outer"), "charts/small-1.0.0.tgz": packed_chart(files, "small")}
    rendering = await renderer.render(files)
    assert {str(key): paths for key, paths in rendering.changing.items()} == {"ConfigMap a": (("data", "at"),)}


@pytest.mark.parametrize(
    ("files", "given", "reason", "message"),
    [
        pytest.param(
            chart_files("web"),
            {"replicas": "three"},
            "InvalidConfiguration",
            "values don't meet the specifications of the schema(s) in the following chart(s): "
            "web: - at '/replicas': got string, want integer",
            id="a value that the schema refuses",
        ),
        pytest.param(
            chart_files("umbrella"),
            {"cache": {"size": "big"}},
            "InvalidConfiguration",
            "cache: - at '/size': got string, want integer",
            id="a value that the schema of a subchart refuses",
        ),
        pytest.param(
            chart_files("web"),
            {"ingress": {"enabled": True, "hosts": [{}]}},
            "InvalidConfiguration",
            "execution error at (web/templates/ingress.yaml:8:15): ingress.hosts[].name is needed",
            id="a value that a template requires",
        ),
        pytest.param(
            small_chart({"a.yaml": "{{ .Values.a.b.c }}"}),
            {},
            "BundleLoadFailed",
            "nil pointer evaluating interface {}.b",
            id="a template that fails",
        ),
        pytest.param(
            small_chart({"a.yaml": "{{ if }}"}),
            {},
            "BundleLoadFailed",
            "parse error at (small/templates/a.yaml:1)",
            id="no template",
        ),
        pytest.param(
            small_chart({"a.yaml": "a: b: c"}),
            {},
            "BundleLoadFailed",
            "YAML parse error on small/templates/a.yaml",
            id="no YAML",
        ),
        pytest.param(
            small_chart({"a.yaml": "kind: ConfigMap\napiVersion: v1"}),
            {},
            "UnpackFailed",
            'error parsing objects in "small/templates/a.yaml": ConfigMap has no metadata',
            id="no object",
        ),
        pytest.param(
            small_chart({}, Chart_yaml='apiVersion: v2\nname: small\nversion: 1.0.0\nkubeVersion: ">=1.99"'),
            {},
            "BundleLoadFailed",
            "chart requires kubeVersion: >=1.99 which is incompatible with Kubernetes v1.34.4",
            id="another Kubernetes",
        ),
        pytest.param(
            chart_files("migrations"),
            {},
            "BundleLoadFailed",
            "Job.batch ship-migrate (pre-install, pre-upgrade)",
            id="hooks",
        ),
        pytest.param(
            small_chart(
                {"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {helm.sh/hook: crd-install}}"}
            ),
            {},
            "BundleLoadFailed",
            "the chart has objects with hooks that helm does not know, and would leave them out: crd-install",
            id="a hook of an unknown event",
        ),
        pytest.param(
            small_chart({"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ randAlphaNum 9 | lower }}}"}),
            {},
            "BundleLoadFailed",
            "gives objects other names each time",
            id="names that differ each time",
        ),
    ],
)
async def test_errors_name_the_value_or_the_template(
    renderer: Renderer, files: dict[str, bytes], given: dict[str, Any], reason: str, message: str
) -> None:
    error = await renderer.error(files, values(**given))
    assert message in error.message
    assert error.reason == reason


SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    ("files", "text"),
    [
        pytest.param(chart_files("web"), f"password: {SECRET}", id="the schema refuses it"),
        pytest.param(
            small_chart({"a.yaml": '{{ fail (printf "no: %s" .Values.password) }}'}),
            f"password: {SECRET}",
            id="fail shows it",
        ),
        pytest.param(
            small_chart({"a.yaml": "{{ fail (.Values.password | b64enc) }}"}),
            f"password: {SECRET}",
            id="fail shows it encoded",
        ),
        pytest.param(
            small_chart(
                {"a.yaml": f'{{{{ if eq .Values.password "{SECRET}" }}}}{{{{ fail .Values.password }}}}{{{{ end }}}}'}
            ),
            f"password: {SECRET}",
            id="only the true value fails",
        ),
    ],
)
async def test_values_of_secrets_are_never_shown(renderer: Renderer, files: dict[str, bytes], text: str) -> None:
    error = await renderer.error(files, ValuesLayer("Secret x", text, is_secret=True))
    for shown in (SECRET, "aHVudGVyMmh1bnRlcjI="):
        assert shown not in error.message
        assert shown not in repr(error.__reduce__())
    open_error = await renderer.error(files, ValuesLayer("config.values", text))
    is_shown = SECRET in open_error.message or "aHVudGVyMmh1bnRlcjI=" in open_error.message
    assert is_shown, "the same error shows what is no Secret"


async def test_rendering_reaches_neither_the_network_nor_files_outside_the_chart(
    renderer: Renderer, tmp_path: Path
) -> None:
    """A schema may refer to a URL and to a file, which the unpack job refuses; helm would read both."""
    token = tmp_path / "token"
    token.write_text('{"type": "string"}')
    accepted = asyncio.Event()
    server = await asyncio.start_server(lambda *_: accepted.set(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        for place, words in ((f"file://{token}", "permission denied"), (f"http://127.0.0.1:{port}/a", "not permitted")):
            schema = json.dumps({"properties": {"a": {"$ref": place}}})
            error = await renderer.error({**small_chart({}), "values.schema.json": schema.encode()}, values(a="b"))
            assert words in error.message
        assert not accepted.is_set()


async def test_rendering_that_never_ends_is_ended(helm_program: Path, tmp_path: Path) -> None:
    endless = small_chart({"a.yaml": "{{ range until 10000 }}{{ range until 1000000 }}{{ end }}{{ end }}"})
    slow = Renderer(helm_program, tmp_path, timeout=3)
    try:
        with pytest.raises(OlmError, match=r"^it took longer than 3 s and was ended$"):
            await slow.result(endless)
        with pytest.raises(OlmError, match=r"^helm template needs more memory than a rendering may use$"):
            await slow.result(small_chart({"a.yaml": "{{ until 100000000 }}"}))
    finally:
        await slow.jobs.close()


async def test_output_without_end_is_not_read(renderer: Renderer) -> None:
    """Files of crds/ are printed as they are: rendering as many bytes by a template may need more memory than it may use."""
    definition = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + f"# {'x' * 97}\n" * 45_000
    error = await renderer.error(small_chart({}) | {f"crds/{number}.yaml": definition.encode() for number in range(4)})
    assert "prints more than 16,777,216 bytes" in error.message


async def test_dependencies_in_archives_are_rendered(renderer: Renderer) -> None:
    inner = packed_chart(
        small_chart({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inner}"}, "inner"), "inner"
    )
    assert (await renderer.objects({**small_chart({}), "charts/inner-1.0.0.tgz": inner})).keys() == {"ConfigMap inner"}
