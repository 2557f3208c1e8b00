"""The resources of a cluster by the names that people give them, and their paths, from the discovery documents of the API server.

A name that resources of two groups have belongs to neither: kubectl has an order for them, and this has none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from devcluster.api_client import ApiProxy

_DOCUMENTS = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True)
class Resource:
    """A resource in one version of its group."""

    group: str
    version: str
    plural: str
    kind: str
    is_namespaced: bool

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def printed(self) -> str:
        """Its name as kubectl prints it before the name of an object."""
        return f"{self.kind.lower()}.{self.group}" if self.group else self.kind.lower()

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of its objects, or of one; in all namespaces without one."""
        within = f"/namespaces/{namespace}" if namespace and self.is_namespaced else ""
        return (
            f"/{'apis' if self.group else 'api'}/{self.api_version}{within}/{self.plural}{f'/{name}' if name else ''}"
        )


class Resources:
    """The resources of one cluster. A name that is not known is looked up again, because the cluster may have more by then."""

    def __init__(self, api: ApiProxy) -> None:
        """Requests nothing yet."""
        self._api = api
        self._by_name: Mapping[str, Resource | None] = {}
        self._by_kind: Mapping[tuple[str, str], Resource] = {}

    def named(self, name: str) -> Resource | None:
        """The resource of this name: plural, singular or short, with or without its group. None if there is not one."""
        if name not in self._by_name:
            self._read()
        return self._by_name.get(name)

    def of(self, object_: Mapping[str, Any]) -> Resource | None:
        """The resource of an object."""
        kind = object_["apiVersion"], object_["kind"]
        if kind not in self._by_kind:
            self._read()
        return self._by_kind.get(kind)

    def _read(self) -> None:
        by_name: dict[str, Resource | None] = {}
        by_kind: dict[tuple[str, str], Resource] = {}
        for resource, preferred, names in self._discovered():
            by_kind[resource.api_version, resource.kind] = resource
            if preferred:
                for name in names:
                    by_name[name] = None if name in by_name else resource
                    if resource.group:
                        by_name[f"{name}.{resource.group}"] = resource
        self._by_name, self._by_kind = by_name, by_kind

    def _discovered(self) -> Iterator[tuple[Resource, bool, set[str]]]:
        """Each resource in each version, True for the preferred one of its group, and its names."""
        for path in ("/api", "/apis"):
            status, found = self._api.request("GET", path, accept=_DOCUMENTS)
            for group in found["items"] if status == 200 else ():
                seen: set[str] = set()
                for version in group["versions"]:
                    for each in version.get("resources", ()):
                        name, plural = group["metadata"].get("name", ""), each["resource"]
                        kind = each.get("responseKind", {}).get("kind", "")
                        made = Resource(name, version["version"], plural, kind, each["scope"] == "Namespaced")
                        yield made, plural not in seen, {plural, each["singularResource"], *each.get("shortNames", ())}
                        seen.add(plural)
