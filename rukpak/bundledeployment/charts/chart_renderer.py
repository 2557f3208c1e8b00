"""Renders the charts of BundleDeployments in jobs, and keeps the renderings in memory: they may have values of Secrets.

The state of a rendering is part of the World; rukpak.bundledeployment.act starts the jobs, and the end of a job enqueues the
BundleDeployment. Secrets and ConfigMaps with values are read when a job starts; informers that keep only metadata show their
versions. Never writes an object, and never logs a value.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from olmkit.api.bundledeployments import VALUES_WITH_ACCOUNT, ValuesFrom
from olmkit.errors import Blocked, NotFound, OlmError
from olmkit.jobs.job import Task
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, Queued, Running
from olmkit.runtime.client import Client
from olmkit.runtime.source_inputs import CONFIG_MAPS, SourceInputs
from olmkit.runtime.source_secrets import SECRETS
from olmkit.sources.spec_source import SECRET, InputReference
from olmkit.store.store import Store
from rukpak.bundle.storage import FILES, HELM, is_intact
from rukpak.bundledeployment.charts.chart_state import ChartInputs, ChartState
from rukpak.bundledeployment.cluster.rest_mapper import RestMapper
from rukpak.charts.template_request import TEMPLATE, TemplateRequest, TemplateResult
from rukpak.charts.values import ValuesLayer
from rukpak.format.errors import INVALID_CONFIGURATION, BadBundle
from rukpak.render.install_options import InstallOptions, chart_options_problem
from rukpak.render.namespaces import default_namespace

MAX_CONTENT_BYTES = 64 * 1024**2
"""Bytes of all renderings that are kept, compressed. Others are made again when they have to be applied."""
MAX_VALUES_BYTES = 1024**2
"""Bytes of all values of a chart in Secrets and ConfigMaps."""
DEFAULT_KEY = "values.yaml"
"""The key of Secrets and ConfigMaps with values, unless another one is named."""
HELM_MISSING = "HelmMissing"
"""The reason when rukpak has no helm."""
NO_HELM = "rukpak has no helm, the program that renders Helm charts: its flag --helm is the path of one that it can run"


@dataclass(frozen=True)
class _Latest:
    """The last rendering for a place."""

    inputs: ChartInputs
    digest: str
    uses_api_versions: bool


@dataclass
class ChartRenderer:
    """The renderings for all BundleDeployments. `program` is the path of helm, None if rukpak has none; `store` has the charts.
    `ended` is called with the name of a BundleDeployment whose chart cannot be rendered, and `on_missing_content` with a Bundle
    whose content is missing or damaged."""

    jobs: Jobs[TemplateResult]
    client: Client
    store: Store
    sources: SourceInputs
    rest_mapper: RestMapper
    program: Path | None
    ended: Callable[[str], None]
    on_missing_content: Callable[[str], None]
    _latest: dict[str, _Latest] = field(default_factory=dict)
    """The last rendering for each place."""
    _contents: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    """Digest -> rendering, compressed; the newest comes last."""
    _running: dict[str, ChartInputs] = field(default_factory=dict)
    _refused: dict[str, tuple[ChartInputs, OlmError]] = field(default_factory=dict)
    """The charts whose values cannot be read."""

    def inputs(
        self, deployment: str, bundle: str, content: str, options: InstallOptions, *, is_upgrade: bool
    ) -> ChartInputs:
        """The inputs of a chart as they are now."""
        names = dict.fromkeys(InputReference(each.kind, each.name) for each in options.values_from)
        version = self.rest_mapper.server_version
        versions = tuple((each, self.sources.version(each)) for each in names)
        inputs = ChartInputs(deployment, bundle, content, options, is_upgrade, version, versions)
        latest = self._latest.get(inputs.place)
        if latest is not None and not latest.uses_api_versions:
            return inputs
        return replace(inputs, api_versions=_digest(self.rest_mapper.api_versions()))

    def state(self, inputs: ChartInputs, *, has_account: bool) -> ChartState:
        """The state of a chart with these inputs. `has_account`: it is installed with the permissions of a ServiceAccount, which
        may not read what the suite may."""
        latest = self._latest.get(inputs.place)
        state = ChartState(inputs, latest.digest if latest else "", latest is not None and latest.inputs == inputs)
        if has_account and inputs.options.values_from:
            return replace(state, error=BadBundle(INVALID_CONFIGURATION, VALUES_WITH_ACCOUNT))
        if state.is_current:
            return state
        if (problem := self._problem(inputs)) is not None:
            return replace(state, error=problem)
        job = self.jobs.state(inputs.place)
        if job is None or job.identity != inputs.identity:
            return state
        if isinstance(job, Failed) and not job.is_due(time.monotonic()):
            return replace(state, error=job.error)
        return replace(state, is_running=isinstance(job, Queued | Running))

    def content(self, digest: str) -> bytes | None:
        """The rendering of this digest for `rukpak.charts.rendering.unpacked`. None if it is not in memory: the next pass finds
        then that it has to be made again."""
        if digest not in self._contents:
            self._latest = {place: each for place, each in self._latest.items() if each.digest != digest}
        return self._contents.get(digest)

    async def start(self, inputs: ChartInputs) -> None:
        """Render the chart. If its values cannot be read, its state says why. Raises ApiError."""
        assert self.program is not None
        place = inputs.place
        if not await asyncio.to_thread(is_intact, self.store, inputs.content, HELM):
            self.on_missing_content(inputs.bundle)
            return
        try:
            layers = await self._layers(inputs.options)
        except Blocked as error:
            self._refused[place] = (inputs, error)
            self.ended(inputs.deployment)
            return
        chart = self.store.path(inputs.content)
        assert chart is not None
        request = TemplateRequest(
            self.program,
            chart / FILES,
            inputs.deployment,
            inputs.options.namespace or default_namespace(inputs.deployment),
            inputs.kube_version,
            self.rest_mapper.api_versions(),
            inputs.is_upgrade,
            layers,
        )
        self._running[place] = inputs
        self.jobs.ensure(place, inputs.identity, Task(TEMPLATE, request))

    def record(self, place: str) -> str:
        """Keep the result of the job of a place, which has ended. Returns the name of the BundleDeployment."""
        inputs, job = self._running.get(place), self.jobs.state(place)
        if inputs is not None and isinstance(job, Finished) and job.identity == inputs.identity:
            result = job.result
            known = inputs if result.uses_api_versions else replace(inputs, api_versions="")
            self._latest[place] = _Latest(known, result.digest, result.uses_api_versions)
            self._contents.pop(result.digest, None)
            self._contents[result.digest] = result.content
            while sum(map(len, self._contents.values())) > MAX_CONTENT_BYTES and len(self._contents) > 1:
                self._contents.popitem(last=False)
            self.jobs.forget(place)
        return place.partition("/")[0]

    def retain(self, deployment: str, places: Collection[str] = ()) -> None:
        """Forget the renderings of a BundleDeployment but those of these places."""
        known = {*self._latest, *self._running, *self._refused}
        for place in {each for each in known if each.startswith(f"{deployment}/")}.difference(places):
            self.jobs.cancel(place)
            for each in (self._latest, self._running, self._refused):
                each.pop(place, None)
        used = {each.digest for each in self._latest.values()}
        for digest in self._contents.keys() - used:
            del self._contents[digest]

    def _problem(self, inputs: ChartInputs) -> OlmError | None:
        """The reason why the chart cannot be rendered, as far as it is known without a job."""
        if self.program is None:
            return Blocked(HELM_MISSING, NO_HELM)
        if problem := chart_options_problem(inputs.options):
            return BadBundle(INVALID_CONFIGURATION, problem)
        versions = dict(inputs.versions)
        required = (each for each in inputs.options.values_from if not each.optional)
        if missing := [each for each in required if versions[InputReference(each.kind, each.name)] is None]:
            return missing_values(missing, self.sources.namespace)
        refused = self._refused.get(inputs.place)
        return refused[1] if refused is not None and refused[0] == inputs else None

    async def _layers(self, options: InstallOptions) -> tuple[ValuesLayer, ...]:
        """The values of all sources. Raises BadBundle, ApiError."""
        layers = [layer for each in options.values_from if (layer := await self._layer(each)) is not None]
        if sum(len(layer.text) for layer in layers) > MAX_VALUES_BYTES:
            text = f"the values of config.valuesFrom have more than {MAX_VALUES_BYTES:,} bytes, the most that is read"
            raise BadBundle(INVALID_CONFIGURATION, text)
        values = options.values
        if values is not None:
            text = values if isinstance(values, str) else orjson.dumps(values).decode()
            layers.append(ValuesLayer("config.values", text))
        return tuple(layers)

    async def _layer(self, each: ValuesFrom) -> ValuesLayer | None:
        """The values of one source; None if they are missing and may be."""
        is_secret, key = each.kind == SECRET, each.key or DEFAULT_KEY
        try:
            raw = await self.client.get(SECRETS if is_secret else CONFIG_MAPS, each.name, self.sources.namespace)
        except NotFound:
            if each.optional:
                return None
            raise missing_values([each], self.sources.namespace) from None
        data: Mapping[str, Any] = raw.get("data") or {}
        if key not in data:
            if each.optional:
                return None
            what = f'{each.kind} "{each.name}" in namespace "{self.sources.namespace}"'
            problem = f"config.valuesFrom: {what} has no key {key}: add it, or name the one that it has in key"
            raise BadBundle(INVALID_CONFIGURATION, problem, subject=[f"{each.kind} {each.name}"])
        try:
            text = base64.b64decode(data[key]).decode() if is_secret else str(data[key])
        except UnicodeDecodeError:
            problem = f"{each.kind} {each.name}: the value of the key {key} is not UTF-8 text"
            raise BadBundle(INVALID_CONFIGURATION, problem, subject=[each.name]) from None
        return ValuesLayer(f"{each.kind} {each.name}, key {key}", text, is_secret)


def missing_values(missing: Sequence[ValuesFrom], namespace: str) -> BadBundle:
    """The error about Secrets and ConfigMaps of values that do not exist, which are one at least."""
    what = ", ".join(f'{each.kind} "{each.name}" with the key {each.key or DEFAULT_KEY}' for each in missing)
    them = "it" if len(missing) == 1 else "them"
    text = f'config.valuesFrom: {what} not found in namespace "{namespace}": create {them} there'
    return BadBundle(INVALID_CONFIGURATION, text, subject=[f"{each.kind} {each.name}" for each in missing])


def _digest(versions: Collection[str]) -> str:
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()
