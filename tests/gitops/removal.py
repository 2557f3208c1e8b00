"""The order in which the objects of a Delivery are asked to go, and are gone: by the resourceVersions of these changes."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, OPERATORS, Event, Watch
from tests.e2e.packages import group
from tests.gitops.delivery import REMOVAL_SECONDS, Delivery


class Removal:
    """Follows the Catalog, the Operators, their BundleDeployments and the custom resources of a Delivery that are there."""

    def __init__(self, delivery: Delivery) -> None:
        """Return when all have been listed."""
        cluster = delivery.stage.cluster
        self.packages = delivery.packages
        self._name = delivery.name
        self._asked: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        self._watches = {
            "Catalog": [Watch(cluster, CATALOGS)],
            "Operator": [Watch(cluster, OPERATORS)],
            "BundleDeployment": [Watch(cluster, BUNDLE_DEPLOYMENTS)],
            "Thing": [Watch(cluster, f"/apis/{group(package)}/v1/things") for package in self.packages],
        }
        for kind, watches in self._watches.items():
            for watch in watches:
                watch.until(f"a {kind} of {self._name} is there", self._present)

    def until_gone(self) -> None:
        """Wait until all are gone."""
        for kind, watches in self._watches.items():
            for watch in watches:
                watch.until(
                    f"every {kind} of {self._name} is deleted",
                    lambda objects: not self._present(objects),
                    REMOVAL_SECONDS,
                    lambda event, kind=kind: self._record(kind, event),  # type: ignore[misc]
                )

    def asked(self, *subjects: str) -> list[int]:
        """The versions at which the deletion of the subjects, a kind ("Operator") or one object ("Operator x"), was requested."""
        return self._versions(self._asked, subjects)

    def gone(self, *subjects: str) -> list[int]:
        """The versions at which the subjects were gone."""
        return self._versions(self._gone, subjects)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.close()

    def _present(self, objects: Iterable[str]) -> list[str]:
        return [name for name in objects if self._name in name]

    def _record(self, kind: str, event: Event) -> None:
        if not self._present([event.name]):
            return
        subject = f"{kind} {event.name}"
        if event.object is None:
            self._asked.setdefault(subject, event.version)
            self._gone.setdefault(subject, event.version)
        elif "deletionTimestamp" in event.object["metadata"]:
            self._asked.setdefault(subject, event.version)

    def _versions(self, versions: dict[str, int], subjects: Iterable[str]) -> list[int]:
        chosen = tuple(subjects)
        found = [version for subject, version in versions.items() if {subject, subject.split()[0]} & set(chosen)]
        assert found, f"{chosen} was not seen: {sorted(versions)}"
        return found
