"""spec.packages: when a list applies, what the status shows of it, and which objects it leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from catalogd.catalog.decide import IMMEDIATELY, decide
from catalogd.catalog.package_diff import of_packages
from catalogd.catalog.report import report
from catalogd.catalog.selected_packages import MAX_NAMES_IN_NOTE
from catalogd.catalog.world import (
    Done,
    Keep,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    Plan,
    Record,
    SelectPackages,
    Serve,
    World,
)
from catalogd.ingest.package_objects import ObjectFingerprint
from olmkit.api.catalogs import CatalogStatus
from tests.unit.catalogd.catalog.worlds import AWAY, IMAGE_TWO, NOW, STAMP, TAG, TWO, WITH_SECRET, record, served, world

EARLIER = "2026-01-01T06:00:00Z"


def listing(*names: str) -> dict[str, Any]:
    return {"spec": {"packages": list(names)}}


def selected(*names: str, changed: str = STAMP) -> Record:
    """The record that offers these packages since `changed`."""
    return replace(record(), packages=names, packages_changed=changed)


@pytest.mark.parametrize(
    ("given", "action"),
    [
        pytest.param(
            world(**listing("b", "a"), served=served(), last_checked=NOW),
            SelectPackages(selected("a", "b")),
            id="a new list applies to what is served, sorted",
        ),
        pytest.param(
            world(**listing("a"), served=served(selected("a", "b", changed=EARLIER)), last_checked=NOW),
            SelectPackages(selected("a")),
            id="a changed list too",
        ),
        pytest.param(
            world(served=served(selected("a", changed=EARLIER)), last_checked=NOW),
            SelectPackages(replace(record(), packages_changed=STAMP)),
            id="without a list everything is offered again",
        ),
        pytest.param(
            world(**listing("b", "a"), served=served(selected("a", "b", changed=EARLIER)), last_checked=NOW),
            Keep(),
            id="the order of the list does not matter",
        ),
        pytest.param(
            world(**listing("a"), served=served(), job=LoadRunning(TAG)),
            SelectPackages(selected("a")),
            id="a job that reads newer content does not delay it",
        ),
        pytest.param(
            world(**listing("a"), served=served(), job=LoadFailed(TAG, AWAY, timedelta(0)), was_failing=True),
            SelectPackages(selected("a")),
            id="nor does a registry that is away",
        ),
        pytest.param(
            world(**{**WITH_SECRET, **listing("a")}, served=served()),
            SelectPackages(selected("a")),
            id="nor does a login that is missing",
        ),
        pytest.param(
            world(
                **listing("a"),
                served=served(selected("a", changed=EARLIER)),
                job=LoadFinished(TAG, IMAGE_TWO, TWO),
            ),
            Serve(Record(TAG, IMAGE_TWO, TWO, STAMP, packages=("a",), packages_changed=EARLIER)),
            id="new content is served with the list",
        ),
        pytest.param(
            world(**listing("a"), job=LoadFinished(TAG, IMAGE_TWO, TWO)),
            Serve(Record(TAG, IMAGE_TWO, TWO, STAMP, packages=("a",), packages_changed=STAMP)),
            id="the first content too",
        ),
    ],
)
def test_when_a_list_applies(given: World, action: object) -> None:
    found = decide(given).plan
    assert isinstance(found, Plan)
    assert found.action == action
    assert isinstance(action, Keep) or found.after == IMMEDIATELY


def status_of(given: World) -> CatalogStatus:
    return report(given, decide(given).evaluation, Done(Plan(Keep()))).status


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(("b", "z"), "b", id="only packages that the catalog has are selected"),
        pytest.param(("z",), "", id="a list of which it has none selects none"),
        pytest.param(("a", "b"), "a,b", id="in the order of the catalog"),
    ],
)
def test_the_status_names_what_is_selected_and_everything_there_is(names: tuple[str, ...], expected: str) -> None:
    status = status_of(world(**listing(*names), served=served(selected(*names)), last_checked=NOW))
    assert (status.packages, status.package_count, status.selected_packages) == ("a,b", 2, expected)


def test_without_a_list_the_status_selects_nothing_in_particular() -> None:
    status = status_of(world(served=served(), last_checked=NOW))
    assert status.selected_packages is None
    assert "PackagesSelected" not in {each.type for each in status.conditions}


def test_a_name_in_another_case_is_lacking_and_the_one_that_exists_is_named() -> None:
    status = status_of(world(**listing("A", "b", "z"), served=served(selected("A", "b", "z")), last_checked=NOW))
    (message,) = [each.message for each in status.conditions if each.type == "PackagesSelected"]
    assert "of which the catalog lacks 2: A (it has a), z; they" in message
    assert status.selected_packages == "b"


def test_a_long_list_of_names_that_the_catalog_lacks_is_shortened_in_the_message_of_ready() -> None:
    names = tuple(f"z{number:03}" for number in range(200))
    status = status_of(world(**listing(*names), served=served(selected(*names)), last_checked=NOW))
    messages = {each.type: each.message for each in status.conditions}
    assert messages["Ready"].endswith(f"z004 and {200 - MAX_NAMES_IN_NOTE} more")
    assert "z099 and 100 more" in messages["PackagesSelected"]


def test_a_list_leaves_the_objects_of_its_packages() -> None:
    desired = [ObjectFingerprint(each, "f") for each in ("a", "b", "a/b")]
    assert [each.package for each in of_packages(("a", "z"), desired)] == ["a"]
