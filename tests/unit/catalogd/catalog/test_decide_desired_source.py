"""The source that a spec asks for: identity, description, poll interval, and the Secrets and ConfigMaps it refers to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from catalogd.catalog.decide import desired_source, poll_interval
from catalogd.catalog.world import DesiredSource
from olmkit.api.catalogs import CatalogSource
from olmkit.errors import Blocked
from olmkit.sources.spec_source import InputReference
from tests.unit.catalogd.catalog.worlds import world
from tests.unit.olmkit.sources.spec_rows import DIGEST, REPOSITORY, URL, of_git, of_http, of_maps

DESIRED_SOURCES = [
    pytest.param(
        {"type": "image", "image": {"ref": "r/c:v1"}}, True, 'the catalog image "r/c:v1"', id="a tag is polled"
    ),
    pytest.param(
        {"type": "image", "image": {"ref": f"r/c@{DIGEST}"}},
        False,
        f'the catalog image "r/c@{DIGEST}"',
        id="a digest is not",
    ),
    pytest.param(of_git(), True, f"the catalog at branch main of {REPOSITORY}", id="a branch is polled"),
    pytest.param(of_git(ref={"tag": "v1"}), True, f"the catalog at tag v1 of {REPOSITORY}", id="so is a tag"),
    pytest.param(
        of_git(ref={"commit": "c" * 40}),
        False,
        f"the catalog at commit {'c' * 40} of {REPOSITORY}",
        id="a commit is not",
    ),
    pytest.param(
        of_git(pollInterval="0s"), False, f"the catalog at branch main of {REPOSITORY}", id="a branch with 0s is not"
    ),
    pytest.param(of_http(), True, f"the catalog archive {URL}", id="an archive is polled"),
    pytest.param(of_http(checksum=DIGEST), False, f"the catalog archive {URL}", id="an archive with a checksum is not"),
    pytest.param(
        of_http(url=f"{URL}?token=x"), True, f"the catalog archive {URL}", id="the query of an address is not shown"
    ),
    pytest.param(of_maps("a"), False, "the catalog in ConfigMaps", id="ConfigMaps are watched"),
]


@pytest.mark.parametrize(("spec", "is_polled", "description"), DESIRED_SOURCES)
def test_desired_sources(spec: dict[str, Any], is_polled: bool, description: str) -> None:
    desired = desired_source(world(source=spec, input_versions={InputReference("ConfigMap", "a"): "1"}))
    assert isinstance(desired, DesiredSource)
    assert (desired.poll_interval is not None, desired.description) == (is_polled, description)
    assert "token" not in desired.identity


def test_a_config_map_that_changes_is_the_same_source_and_another_job() -> None:
    def desired(version: str) -> DesiredSource | Blocked | None:
        return desired_source(world(source=of_maps("a"), input_versions={InputReference("ConfigMap", "a"): version}))

    first, second = desired("1"), desired("2")
    assert isinstance(first, DesiredSource)
    assert isinstance(second, DesiredSource)
    assert (first.identity, first.job_identity != second.job_identity) == (second.identity, True)


def test_the_interval_of_the_spec_is_used() -> None:
    desired = desired_source(world(source=of_git(pollInterval="1m")))
    assert isinstance(desired, DesiredSource)
    assert desired.poll_interval is not None
    assert timedelta(minutes=1) <= desired.poll_interval <= timedelta(minutes=1) * 1.01


def test_a_missing_config_map_is_named() -> None:
    desired = desired_source(world(source=of_maps("a"), input_versions={InputReference("ConfigMap", "a"): None}))
    assert isinstance(desired, Blocked)
    assert desired.message == 'ConfigMap "a" not found in namespace "the-suite": create it there'


def test_all_missing_inputs_are_named() -> None:
    login = {"pullSecret": "login", "verify": {"authorities": [{"name": "a", "key": {"configMap": {"name": "keys"}}}]}}
    desired = desired_source(world(source={"type": "image", "image": {"ref": "quay.io/a:v1", **login}}))
    assert isinstance(desired, Blocked)
    assert desired.message == (
        'Secret "login" not found in namespace "the-suite": create it there, or name another one; '
        'ConfigMap "keys" not found in namespace "the-suite": create it there'
    )


def test_the_interval_of_a_source_of_another_type_does_not_count() -> None:
    spec = CatalogSource.load(
        {"type": "http", "http": {"url": "https://x/c.tar"}, "image": {"ref": "r/c:v1", "pollInterval": "1m"}}
    )
    found = poll_interval("c", spec)
    assert found is not None
    assert found >= timedelta(minutes=10)


def test_a_source_with_an_invalid_interval_is_blocked() -> None:
    spec = CatalogSource.load({"type": "image", "image": {"ref": "r/c:v1", "pollInterval": "1d"}})
    with pytest.raises(Blocked, match='"1d" is not a duration'):
        poll_interval("c", spec)


def signed(**changes: Any) -> dict[str, Any]:
    """The source of an image that has to be signed with the key of a ConfigMap."""
    verify = {"authorities": [{"key": {"configMap": {"name": "keys"}}}], **changes}
    return {"type": "image", "image": {"ref": "r/c:v1", "verify": verify}}


def test_the_policy_for_signatures_is_part_of_the_identity() -> None:
    def identity(source: dict[str, Any], version: str = "1") -> str:
        found = desired_source(world(source=source, input_versions={InputReference("ConfigMap", "keys"): version}))
        assert isinstance(found, DesiredSource)
        assert found.has_policy == (found.identity != "r/c:v1")
        return found.identity

    first = identity(signed())
    assert first.startswith("r/c:v1 verify@")
    assert first == identity(signed()), "it is the same after a restart"
    assert len({first, identity(signed(), "2"), identity(signed(authorities=[{"key": {"data": "k"}}]))}) == 3
    assert identity({"type": "image", "image": {"ref": "r/c:v1"}}) == "r/c:v1"
    missing = desired_source(world(source=signed(), input_versions={}))
    assert isinstance(missing, Blocked)
    assert missing.message.startswith('ConfigMap "keys" not found')
