"""The answers to an upload that depend on the Bundle alone."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.runtime.listener.http_errors import HTTPError
from rukpak.bundle.uploads.routes import READS_PER_SECOND, ReadLimit, check_archive, check_bundle

DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def bundle(source: dict[str, Any], resolved: str = "", **metadata: Any) -> dict[str, Any]:
    status = {"resolvedSource": {"type": "upload", "upload": {"digest": resolved}}} if resolved else {}
    return {"metadata": {"name": "a", **metadata}, "spec": {"source": source}, "status": status}


BY_DIGEST = bundle({"type": "upload", "upload": {"digest": DIGEST}})
OF_ANYTHING = bundle({"type": "upload", "upload": {}})
OF_IMAGE = bundle({"type": "image", "image": {"ref": "r/a:v1"}})
DELETED = bundle({"type": "upload", "upload": {"digest": DIGEST}}, deletionTimestamp="2026-01-01T00:00:00Z")


def answer(check: Any, *arguments: Any, **options: Any) -> tuple[int, str]:
    try:
        check(*arguments, **options)
    except HTTPError as error:
        return error.status, error.message
    return 0, ""


@pytest.mark.parametrize(
    ("seen", "digest", "status"),
    [
        pytest.param(BY_DIGEST, DIGEST, 0, id="the digest of the spec"),
        pytest.param(BY_DIGEST, OTHER, 404, id="another digest"),
        pytest.param(BY_DIGEST, "", 404, id="no digest"),
        pytest.param(OF_ANYTHING, DIGEST, 404, id="a Bundle that names none"),
        pytest.param(OF_ANYTHING, "", 404, id="neither names one"),
        pytest.param(OF_IMAGE, DIGEST, 404, id="a Bundle of an image"),
        pytest.param(DELETED, DIGEST, 404, id="a Bundle that is being deleted"),
        pytest.param(None, DIGEST, 404, id="no Bundle"),
    ],
)
def test_without_a_token_all_refusals_are_alike(seen: dict[str, Any] | None, digest: str, status: int) -> None:
    found, message = answer(check_bundle, seen, "a", digest, is_authorized=False)
    assert found == status
    assert message == ("" if not status else answer(check_bundle, None, "b", OTHER, is_authorized=False)[1])


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(BY_DIGEST, (0, ""), id="with a digest"),
        pytest.param(OF_ANYTHING, (0, ""), id="without one"),
        pytest.param(OF_IMAGE, (409, 'bundle source type is "image"; expected "upload"'), id="of an image"),
        pytest.param(DELETED, (404, "there is no Bundle a"), id="that is being deleted"),
        pytest.param(None, (404, "there is no Bundle a"), id="that does not exist"),
    ],
)
def test_who_may_update_a_bundle_reads_what_is_wrong(seen: dict[str, Any] | None, expected: tuple[int, str]) -> None:
    assert answer(check_bundle, seen, "a", "", is_authorized=True) == expected


UNPACKED = (409, "bundle has already been unpacked, cannot change content of existing bundle")


@pytest.mark.parametrize(
    ("seen", "named", "expected"),
    [
        pytest.param(BY_DIGEST, DIGEST, (0, ""), id="the archive of the spec"),
        pytest.param(OF_ANYTHING, "", (0, ""), id="any archive"),
        pytest.param(
            OF_ANYTHING, OTHER, (400, f'the archive is {DIGEST}, and the request names "{OTHER}"'), id="not as named"
        ),
        pytest.param(
            bundle({"type": "upload", "upload": {"digest": OTHER}}),
            "",
            (409, f"the archive is {DIGEST}, and bundle.spec.source.upload.digest is {OTHER}"),
            id="not that of the spec",
        ),
        pytest.param(bundle({"type": "upload", "upload": {}}, DIGEST), "", (0, ""), id="what was unpacked"),
        pytest.param(bundle({"type": "upload", "upload": {}}, OTHER), "", UNPACKED, id="not what was unpacked"),
    ],
)
def test_the_archive(seen: dict[str, Any], named: str, expected: tuple[int, str]) -> None:
    assert answer(check_archive, seen, DIGEST, named) == expected


def test_requests_of_strangers_are_limited_and_come_back_with_time() -> None:
    limit = ReadLimit()
    assert sum(limit.permits(100.0) for _ in range(1000)) == READS_PER_SECOND
    assert [limit.permits(100.0 + each / READS_PER_SECOND) for each in (0.6, 1.2, 1.8, 2.4)] == [
        False,
        True,
        False,
        True,
    ]
    assert sum(limit.permits(1e6) for _ in range(1000)) == READS_PER_SECOND
