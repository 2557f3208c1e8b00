"""An operator that serves the aggregated API library.example.com. Run as `python -m devcluster.operators.library`.

It serves the versions of LIBRARY_VERSIONS, separated by commas. A Book is a ConfigMap in the namespace of the operator
(POD_NAMESPACE), so that all versions, all pods and each upgrade serve the same Books.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from devcluster.operators import https_server, request_header
from devcluster.operators.program import Program, run
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, NotFound
from olmkit.runtime.client import Client

GROUP = "library.example.com"
CERTIFICATES = "/apiserver.local.config/certificates"
RESOURCE, KIND = "books", "Book"
DEFAULT_VERSIONS = "v1alpha1"

_CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
_NAMESPACE_LABEL = f"{GROUP}/namespace"
_VERBS = ["create", "delete", "deletecollection", "get", "list"]
_METHODS = {"GET": "get", "POST": "create", "DELETE": "delete"}
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
"""The verbs of methods that name no Book, and so mean all of them."""
_REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "AlreadyExists"}


class Shelf:
    """The Books, as ConfigMaps of a namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def create(self, api_version: str, namespace: str, book: Object) -> Object:
        """Raises web.HTTPConflict if the name is taken, Invalid for one that cannot be a name."""
        name = (book.get("metadata") or {}).get("name")
        if not isinstance(name, str) or not name:
            raise web.HTTPBadRequest(text="metadata.name is missing")
        stored = {
            "metadata": {"name": _stored_name(namespace, name), "labels": {_NAMESPACE_LABEL: namespace}},
            "data": {"name": name, "spec": orjson.dumps(book.get("spec") or {}).decode()},
        }
        with _named(name):
            return _book(await self._client.create(_CONFIG_MAP, stored, self._namespace), api_version)

    async def get(self, api_version: str, namespace: str, name: str) -> Object:
        """Raises web.HTTPNotFound."""
        with _named(name):
            found = await self._client.get(_CONFIG_MAP, _stored_name(namespace, name), self._namespace)
        return _book(found, api_version)

    async def delete(self, api_version: str, namespace: str, name: str) -> Object:
        """The Book that was deleted. Raises web.HTTPNotFound."""
        book = await self.get(api_version, namespace, name)
        with _named(name):
            await self._client.delete(_CONFIG_MAP, _stored_name(namespace, name), self._namespace)
        return book

    async def delete_all(self, api_version: str, namespace: str) -> Object:
        """The Books of a namespace that were deleted."""
        found = await self.list(api_version, namespace)
        for book in found["items"]:
            with suppress(NotFound):
                await self._client.delete(
                    _CONFIG_MAP, _stored_name(namespace, book["metadata"]["name"]), self._namespace
                )
        return found

    async def list(self, api_version: str, namespace: str | None) -> Object:
        """The Books of a namespace, or all."""
        selector = f"{_NAMESPACE_LABEL}={namespace}" if namespace else _NAMESPACE_LABEL
        found, version = await self._client.list(_CONFIG_MAP, self._namespace, selector)
        return {
            "apiVersion": api_version,
            "kind": f"{KIND}List",
            "metadata": {"resourceVersion": version},
            "items": [_book(each, api_version) for each in found],
        }


@contextmanager
def _named(book: str) -> Iterator[None]:
    """Failures name the Book and not its ConfigMap."""
    try:
        yield
    except NotFound as error:
        raise web.HTTPNotFound(text=f'{RESOURCE}.{GROUP} "{book}" not found') from error
    except Conflict as error:
        raise web.HTTPConflict(text=f'{RESOURCE}.{GROUP} "{book}" already exists') from error


def _stored_name(namespace: str, name: str) -> str:
    return f"{namespace}.{name}"


def _book(stored: Object, api_version: str) -> Object:
    metadata = stored["metadata"]
    kept = {key: metadata[key] for key in ("uid", "resourceVersion", "creationTimestamp")}
    name, namespace = stored["data"]["name"], metadata["labels"][_NAMESPACE_LABEL]
    return {
        "apiVersion": api_version,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace, **kept},
        "spec": orjson.loads(stored["data"]["spec"]),
    }


def discovery(versions: list[str]) -> dict[str, Object]:
    """The documents of discovery by path."""
    named = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in versions]
    group = {"name": GROUP, "versions": named, "preferredVersion": named[-1]}
    resource = {
        "name": RESOURCE,
        "singularName": "book",
        "namespaced": True,
        "kind": KIND,
        "verbs": _VERBS,
    }
    documents: dict[str, Object] = {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]},
        f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **group},
    }
    for version in versions:
        documents[f"/apis/{GROUP}/{version}"] = {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{GROUP}/{version}",
            "resources": [resource],
        }
    return documents


def attributes(request: web.Request) -> Mapping[str, Any]:
    """Describe a request as a SubjectAccessReview does."""
    found = request.match_info
    verb = _METHODS.get(request.method, request.method.lower())
    if "version" not in found:
        return {"nonResourceAttributes": {"path": request.path, "verb": verb}}
    name = found.get("name", "")
    asked = {
        "group": GROUP,
        "version": found["version"],
        "resource": RESOURCE,
        "namespace": found.get("namespace", ""),
        "name": name,
        "verb": verb if name else _COLLECTION_VERBS.get(verb, verb),
    }
    return {"resourceAttributes": asked}


def application(shelf: Shelf, versions: list[str]) -> web.Application:
    """The API, for clients that are already authorized."""
    made = web.Application()
    for path, document in discovery(versions).items():
        made.router.add_get(path, _document(document))
    books = f"/apis/{GROUP}/{{version:{'|'.join(versions)}}}"
    of_namespace = f"{books}/namespaces/{{namespace}}/{RESOURCE}"

    async def create(request: web.Request) -> web.Response:
        found = request.match_info
        book = await shelf.create(_api_version(request), found["namespace"], orjson.loads(await request.read()))
        return _json(book, 201)

    async def get(request: web.Request) -> web.Response:
        found = request.match_info
        return _json(await shelf.get(_api_version(request), found["namespace"], found["name"]))

    async def delete(request: web.Request) -> web.Response:
        found = request.match_info
        return _json(await shelf.delete(_api_version(request), found["namespace"], found["name"]))

    async def delete_all(request: web.Request) -> web.Response:
        return _json(await shelf.delete_all(_api_version(request), request.match_info["namespace"]))

    async def list_(request: web.Request) -> web.Response:
        return _json(await shelf.list(_api_version(request), request.match_info.get("namespace")))

    made.router.add_get(f"{books}/{RESOURCE}", list_)
    made.router.add_get(of_namespace, list_)
    made.router.add_post(of_namespace, create)
    made.router.add_delete(of_namespace, delete_all)
    made.router.add_get(f"{of_namespace}/{{name}}", get)
    made.router.add_delete(f"{of_namespace}/{{name}}", delete)
    return made


def _api_version(request: web.Request) -> str:
    return f"{GROUP}/{request.match_info['version']}"


def _document(document: Object) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        return _json(document)

    return handle


def _json(body: Object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


@web.middleware
async def with_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Write failures as objects of kind Status, which kubectl prints."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        code, reason, message = error.status, _REASONS.get(error.status, ""), error.text or error.reason
    except ApiError as error:
        code, reason, message = error.status or 503, error.reason, error.message
    except orjson.JSONDecodeError:
        code, reason, message = 415, "UnsupportedMediaType", "the body is not JSON"
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return _json({**status, "message": message, "reason": reason, "code": code}, code)


async def _body(program: Program) -> None:
    headers = await request_header.RequestHeaders.read(program.client)
    shelf = Shelf(program.client, os.environ["POD_NAMESPACE"])
    versions = os.environ.get("LIBRARY_VERSIONS", DEFAULT_VERSIONS).split(",")
    served = application(shelf, versions)
    served.middlewares.extend((with_status, request_header.middleware(program.client, headers, attributes)))
    certificates = program.arguments.certificates
    files = ("apiserver.crt", "apiserver.key")
    certificate = https_server.ServingCertificate(certificates, *files, client_authority=headers.authority)
    await https_server.serve(program, served, certificate)


if __name__ == "__main__":
    raise SystemExit(run(_body, lambda parser: https_server.add_flags(parser, CERTIFICATES)))
