"""Which job belongs to a Bundle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmkit.api.signatures import SignedBy
from olmkit.jobs.state import Finished, Running
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.world import UnpackState, World
from tests.unit.rukpak.bundle.worlds import finished, of_maps, world

PLAIN = world()
NAMED = world(pull_secret="login", secret_version="7", common_secret_version="9")


@pytest.mark.parametrize(
    ("seen", "identity"),
    [
        pytest.param(PLAIN, "u/1", id="without Secrets"),
        pytest.param(NAMED, "u/1 Secret@7 pull-secret@9", id="with a Secret of its own, and one for all"),
        pytest.param(world(pull_secret="login"), "u/1 Secret@None", id="with a Secret that does not exist"),
        pytest.param(of_maps(), "u/1 ConfigMap@1 ConfigMap@2", id="with ConfigMaps"),
    ],
)
def test_a_job_is_known_by_the_spec_and_the_versions_of_its_inputs(seen: World, identity: str) -> None:
    assert seen.identity == identity


@pytest.mark.parametrize(
    ("job", "is_own"),
    [
        pytest.param(Running("u/1 Secret@7 pull-secret@9"), True, id="one that runs with these Secrets"),
        pytest.param(Running("u/1 Secret@6 pull-secret@9"), False, id="one that runs with an older Secret"),
        pytest.param(finished(identity="u/1 Secret@6"), True, id="one that found the image with an older Secret"),
        pytest.param(finished(identity="u/2 Secret@7 pull-secret@9"), False, id="one for another spec"),
        pytest.param(finished(identity="u/10 Secret@7"), False, id="one for a spec with a similar number"),
    ],
)
def test_which_job_is_that_of_the_bundle(job: UnpackState, is_own: bool) -> None:
    assert NAMED.is_own(job) is is_own


def test_what_was_verified_for_a_spec_is_known_by_who_signed_it() -> None:
    digest, signer = f"sha256:{'1' * 64}", {"key": "sha256:2"}
    resolved = {"type": "image", "image": {"ref": f"r@{digest}"}}
    seen = world(resolved=f"r@{digest}")
    assert seen.bundle is not None
    status = seen.bundle.status.model_copy(update={"signed_by": SignedBy.load(signer)})
    verified = replace(seen, bundle=seen.bundle.model_copy(update={"status": status}))
    assert (verified.verified_digest, dict(verified.signed_by)) == (digest, signer)
    assert seen.verified_digest == "", "a Bundle that was created again is verified before its content is fetched again"
    job = Finished("u/1", UnpackResult(resolved, digest, signed_by=signer))
    assert replace(world(), job=job).verified_digest == digest
    older = world(resolved=f"r@{digest}", observed=0)
    assert older.bundle is not None
    status = older.bundle.status.model_copy(update={"signed_by": SignedBy.load(signer)})
    assert replace(older, bundle=older.bundle.model_copy(update={"status": status})).verified_digest == ""
