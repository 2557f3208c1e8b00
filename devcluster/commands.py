"""Commands of kubectl as requests of this process, which cost a twentieth of the processor time of a process of kubectl.

Only what tests run again and again is here: some forms of `get`, `create`, `apply`, `patch`, `label`, `annotate`, `delete` and
`wait`. A command in another form, and one that the API server does not accept, is not answered: kubectl runs it, and its words
are the error. So only commands are here that may be sent twice.
"""

import http.client
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import yaml

from devcluster.api_client import APPLY, JSON_PATCH, MERGE, STRATEGIC, ApiProxy
from devcluster.resources import Resource, Resources

Object = Mapping[str, Any]
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SHORT = {"-n": "--namespace", "-o": "--output", "-f": "--filename", "-p": "--patch", "-l": "--selector"}
_WITH_VALUE = (*_SHORT.values(), "--raw")
_SWITCHES = (
    "--all",
    "--all-namespaces",
    "--force-conflicts",
    "--ignore-not-found",
    "--overwrite",
    "--server-side",
    "--show-managed-fields",
)
_PATCHES = {"merge": MERGE, "json": JSON_PATCH, "strategic": STRATEGIC}
_PATH = re.compile(r"jsonpath=\{\.([A-Za-z]+(?:\.[A-Za-z]+)*)\}=(.+)")
"""A plain path, and the value that is awaited there."""
_STRICTLY = {"fieldValidation": "Strict"}
_WAIT_SECONDS = 30.0
"""The time of `kubectl wait` without --timeout."""
_LONG = 86400.0


class ForKubectl(Exception):
    """The command is one for kubectl."""


@dataclass(frozen=True)
class Command:
    """The words and flags of a command; a flag without a value has the value "true". `read` are the flags that mean something to
    the command."""

    words: tuple[str, ...]
    flags: Mapping[str, str]
    input: str | None = None
    read: set[str] = field(default_factory=set, compare=False)

    @classmethod
    def parse(cls, arguments: Sequence[str], input: str | None) -> "Command":
        """Raises ForKubectl if a flag is given twice, or is not known and may have a value."""
        words: list[str] = []
        flags: dict[str, str] = {}
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            if not word.startswith("-") or word == "-":
                words.append(word)
                continue
            name, equals, value = word.partition("=")
            if name in _SHORT or (name in _WITH_VALUE and not equals):
                if not rest or equals:
                    raise ForKubectl
                name, value = _SHORT.get(name, name), rest.pop(0)
            elif not equals:
                name, value = "--all-namespaces" if name == "-A" else name, "true"
                if name not in _SWITCHES:
                    raise ForKubectl
            if name in flags:
                raise ForKubectl
            flags[name] = value
        return cls(tuple(words), flags, input)

    def flag(self, name: str, default: str = "") -> str:
        """The value of a flag."""
        self.read.add(name)
        return self.flags.get(name, default)

    def is_set(self, name: str, default: bool = False) -> bool:
        """The value of a flag that is true or false."""
        return self.flag(name, str(default).lower()) == "true"

    def seconds(self, default: float) -> float:
        """The value of --timeout."""
        text = self.flag("--timeout", f"{default}s")
        if not text.endswith("s") or "m" in text:
            raise ForKubectl
        return float(text[:-1]) or default

    def end_flags(self) -> None:
        """Raise ForKubectl if there is a flag that nothing has read."""
        if self.flags.keys() - self.read:
            raise ForKubectl


class Commands:
    """Runs commands on one cluster as its admin."""

    def __init__(self, api: ApiProxy) -> None:
        """Requests nothing yet."""
        self._api = api
        self._resources = Resources(api)
        self._verbs: Mapping[str, Callable[[Command], str]] = {
            "get": self._get,
            "create": self._create,
            "apply": self._apply,
            "patch": self._patch,
            "label": self._label,
            "annotate": self._label,
            "delete": self._delete,
            "wait": self._wait,
        }

    def run(self, arguments: Sequence[str], input: str | None) -> str | None:
        """Run a command, and return the text that kubectl prints. None if kubectl has to run it."""
        try:
            command = Command.parse(arguments, input)
            return self._verbs[command.words[0]](command)
        except (ForKubectl, LookupError, TypeError, ValueError, yaml.YAMLError, OSError):
            return None

    def _get(self, command: Command) -> str:
        if path := command.flag("--raw"):
            return self._raw("GET", path, None, command)
        form, may_miss = command.flag("--output"), command.is_set("--ignore-not-found")
        keeps = command.is_set("--show-managed-fields")
        found = [(resource, each) for resource, each in self._selected(command, may_miss)]
        if form == "name":
            return "".join(f"{resource.printed}/{each['metadata']['name']}\n" for resource, each in found)
        if form != "json":
            raise ForKubectl
        if not keeps:
            for _, each in found:
                each["metadata"].pop("managedFields", None)
        if len(command.words) + ("/" in command.words[1]) == 3 and "," not in command.words[1]:
            return json.dumps(found[0][1]) if found else ""
        items = [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for resource, each in found]
        return json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})

    def _raw(self, method: str, path: str, body: Any, command: Command) -> str:
        """The answer to a request, as JSON."""
        command.end_flags()
        if (answer := self._request(method, path, body)) is None:
            raise ForKubectl
        return json.dumps(answer)

    def _selected(self, command: Command, may_miss: bool = False) -> Iterator[tuple[Resource, Any]]:
        """The objects that a command names, as they are."""
        namespace = "" if command.is_set("--all-namespaces") else command.flag("--namespace", "default")
        selector = command.flag("--selector")
        is_list = len(command.words) == 2 and "/" not in command.words[1]
        command.flag("--all")
        command.end_flags()
        if is_list:
            query = f"?{urlencode({'labelSelector': selector})}" if selector else ""
            for name in command.words[1].split(","):
                resource = self._resource(name)
                for each in self._request("GET", resource.path(namespace) + query)["items"]:
                    yield resource, each
            return
        for resource, name in self._targets(command.words[1:]):
            path = resource.path(namespace, name)
            found = self._found(path)
            if found is None and not may_miss:
                raise ForKubectl
            if found is not None:
                yield resource, found

    def _targets(self, words: Sequence[str]) -> Iterator[tuple[Resource, str]]:
        """The resource and the name of each object: `kind name...`, or `kind/name...`."""
        if len(words) == 1 and "/" not in words[0]:
            raise ForKubectl
        if "/" not in words[0]:
            words = [f"{kind}/{name}" for name in words[1:] for kind in words[0].split(",")]
        for word in words:
            kind, slash, name = word.partition("/")
            if not slash:
                raise ForKubectl
            yield self._resource(kind), name

    def _resource(self, name: str) -> Resource:
        if (found := self._resources.named(name)) is None:
            raise ForKubectl
        return found

    def _create(self, command: Command) -> str:
        if path := command.flag("--raw"):
            return self._raw("POST", path, json.loads(self._input(command)), command)
        objects = self._objects(command) if len(command.words) == 1 else [_made(command)]
        if len(objects) != 1:  # sent twice, the first one would exist
            raise ForKubectl
        manager = command.flag("--field-manager", "kubectl-create")
        resource, path = self._place(objects[0], command)
        command.end_flags()
        if command.words[1:2] == ("token",):
            return str(self._request("POST", f"{path}/token", _TOKEN)["status"]["token"]) + "\n"
        query = urlencode({"fieldManager": manager, **_STRICTLY})
        self._request("POST", f"{path.rpartition('/')[0]}?{query}", objects[0])
        return f"{resource.printed}/{objects[0]['metadata']['name']} created\n"

    @staticmethod
    def _input(command: Command) -> str:
        if command.flag("--filename") != "-" or command.input is None:
            raise ForKubectl
        return command.input

    def _objects(self, command: Command) -> list[Object]:
        text = self._input(command)
        read = [json.loads(text)] if text.lstrip().startswith("{") else yaml.load_all(text, yaml.CSafeLoader)
        found = [each for each in read if each]
        if any(each["kind"] == "List" or "name" not in each["metadata"] for each in found):
            raise ForKubectl
        return found

    def _place(self, object_: Object, command: Command) -> tuple[Resource, str]:
        """The resource of the object, and its path."""
        if (resource := self._resources.of(object_)) is None:
            raise ForKubectl
        given = object_["metadata"].get("namespace")
        namespace = command.flag("--namespace", given or "default")
        if given not in (None, namespace):
            raise ForKubectl
        return resource, resource.path(namespace, object_["metadata"]["name"])

    def _apply(self, command: Command) -> str:
        if len(command.words) > 1:
            raise ForKubectl
        is_server_side = command.is_set("--server-side")
        manager = command.flag("--field-manager", "kubectl" if is_server_side else "kubectl-client-side-apply")
        query = {"fieldManager": manager, **_STRICTLY}
        query["force"] = str(command.is_set("--force-conflicts")).lower()
        objects = self._objects(command)
        places = [self._place(each, command) for each in objects]
        command.end_flags()
        printed = []
        for (resource, path), each in zip(places, objects, strict=True):
            name = f"{resource.printed}/{each['metadata']['name']}"
            if is_server_side:
                found = self._request("PATCH", f"{path}?{urlencode(query)}", each, APPLY)
                if _LAST_APPLIED in found["metadata"].get("annotations", ()):
                    raise ForKubectl  # which writes the annotation, too
                printed.append(f"{name} serverside-applied\n")
            else:
                self._create_as_applied(path, each, manager)
                printed.append(f"{name} created\n")
        return "".join(printed)

    def _create_as_applied(self, path: str, object_: Object, manager: str) -> None:
        """Create the object as `kubectl apply` does, which alone can change one."""
        if self._found(path) is not None:
            raise ForKubectl
        metadata = {"annotations": {}, **object_["metadata"]}
        text = json.dumps({**object_, "metadata": metadata}, separators=(",", ":"), sort_keys=True)
        metadata["annotations"] = {**(metadata["annotations"] or {}), _LAST_APPLIED: f"{text}\n"}
        query = urlencode({"fieldManager": manager, **_STRICTLY})
        self._request("POST", f"{path.rpartition('/')[0]}?{query}", {**object_, "metadata": metadata})

    def _patch(self, command: Command) -> str:
        content = _PATCHES[command.flag("--type", "strategic")]
        body = json.loads(command.flag("--patch"))
        part = command.flag("--subresource")
        manager = urlencode({"fieldManager": command.flag("--field-manager", "kubectl-patch")})
        return self._change(command, f"{f'/{part}' if part else ''}?{manager}", body, content, "patched")

    def _label(self, command: Command) -> str:
        verb, overwrites = command.words[0], command.is_set("--overwrite")
        place = f"{verb}s" if verb == "label" else "annotations"
        words = [each for each in command.words if "=" not in each and not each.endswith("-")]
        wanted: dict[str, str | None] = {}
        for each in command.words[len(words) :]:
            key, equals, value = each.partition("=")
            wanted[key if equals else key.removesuffix("-")] = value if equals else None
        named = Command(tuple(words), command.flags, None, command.read)
        for _, found in self._selected(named):
            present = found["metadata"].get(place) or {}
            if not overwrites and any(value and present.get(key, value) != value for key, value in wanted.items()):
                raise ForKubectl
        query = f"?{urlencode({'fieldManager': f'kubectl-{verb}'})}"
        past = "annotated" if verb == "annotate" else "labeled" if any(wanted.values()) else "unlabeled"
        return self._change(named, query, {"metadata": {place: wanted}}, MERGE, past)

    def _change(self, command: Command, query: str, body: Any, content: str, past: str) -> str:
        """Send a PATCH to each object that a command names."""
        namespace = command.flag("--namespace", "default")
        targets = [*self._targets(command.words[1:])]
        command.end_flags()
        for resource, name in targets:
            self._request("PATCH", resource.path(namespace, name) + query, body, content)
        return "".join(f"{resource.printed}/{name} {past}\n" for resource, name in targets)

    def _delete(self, command: Command) -> str:
        seconds, waits = command.seconds(_LONG), command.is_set("--wait", default=True)
        policies = {"background": "Background", "orphan": "Orphan", "foreground": "Foreground"}
        options = {"propagationPolicy": policies[command.flag("--cascade", "background")]}
        if len(command.words) == 2 and "/" not in command.words[1] and not command.is_set("--all"):
            raise ForKubectl
        found = [*self._selected(command, command.is_set("--ignore-not-found"))]
        paths = [self._path(resource, each) for resource, each in found]
        for path in paths:
            if self._found(path, "DELETE", options) is None and not command.is_set("--ignore-not-found"):
                raise ForKubectl
        end = time.monotonic() + seconds
        for path, (_, each) in zip(paths, found, strict=True):
            if waits:
                uid = each["metadata"]["uid"]
                self._await(path, partial(_is_gone, uid), end)
        return "".join(f'{resource.printed} "{each["metadata"]["name"]}" deleted\n' for resource, each in found)

    @staticmethod
    def _path(resource: Resource, object_: Object) -> str:
        return resource.path(object_["metadata"].get("namespace", ""), object_["metadata"]["name"])

    def _wait(self, command: Command) -> str:
        what, end = command.flag("--for"), time.monotonic() + command.seconds(_WAIT_SECONDS)
        namespace = command.flag("--namespace", "default")
        if what.startswith("condition=") and len(command.words) == 2 and command.is_set("--all"):
            targets = [(resource, each["metadata"]["name"]) for resource, each in self._selected(command)]
        else:
            targets = [*self._targets(command.words[1:])]
        command.end_flags()
        for resource, name in targets:
            path = resource.path(namespace, name)
            self._await(path, _awaited(what), end)
        return "".join(f"{resource.printed}/{name} condition met\n" for resource, name in targets)

    def _await(self, path: str, holds: Callable[[Any], bool], end: float) -> None:
        """Return when this is so of the object, None if there is none; for kubectl, which says so, if it is not in time."""
        while not holds(self._found(path)):
            collection, _, name = path.rpartition("/")
            query = {"fieldSelector": f"metadata.name={name}"}
            listed = self._request("GET", f"{collection}?{urlencode(query)}")
            now = listed["items"][0] if listed["items"] else None
            if holds(now):
                return
            seconds = int(end - time.monotonic())
            if seconds <= 0:
                raise ForKubectl
            query |= {"watch": "1", "timeoutSeconds": str(seconds)}
            query["resourceVersion"] = listed["metadata"]["resourceVersion"]
            lines = self._api.lines(f"{collection}?{urlencode(query)}")
            for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR" or holds(None if event["type"] == "DELETED" else event["object"]):
                    break
            lines.close()

    def _found(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """The answer; None if there is no such object."""
        status, answer = self._api.request(method, path, body)
        if status == http.client.NOT_FOUND and answer and (answer.get("details") or {}).get("name"):
            return None
        if status not in (http.client.OK, http.client.ACCEPTED):
            raise ForKubectl
        return answer

    def _request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        status, answer = self._api.request(method, path, body, content_type)
        if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
            raise ForKubectl
        return answer


_TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}


def _made(command: Command) -> Object:
    """The object that `kubectl create KIND NAME` creates, or whose token it creates."""
    _, kind, name = command.words
    metadata = {"name": name}
    if kind in ("namespace", "ns"):
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    if kind in ("serviceaccount", "sa", "token"):
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    if kind == "configmap" and "--from-literal" in command.flags:
        key, _, value = command.flag("--from-literal").partition("=")
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: value}}
    if kind == "configmap" and not any(each.startswith("--from") for each in command.flags):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    if kind in ("clusterrolebinding", "rolebinding"):
        return {**_binding(kind, command), "metadata": metadata}
    raise ForKubectl


def _binding(kind: str, command: Command) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    user, account, cluster_role = (command.flag(name) for name in ("--user", "--serviceaccount", "--clusterrole"))
    subjects: list[Object] = [{"apiGroup": group, "kind": "User", "name": user}] if user else []
    if account:
        namespace, _, name = account.partition(":")
        subjects.append({"kind": "ServiceAccount", "namespace": namespace, "name": name})
    role = (
        {"kind": "ClusterRole", "name": cluster_role}
        if cluster_role
        else {"kind": "Role", "name": command.flag("--role")}
    )
    kinds = {"clusterrolebinding": "ClusterRoleBinding", "rolebinding": "RoleBinding"}
    return {
        "apiVersion": f"{group}/v1",
        "kind": kinds[kind],
        "roleRef": {"apiGroup": group, **role},
        "subjects": subjects,
    }


def _awaited(what: str) -> Callable[[Object | None], bool]:
    """The test of an object that the value of --for is."""
    if what == "create":
        return lambda now: now is not None
    if what.startswith("condition="):
        return partial(_is_met, what.partition("=")[2])
    if found := _PATH.fullmatch(what):
        return partial(_has, found[1].split("."), found[2])
    raise ForKubectl


def _has(place: Sequence[str], value: str, object_: Object | None) -> bool:
    """Report whether the field has this value, a number or a text."""
    if object_ is None:
        raise ForKubectl
    found: Any = object_
    for name in place:
        found = (found or {}).get(name)
    return isinstance(found, int | str) and str(found) == value


def _is_gone(uid: str, now: Object | None) -> bool:
    """Report whether the object is not the one with this uid."""
    return now is None or now["metadata"]["uid"] != uid


def _is_met(condition: str, object_: Object | None) -> bool:
    """Report whether the condition, `type` or `type=status`, is that of the current generation, as kubectl does."""
    if object_ is None:
        raise ForKubectl
    kind, _, status = condition.partition("=")
    state = object_.get("status") or {}
    generation = object_["metadata"].get("generation", 0)
    for each in state.get("conditions") or ():
        if each["type"].lower() == kind.lower():
            observed = each.get("observedGeneration", state.get("observedGeneration", generation))
            return bool(observed >= generation and each["status"].lower() == (status or "true").lower())
    return False
