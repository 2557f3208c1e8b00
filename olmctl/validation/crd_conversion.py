"""The rules about the conversion of a CustomResourceDefinition. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from olmctl.validation.crd_form import NONE, WEBHOOK, Conversion
from olmctl.validation.kubernetes_names import dns1035_label_errors, dns1123_subdomain_errors
from olmctl.validation.object_metadata import FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED, FieldError
from olmkit.gocompat.text import quoted
from rukpak.format.objects import mapping

_FIELD = "spec.conversion"
_CLIENT, _VERSIONS = f"{_FIELD}.webhookClientConfig", f"{_FIELD}.conversionReviewVersions"
_STRATEGIES: Final = (NONE, WEBHOOK)
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def conversion_errors(conversion: Conversion, preserves_unknown_fields: bool) -> Iterator[FieldError]:
    """The errors of the conversion."""
    strategy = conversion.strategy
    if strategy != NONE and preserves_unknown_fields:
        text = "must be None if spec.preserveUnknownFields is true"
        yield FieldError(INVALID, f"{_FIELD}.strategy", strategy, text)
    if not strategy:
        yield FieldError(REQUIRED, f"{_FIELD}.strategy")
    elif strategy not in _STRATEGIES:
        text = f"supported values: {', '.join(map(quoted, _STRATEGIES))}"
        yield FieldError(NOT_SUPPORTED, f"{_FIELD}.strategy", strategy, text)
    if strategy == WEBHOOK:
        yield from _client_errors(conversion.client)
        yield from _review_version_errors(conversion.review_versions)
        return
    text = "should not be set when strategy is not set to Webhook"
    if conversion.client is not None:
        yield FieldError(FORBIDDEN, _CLIENT, "", text)
    if conversion.review_versions:
        yield FieldError(FORBIDDEN, _VERSIONS, "", text)


def _client_errors(client: Mapping[str, Any] | None) -> Iterator[FieldError]:
    if client is None:
        yield FieldError(REQUIRED, _CLIENT, "", "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield FieldError(REQUIRED, _CLIENT, "", "exactly one of url or service is required")
    elif url is not None:
        yield from _url_errors(url)
    else:
        yield from _service_errors(mapping(service))


def _url_errors(url: str) -> Iterator[FieldError]:
    field = f"{_CLIENT}.url"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield FieldError(REQUIRED, field, "", f"url must be a valid URL: {error}{_FORM}")
        return
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield FieldError(INVALID, field, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield FieldError(INVALID, field, host, f"host must be specified{_FORM}")
    refused = (
        (user, "user information is not permitted in the URL"),
        (parts.fragment, "fragments are not permitted in the URL"),
        (parts.query, "query parameters are not permitted in the URL"),
    )
    yield from (FieldError(INVALID, field, value, text) for value, text in refused if value)


def _service_errors(service: Mapping[str, Any]) -> Iterator[FieldError]:
    field = f"{_CLIENT}.service"
    for key in ("name", "namespace"):
        if not service.get(key):
            yield FieldError(REQUIRED, f"{field}.{key}", "", f"service {key} is required")
    port = service.get("port")
    if port is not None and not 1 <= port <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        yield FieldError(INVALID, f"{field}.port", port, text)
    path = service.get("path") or ""
    yield from (FieldError(INVALID, f"{field}.path", path, text) for text in _path_errors(path))


def _path_errors(path: str) -> Iterator[str]:
    if path in ("", "/"):
        return
    if path == "//":
        yield "segment[0] may not be empty"
        return
    if not path.startswith("/"):
        yield "must start with a '/'"
    for number, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield f"segment[{number}] may not be empty"
        else:
            yield from (f"segment[{number}]: {each}" for each in dns1123_subdomain_errors(step))


def _review_version_errors(versions: Sequence[str]) -> Iterator[FieldError]:
    if not versions:
        yield FieldError(REQUIRED, _VERSIONS)
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield FieldError(INVALID, f"{_VERSIONS}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        for text in dns1035_label_errors(version):
            yield FieldError(INVALID, f"{_VERSIONS}[{index}]", version, text)
    if not set(versions).intersection(_REVIEW_VERSIONS):
        text = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        yield FieldError(INVALID, _VERSIONS, list(versions), text)
