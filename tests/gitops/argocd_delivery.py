"""A Delivery by Argo CD: a git repository with its objects, and an Application of it."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from devcluster.demo.full_catalog import operator_object
from devcluster.gitops.argocd import NAMESPACE, ArgoCd
from devcluster.gitops.clone import BRANCH
from devcluster.gitops.git_server import Repository
from devcluster.watch import Event, Object, Watch
from tests.e2e.stage import Stage
from tests.gitops.delivery import Delivery

APPLICATIONS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/applications"
APPLICATION_RESOURCE = "applications.argoproj.io"
SERVER = "https://kubernetes.default.svc"
FOREGROUND = "resources-finalizer.argocd.argoproj.io"
BACKGROUND = "resources-finalizer.argocd.argoproj.io/background"
SYNC_SECONDS = 180.0

_WAVE = "argocd.argoproj.io/sync-wave"
_SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
_SKIP_DRY_RUN = "SkipDryRunOnMissingResource=true"
_RETRY = {"limit": 5, "refresh": True, "backoff": {"duration": "2s", "factor": 2, "maxDuration": "10s"}}


@dataclass(frozen=True)
class Layout:
    """How the objects of a repository are named and annotated, which decides the order in which Argo CD applies them.

    Within a wave it applies our kinds by name. `catalog` and `thing` are the beginnings of names; those of Operators begin
    with "m".
    """

    catalog: str = "catalog"
    thing: str = "thing"
    waves: Mapping[str, int] = field(default_factory=dict)
    application_options: Sequence[str] = ()
    application_annotations: Mapping[str, str] = field(default_factory=dict)


WAVES = Layout(waves={"Catalog": -1, "Operator": 0, "Thing": 1})
NO_WAVES = Layout(application_options=(_SKIP_DRY_RUN,))
LAST_FIRST = Layout("z-catalog", "a-thing", application_options=(_SKIP_DRY_RUN,))
SERVER_SIDE = Layout(
    application_options=(_SKIP_DRY_RUN, "ServerSideApply=true"),
    application_annotations={"argocd.argoproj.io/compare-options": "ServerSideDiff=true"},
)


@dataclass(frozen=True, order=True)
class Health:
    """A health that Argo CD has reported: of an object ("Operator x"), or of the whole ("Application x")."""

    subject: str
    status: str
    message: str


class ArgoCdDelivery(Delivery):
    """Packages, repository and Application of one test.

    The repository has a Catalog, Operators of `dependant` and `other`, and a custom resource of each of the three packages.
    """

    def __init__(self, stage: Stage, argocd: ArgoCd, repository: Repository) -> None:
        """Changes nothing yet."""
        super().__init__(stage)
        self.argocd = argocd
        self.healths: list[Health] = []
        self._repository = repository
        self._applications: list[str] = []
        self._pushed_at = 0.0
        self._revision = ""

    def objects(self, layout: Layout = WAVES, **other_spec: Any) -> list[Object]:
        """The objects of the repository; `other_spec` are fields of the spec of the Operator of `other`."""
        made = [
            self.catalog(f"{layout.catalog}-{self.name}"),
            operator_object(self.dependant),
            operator_object(self.other, None, **other_spec),
            *(self.thing(package, layout.thing) for package in self.packages),
        ]
        for object_ in made:
            annotations = object_["metadata"].setdefault("annotations", {})
            if object_["kind"] in layout.waves:
                annotations[_WAVE] = str(layout.waves[object_["kind"]])
            if object_["kind"] == "Thing" and not layout.application_options:
                annotations[_SYNC_OPTIONS] = _SKIP_DRY_RUN
        return made

    def push(self, files: Mapping[str, Iterable[Object]]) -> None:
        """Commit and push exactly these files, and notify Argo CD as a git host does."""
        self.push_text({name: yaml.safe_dump_all(list(objects)) for name, objects in files.items()})

    def push_text(self, files: Mapping[str, str]) -> None:
        """The same for files that are not only objects."""
        self._pushed_at = time.monotonic()
        self._revision = self._repository.push(files)
        self.argocd.notify_of_push(self._repository.url, self._revision)

    def deliver(self, objects: Sequence[Object], layout: Layout = WAVES, finalizer: str = FOREGROUND) -> None:
        """Create the Application, with nothing in git, and push the objects in one commit once it is Synced."""
        self.push({"README.md": []})
        self.create(self.new_application(layout=layout, finalizer=finalizer))
        self.until_synced_and_healthy()
        self.push({f"{number}.yaml": [object_] for number, object_ in enumerate(objects)})

    def new_application(
        self, name: str = "", path: str = ".", layout: Layout = WAVES, finalizer: str = FOREGROUND, **source: Any
    ) -> Object:
        """An Application of a directory of the repository; `source` are fields of its source."""
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {
                "name": name or self.name,
                "namespace": NAMESPACE,
                "finalizers": [finalizer],
                "annotations": dict(layout.application_annotations),
            },
            "spec": {
                "project": "default",
                "source": {
                    "repoURL": self._repository.url,
                    "path": path,
                    "targetRevision": BRANCH,
                    **(source or {"directory": {"recurse": True}}),
                },
                "destination": {"server": SERVER, "namespace": "default"},
                "syncPolicy": {
                    "automated": {"prune": True, "selfHeal": True, "allowEmpty": True},
                    "syncOptions": list(layout.application_options),
                    "retry": _RETRY,
                },
            },
        }

    def create(self, application: Object) -> None:
        """Apply an Application, which the end of the test deletes with everything of it."""
        self._applications.append(application["metadata"]["name"])
        self.stage.cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(application))

    def until(
        self, what: str, condition: Callable[[Object], Any], seconds: float = SYNC_SECONDS, name: str = ""
    ) -> Object:
        """Wait until the Application fulfils this; record all healths of the test's own one meanwhile. Returns it."""

        def found(objects: Mapping[str, Object]) -> Object | None:
            object_ = objects.get(f"{NAMESPACE}/{name or self.name}")
            return object_ if object_ is not None and condition(object_) else None

        return self._watch().until(f"Application {name or self.name}: {what}", found, seconds, self._record)

    def until_synced_and_healthy(self, seconds: float = SYNC_SECONDS, name: str = "") -> float:
        """Wait until the pushed revision is Synced, its sync Succeeded and Healthy; returns the seconds since the push."""
        self.until("Synced and Healthy", self._is_delivered, seconds, name)
        return time.monotonic() - self._pushed_at

    def until_degraded(self, seconds: float = SYNC_SECONDS) -> Object:
        """Wait until the Application is Degraded at the pushed revision; returns it."""
        return self.until(
            "Degraded",
            lambda found: _status(found, "health") == "Degraded" and self._is_compared(found),
            seconds,
        )

    def health_of(self, application: Object, kind: str, name: str) -> Health:
        """The health of one object in the Application's status."""
        for resource in application["status"].get("resources", ()):
            if (resource["kind"], resource["name"]) == (kind, name):
                return _health(resource)
        raise AssertionError(f"{kind} {name} is not in the Application")

    def refresh(self) -> None:
        """Compare again, with manifests that are rendered anew."""
        self.argocd.cli("app", "get", self.name, "--hard-refresh")

    def sync(self) -> None:
        """End the sync that is running, and sync everything, as a person does."""
        self.terminate(self.name)
        self.until("no sync is running", lambda found: "operation" not in found)
        self.argocd.cli("app", "sync", self.name, "--async")

    def delete_application(self, name: str = "") -> None:
        """kubectl delete of the Application, without waiting for its end."""
        self.stage.cluster.kubectl(
            "delete", APPLICATION_RESOURCE, name or self.name, f"--namespace={NAMESPACE}", "--wait=false"
        )

    def application(self, name: str = "") -> Object:
        """The Application as it is; {} if it is deleted."""
        listed = self.stage.cluster.kubectl("get", APPLICATION_RESOURCE, f"--namespace={NAMESPACE}", "-o", "json")
        wanted = name or self.name
        return next((item for item in json.loads(listed)["items"] if item["metadata"]["name"] == wanted), {})

    def until_deleted(self, seconds: float = SYNC_SECONDS, name: str = "") -> None:
        """Wait until the Application is gone."""
        wanted = f"{NAMESPACE}/{name or self.name}"
        self._watch().until(
            f"Application {wanted} is deleted", lambda found: wanted not in found, seconds, self._record
        )

    def close(self) -> None:
        """Delete the Applications with everything of them, then what is left of the test.

        Argo CD deletes nothing while a sync runs, and the sync of a Degraded Application is retried without end.
        """
        self.close_applications()
        self.stage.close()

    def close_applications(self) -> None:
        """Delete the Applications with everything of them."""
        for name in self._applications:
            if not self.application(name):
                continue
            self.stage.cluster.kubectl(
                *("patch", APPLICATION_RESOURCE, name, f"--namespace={NAMESPACE}", "--type=merge"),
                *("--patch", json.dumps({"spec": {"syncPolicy": None}})),
            )
            self.delete_application(name)
            self.terminate(name)
            self.until_deleted(name=name)

    def terminate(self, name: str) -> None:
        """End the sync that is running, if one is."""
        if "operation" in self.application(name):
            self.argocd.cli("app", "terminate-op", name)

    def statuses_of(self, subject: str) -> set[str]:
        """All healths of a subject so far ("Operator x")."""
        return {health.status for health in self.healths if health.subject == subject}

    def _watch(self) -> Watch:
        return self.stage.watch(APPLICATIONS)

    def _record(self, event: Event) -> None:
        if event.object is None or event.object["metadata"]["name"] != self.name:
            return
        status = event.object.get("status") or {}
        found = [_health(resource) for resource in status.get("resources", ()) if "health" in resource]
        found.append(Health(f"Application {self.name}", (status.get("health") or {}).get("status", ""), ""))
        known = {health.subject: health for health in self.healths}
        self.healths += [health for health in found if known.get(health.subject) != health]

    def _is_compared(self, application: Object) -> bool:
        sync = (application.get("status") or {}).get("sync") or {}
        return bool(sync.get("revision") == self._revision)

    def _is_delivered(self, application: Object) -> bool:
        operation = (application.get("status") or {}).get("operationState") or {}
        return (
            self._is_compared(application)
            and _status(application, "sync") == "Synced"
            and _status(application, "health") == "Healthy"
            and (operation.get("phase") in (None, "Succeeded") and "operation" not in application)
        )


def _status(application: Object, part: str) -> str:
    return str(((application.get("status") or {}).get(part) or {}).get("status", ""))


def _health(resource: Object) -> Health:
    health = resource.get("health") or {}
    return Health(f"{resource['kind']} {resource['name']}", health.get("status", ""), health.get("message", ""))
