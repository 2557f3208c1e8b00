"""Evaluates tilt/Tiltfile with a Starlark interpreter, and puts its resources together as Tilt does.

The builtins have the parameters of Tilt's; a name that is not here, or a parameter that Tilt does not have, is an error. They
record, and change nothing: only `kustomize` runs a command, `kubectl kustomize`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import starlark
import yaml

Object = dict[str, Any]

DIRECTORY = Path(__file__).resolve().parents[1] / "tilt"
WORKLOADS = frozenset({"Deployment"})
# Namespaces of Tilt, in one line, so that the lines of a file keep their numbers.
_PRELUDE = (
    "config = struct(define_string_list = _define, define_bool = _define, parse = _parse, main_path = _main_path); "
    "os = struct(path = struct(basename = _basename)); "
    "v1alpha1 = struct(ui_button = _ui_button, ui_component_location = _ui_component_location, "
    "cmd = _cmd, start_on_spec = _start_on_spec); "
)


class TiltfileError(Exception):
    """What Tilt would refuse."""


@dataclass
class Resource:
    """A row of Tilt's user interface."""

    name: str
    objects: list[Object] = field(default_factory=list)
    deps: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    ports: dict[int, int] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    manual: bool = False
    command: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@dataclass
class Image:
    """A build: the arguments of docker_build."""

    name: str
    context: str
    dockerfile: str
    target: str
    only: list[str]
    steps: list[Object]


@dataclass
class Tilt:
    """One evaluation."""

    kubectl: Path
    context: str
    arguments: Mapping[str, Any]
    images: dict[str, Image] = field(default_factory=dict)
    resources: dict[str, Resource] = field(default_factory=dict)
    buttons: dict[str, Object] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    """Every file or directory that a call named, from the directory of the Tiltfile."""
    _objects: list[Object] = field(default_factory=list)
    _kinds: set[tuple[str, str]] = field(default_factory=set)
    _options: list[Object] = field(default_factory=list)
    _defined: set[str] = field(default_factory=set)
    _modules: dict[str, Any] = field(default_factory=dict)
    _main: str = ""

    def run(self, path: str) -> Tilt:
        """Evaluate the file. Raises TiltfileError for what Tilt refuses, and starlark.StarlarkError for what Starlark does."""
        self._main = str(DIRECTORY / path)
        self._module(path)
        self._assemble()
        return self

    def _module(self, path: str) -> Any:
        name = path.removeprefix("./")
        if name not in self._modules:
            dialect = starlark.Dialect.standard()
            dialect.enable_top_level_stmt = True
            ast = starlark.parse(name, _PRELUDE + (DIRECTORY / name).read_text(), dialect)
            module = starlark.Module()
            for builtin, function in self._builtins().items():
                module.add_callable(builtin, function)
            module["TRIGGER_MODE_MANUAL"] = "manual"
            module["_main_path"] = self._main
            library = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
            starlark.eval(module, ast, library, starlark.FileLoader(self._module))
            self._modules[name] = module.freeze()
        return self._modules[name]

    def _builtins(self) -> dict[str, Callable[..., Any]]:
        recorded = ("ci_settings", "update_settings", "watch_settings", "version_settings", "allow_k8s_contexts")
        return {
            "_define": self._define,
            "_parse": self._parse,
            "_ui_button": self._ui_button,
            "_ui_component_location": lambda component_id="", component_type="": component_id,
            "_cmd": self._cmd,
            "_basename": os.path.basename,
            "_start_on_spec": lambda ui_buttons: ui_buttons,
            "k8s_context": lambda: self.context,
            "fail": self._fail,
            "kustomize": self._kustomize,
            "decode_yaml_stream": lambda text: list(yaml.load_all(text, yaml.CSafeLoader)),
            "encode_yaml_stream": lambda objs: yaml.safe_dump_all(objs),
            "k8s_yaml": self._k8s_yaml,
            "k8s_kind": lambda kind, api_version, pod_readiness: self._kinds.add((api_version, kind)),
            "k8s_resource": self._k8s_resource,
            "local_resource": self._local_resource,
            "docker_build": self._docker_build,
            "fall_back_on": lambda files: {"step": "fall_back_on", "files": self._named(*files)},
            "sync": lambda local, remote: {"step": "sync", "local": self._named(local)[0], "remote": remote},
            "run": lambda cmd, trigger: {"step": "run", "cmd": cmd, "trigger": self._named(*trigger)},
            "port_forward": self._port_forward,
            "link": lambda url, name: url,
            "load_dynamic": self._load_dynamic,
            **{name: self._setting(name) for name in recorded},
        }

    def _setting(self, name: str) -> Callable[..., None]:
        def record(*values: Any, **named: Any) -> None:
            self.settings[name] = named or values[0]

        return record

    def _named(self, *paths: str) -> list[str]:
        self.paths.extend(paths)
        return list(paths)

    def _define(self, name: str, usage: str) -> None:
        assert usage
        self._defined.add(name)

    def _parse(self) -> Mapping[str, Any]:
        if unknown := set(self.arguments) - self._defined:
            raise TiltfileError(f"unknown flags: {sorted(unknown)}")
        return dict(self.arguments)

    def _fail(self, message: str) -> None:
        raise TiltfileError(message)

    def _load_dynamic(self, path: str) -> None:
        self._module(path)

    def _ui_button(self, name: str, text: str, icon_name: str, location: str, annotations: Mapping[str, str]) -> None:
        self.buttons[name] = {"text": text, "on": location, "icon": icon_name, "annotations": annotations}

    def _cmd(self, name: str, args: list[str], dir: str, start_on: list[str]) -> None:
        (button,) = start_on
        self.buttons[button]["args"] = args
        self._named(dir)

    def _kustomize(self, directory: str) -> str:
        return kustomize(self.kubectl, DIRECTORY / self._named(directory)[0])

    def _k8s_yaml(self, text: str | list[str]) -> None:
        if isinstance(text, list):
            text = "---\n".join((DIRECTORY / path).read_text() for path in self._named(*text))
        for obj in yaml.load_all(text, yaml.CSafeLoader):
            if _fragment(obj) in {_fragment(each) for each in self._objects}:
                raise TiltfileError(f"duplicate YAML: {_fragment(obj)}")
            self._objects.append(obj)

    def _port_forward(self, local_port: int, container_port: int, name: str = "", host: str = "") -> tuple[int, int]:
        if host != "127.0.0.1":
            raise TiltfileError(f"port {local_port} is forwarded from {host or 'the address of tilt'}")
        return local_port, container_port

    def _docker_build(
        self,
        ref: str,
        context: str,
        dockerfile: str,
        target: str,
        only: list[str],
        ignore: list[str],
        live_update: list[Object],
    ) -> None:
        self._named(context, dockerfile, *(f"{context}/{path}" for path in only))
        order = {"initial_sync": 0, "fall_back_on": 1, "sync": 2, "run": 3}
        places = [order[step["step"]] for step in live_update]
        if places != sorted(places):
            raise TiltfileError("live_update: initial_sync, fall_back_on, sync and run have this order")
        synced = [step["local"] for step in live_update if step["step"] == "sync"]
        for step in live_update:
            if outside := [each for each in step.get("trigger", []) if not any(_within(each, path) for path in synced)]:
                raise TiltfileError(f"run: trigger {outside} is not synced")
        self.images[ref] = Image(ref, context, dockerfile, target, only, live_update)

    def _k8s_resource(
        self,
        workload: str = "",
        new_name: str = "",
        port_forwards: list[tuple[int, int]] | None = None,
        trigger_mode: str = "auto",
        resource_deps: list[str] | None = None,
        objects: list[str] | None = None,
        auto_init: bool = True,
        pod_readiness: str = "",
        links: list[str] | None = None,
        labels: list[str] | None = None,
    ) -> None:
        row = Resource(
            new_name or workload,
            deps=list(resource_deps or []),
            labels=list(labels or []),
            ports=dict(port_forwards or []),
            links=list(links or []),
            manual=trigger_mode == "manual" and not auto_init,
        )
        self._options.append({"workload": workload, "objects": objects or [], "row": row})

    def _local_resource(
        self,
        name: str,
        cmd: list[str],
        dir: str,
        labels: list[str],
        deps: list[str] | None = None,
        trigger_mode: str = "auto",
        auto_init: bool = True,
        allow_parallel: bool = False,
    ) -> None:
        self._named(dir)
        manual = trigger_mode == "manual" and not auto_init
        paths = self._named(*deps or [])
        self.resources[name] = Resource(name, labels=labels, manual=manual, command=cmd, paths=paths)

    def _assemble(self) -> None:
        rest = list(self._objects)
        for options in self._options:
            self._add(options["row"], options["workload"], options["objects"], rest)
        for row in self.resources.values():
            for each in [each for each in rest if _selects(each, row.objects)]:
                row.objects.append(each)
                rest.remove(each)
            if unknown := set(row.deps) - set(self.resources):
                raise TiltfileError(f"{row.name} depends on unknown resources {sorted(unknown)}")
        if rest:
            raise TiltfileError(f"uncategorized: {[_fragment(each) for each in rest]}")

    def _add(self, row: Resource, workload: str, wanted: list[str], rest: list[Object]) -> None:
        """Move the objects of the row to it from the rest."""
        if workload:
            wanted = [_fragment(each) for each in rest if self._is_workload(each) and _name(each) == workload]
        for fragment in wanted:
            found = [each for each in rest if _fragment(each) == fragment]
            if len(found) != 1:
                raise TiltfileError(f"{row.name}: {len(found)} objects are {fragment}")
            row.objects.append(found[0])
            rest.remove(found[0])
        if not row.objects or row.name in self.resources:
            raise TiltfileError(f"unknown or repeated resource {row.name}")
        self.resources[row.name] = row

    def _is_workload(self, obj: Object) -> bool:
        return obj["kind"] in WORKLOADS or (obj["apiVersion"], obj["kind"]) in self._kinds


def evaluate(kubectl: Path, path: str = "Tiltfile", context: str = "kind-olm-suite", **arguments: Any) -> Tilt:
    """Evaluate a file of tilt/ with kubectl's current context and the settings after `--`."""
    return Tilt(kubectl, context, arguments).run(path)


@cache
def kustomize(kubectl: Path, directory: Path) -> str:
    """The objects of a kustomization, as YAML."""
    command = [str(kubectl), "kustomize", str(directory)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _fragment(obj: Object) -> str:
    namespace = obj["metadata"].get("namespace")
    return ":".join([_name(obj), obj["kind"], *([namespace] if namespace else [])])


def _within(path: str, directory: str) -> bool:
    return Path(path).is_relative_to(directory)


def _selects(service: Object, workloads: list[Object]) -> bool:
    """Whether a Service selects the pods of one of these, with which Tilt shows it."""
    if service["kind"] != "Service":
        return False
    selector = service["spec"]["selector"].items()
    templates = [each["spec"]["template"] for each in workloads if each["kind"] in WORKLOADS]
    return any(selector <= template["metadata"]["labels"].items() for template in templates)
