"""An operator whose webhooks validate, mutate and convert Reservations. Run as `python -m devcluster.operators.reservations`.

v1 has the guest's name as one text, v2 as two. Admission gets v2 only: the rules of the webhooks name v2, and the API server
converts other versions first.
"""

import base64
import os
from collections.abc import Callable
from typing import Any

import orjson
from aiohttp import web

from devcluster.operators import https_server
from devcluster.operators.program import Program, run
from olmkit.api.meta import Object

GROUP = "reservations.example.com"
CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"
DEFAULT_ROOM = "standard"
DEFAULT_MAXIMUM_NIGHTS = 30
DEFAULT_CONVERSION_PATH = "/convert"

Body = dict[str, Any]
Respond = Callable[[Body], Body]


def validation(maximum_nights: int) -> Respond:
    """The answers of the validating webhook: it refuses stays that are too long or of no night."""

    def respond(asked: Body) -> Body:
        nights = asked["object"]["spec"]["nights"]
        if 1 <= nights <= maximum_nights:
            return {"allowed": True}
        message = f"spec.nights is {nights}: it must be from 1 to {maximum_nights}"
        return {"allowed": False, "status": {"code": 422, "message": message}}

    return respond


def mutation(asked: Body) -> Body:
    """The answer of the mutating webhook: it sets a room where there is none."""
    if asked["object"]["spec"].get("room"):
        return {"allowed": True}
    patch = orjson.dumps([{"op": "add", "path": "/spec/room", "value": DEFAULT_ROOM}])
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}


def conversion(asked: Body) -> Body:
    """The answer of the conversion webhook."""
    try:
        converted = [convert(each, asked["desiredAPIVersion"]) for each in asked["objects"]]
    except ValueError as error:
        return {"result": {"status": "Failure", "message": str(error)}}
    return {"convertedObjects": converted, "result": {"status": "Success"}}


def convert(reservation: Object, api_version: str) -> Object:
    """The Reservation in another version. Raises ValueError for one that there is not."""
    if reservation["apiVersion"] == api_version:
        return reservation
    spec = reservation.get("spec") or {}
    if api_version == f"{GROUP}/v1":
        spec = {**spec, "guest": joined(spec.get("guest") or {})}
    elif api_version == f"{GROUP}/v2":
        spec = {**spec, "guest": divided(spec.get("guest") or "")}
    else:
        raise ValueError(f"there is no version {api_version}")
    return {**reservation, "apiVersion": api_version, "spec": spec}


def divided(name: str) -> dict[str, str]:
    """A name as in v2. The family name is its last word."""
    given, _, family = name.rpartition(" ")
    return {"givenName": given, "familyName": family}


def joined(guest: Body) -> str:
    """A name as in v1."""
    return " ".join(part for part in (guest.get("givenName", ""), guest.get("familyName", "")) if part)


def _handler(respond: Respond) -> Callable[[web.Request], Any]:
    """A handler of AdmissionReviews or ConversionReviews."""

    async def handle(request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        asked = review["request"]
        answer = {
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": {"uid": asked["uid"], **respond(asked)},
        }
        return web.Response(body=orjson.dumps(answer), content_type="application/json")

    return handle


def application(maximum_nights: int, conversion_path: str = DEFAULT_CONVERSION_PATH) -> web.Application:
    """The three webhooks."""
    made = web.Application(client_max_size=16 * 1024 * 1024)
    for path, respond in (
        ("/validate", validation(maximum_nights)),
        ("/mutate", mutation),
        (conversion_path, conversion),
    ):
        made.router.add_post(path, _handler(respond))
    return made


async def _body(program: Program) -> None:
    certificate = https_server.ServingCertificate(program.arguments.certificates, "tls.crt", "tls.key")
    maximum_nights = int(os.environ.get("MAXIMUM_NIGHTS", DEFAULT_MAXIMUM_NIGHTS))
    path = os.environ.get("CONVERSION_PATH", DEFAULT_CONVERSION_PATH)
    await https_server.serve(program, application(maximum_nights, path), certificate)


if __name__ == "__main__":
    raise SystemExit(run(_body, lambda parser: https_server.add_flags(parser, CERTIFICATES)))
