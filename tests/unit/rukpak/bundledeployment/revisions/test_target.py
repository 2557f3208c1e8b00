"""What is brought follows from spec and status alone."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from olmkit.api.bundledeployments import BundleDeployment
from rukpak.bundledeployment.revisions.history import begins
from rukpak.bundledeployment.revisions.target import Target, asked_digest, bundle_name, install_text, target_of
from rukpak.bundledeployment.world import World
from rukpak.render.install_options import InstallOptions
from tests.unit.rukpak.bundledeployment.worlds import NAME, raw, revision

V1, V2, V3 = (f"registry.example.com/ship:v{number}" for number in (1, 2, 3))


def target(ref: str, *history: Any, **spec: Any) -> Target:
    obj = raw(ref, status={"observedGeneration": 1, "history": list(history)})
    obj["spec"] |= spec
    return target_of(obj, BundleDeployment.load(obj))


def rolled_back(number: int, ref: str, **spec: Any) -> Any:
    """A revision that was rolled back when spec asked for it."""
    obj = raw(ref)
    obj["spec"] |= spec
    return revision(number, ref, "RolledBack", asked=asked_digest(obj), install=_install(spec))


def _install(spec: dict[str, Any]) -> str:
    return f'{{"installNamespace":"{spec["installNamespace"]}"}}' if spec else "{}"


def shown(found: Target) -> tuple[str, str, int | None, bool]:
    """The Bundle's hash as its image, the install namespace, the revision, and whether it is rolled back."""
    names = {revision(1, ref)["bundle"]: ref.rpartition(":")[2] for ref in (V1, V2, V3)}
    number = found.revision.revision if found.revision else None
    return names[found.bundle], found.options.namespace, number, found.is_rolled_back


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(target(V1), ("v1", "", None, False), id="nothing has begun"),
        pytest.param(target(V1, revision(1, V1)), ("v1", "", 1, False), id="installed"),
        pytest.param(target(V2, revision(1, V1)), ("v2", "", None, False), id="an upgrade is asked for"),
        pytest.param(
            target(V2, revision(2, V2, "InProgress"), revision(1, V1)), ("v2", "", 2, False), id="an upgrade has begun"
        ),
        pytest.param(
            target(V2, revision(2, V2, "Failed"), revision(1, V1)),
            ("v2", "", 2, False),
            id="failed, and not rolled back",
        ),
        pytest.param(
            target(V1, revision(2, V2, "InProgress"), revision(1, V1)),
            ("v1", "", None, False),
            id="taken back: that is another revision",
        ),
        pytest.param(target(V2, rolled_back(2, V2), revision(1, V1)), ("v1", "", 1, True), id="rolled back"),
        pytest.param(
            target(V2, rolled_back(3, V2), revision(2, V3, "Superseded"), revision(1, V1)),
            ("v1", "", 1, True),
            id="rolled back, past one that never succeeded",
        ),
        pytest.param(
            target(V3, rolled_back(2, V2), revision(1, V1)), ("v3", "", None, False), id="something else is asked for"
        ),
        pytest.param(
            target(V1, rolled_back(2, V2), revision(1, V1)), ("v1", "", None, False), id="what runs is asked for"
        ),
        pytest.param(
            target(V2, rolled_back(2, V2), revision(1, V1), installNamespace="bow"),
            ("v2", "bow", None, False),
            id="the same Bundle is asked for with other options: it is tried again",
        ),
        pytest.param(target(V2, rolled_back(2, V2)), ("v2", "", None, False), id="there is nothing to go back to"),
        pytest.param(
            target(V1, revision(1, V1), installNamespace="bow"), ("v1", "bow", None, False), id="options are changed"
        ),
        pytest.param(
            target(V1, rolled_back(2, V1, installNamespace="bow"), revision(1, V1), installNamespace="bow"),
            ("v1", "", 1, True),
            id="a change of options is rolled back",
        ),
    ],
)
def test_the_target(found: Target, expected: tuple[str, str, int | None, bool]) -> None:
    assert shown(found) == expected


@pytest.mark.parametrize(
    ("ref", "history", "is_served", "has_condition"),
    [
        pytest.param(V1, [], True, True, id="the first installation"),
        pytest.param(V1, [], False, False, id="the first installation on a cluster without the kind"),
        pytest.param(V1, [revision(1, V1)], True, False, id="the kind appears: nothing is restarted"),
        pytest.param(V2, [revision(1, V1)], True, True, id="the next revision has it"),
        pytest.param(
            V1, [revision(1, V1, operatorCondition="ns/ship.v1")], False, True, id="the kind disappears: it is the same"
        ),
        pytest.param(
            V2, [revision(1, V1, operatorCondition="ns/ship.v1")], False, False, id="the next revision has none"
        ),
        pytest.param(
            V2,
            [revision(2, V2, "InProgress"), revision(1, V1)],
            True,
            False,
            id="the kind appears while a revision is being applied",
        ),
        pytest.param(
            V2,
            [rolled_back(2, V2), revision(1, V1, operatorCondition="ns/ship.v1")],
            False,
            True,
            id="a rollback brings what was there",
        ),
        pytest.param(
            V3, [rolled_back(2, V2), revision(1, V1)], True, True, id="something else is asked for after a rollback"
        ),
    ],
)
def test_a_revision_keeps_what_it_began_with(
    ref: str, history: list[Any], is_served: bool, has_condition: bool
) -> None:
    obj = raw(ref, status={"observedGeneration": 1, "history": history})
    found = target_of(obj, BundleDeployment.load(obj), has_conditions=is_served)
    assert found.options.operator_condition is has_condition


def test_only_a_registry_bundle_has_a_condition() -> None:
    obj = raw(V1)
    obj["spec"]["template"]["spec"]["provisionerClassName"] = "core-rukpak-io-plain"
    assert not target_of(obj, BundleDeployment.load(obj), has_conditions=True).options.operator_condition


def same_digits() -> tuple[str, str]:
    """Two images whose templates have the same digits in the name of their Bundle."""
    seen: dict[str, str] = {}
    for number in count():
        ref = f"registry.example.com/ship:v1.{number}"
        name = bundle_name(NAME, raw(ref)["spec"]["template"]["spec"])
        if name in seen:
            return seen[name], ref
        seen[name] = ref
    raise AssertionError


def test_a_template_with_the_digits_of_an_installed_bundle_is_another_bundle() -> None:
    """Else an upgrade to it would be none: nothing would hold it, and no custom resource would be compared."""
    one, two = same_digits()
    old = revision(1, one)
    found = target(two, old)
    assert (found.bundle != old["bundle"], len(found.bundle), found.revision) == (True, len(old["bundle"]), None)
    new = revision(2, two, bundle=found.bundle)
    for history in ((new, old), (new,)):
        again = target(two, *history)
        assert (again.bundle, again.revision.revision if again.revision else None) == (found.bundle, 2), "it stays"
    back = target(one, new, old)
    assert (back.bundle, back.revision) == (old["bundle"], None)
    obj = raw(two, status={"observedGeneration": 1, "revision": 1, "activeBundle": old["bundle"], "history": [old]})
    seen = World(datetime.now(UTC), obj, BundleDeployment.load(obj))
    assert (seen.is_upgrade, begins(seen)) == (True, True)


def test_an_installed_bundle_without_a_revision_keeps_its_name_too() -> None:
    one, two = same_digits()
    known = {key: value for key, value in revision(1, one).items() if key in ("bundle", "spec")}
    obj = raw(two, status={"observedGeneration": 1, "activeBundle": known["bundle"], "installed": known})
    assert World(datetime.now(UTC), obj, BundleDeployment.load(obj)).is_upgrade
    obj = raw(one, status=obj["status"])
    assert not World(datetime.now(UTC), obj, BundleDeployment.load(obj)).is_upgrade


@pytest.mark.parametrize("install", ["", "no JSON", "[]", "5", '{"watchNamespaces":5}', '{"certificates":"Nobody"}'])
def test_a_revision_with_options_that_cannot_be_read_counts_as_none(install: str) -> None:
    broken = revision(2, V2, install=install)
    assert shown(target(V2, broken, revision(1, V1))) == ("v2", "", None, False)
    assert shown(target(V3, rolled_back(3, V3), broken, revision(1, V1))) == ("v1", "", 1, True)
    obj = raw(
        V2, status={"observedGeneration": 1, "revision": 2, "activeBundle": broken["bundle"], "history": [broken]}
    )
    seen = World(datetime.now(UTC), obj, BundleDeployment.load(obj))
    assert seen.installed_options == InstallOptions()


def test_labels_of_objects_are_no_part_of_what_a_revision_asks_for() -> None:
    """One that was rolled back is not tried again because of another label."""
    plain, labeled = raw(V2), raw(V2)
    labeled["spec"] |= {"objectLabels": {"example.com/team": "red"}}
    assert (asked_digest(labeled), install_text(labeled)) == (asked_digest(plain), "{}")
    assert target(V1, revision(1, V1), objectLabels={"example.com/team": "red"}) == target(V1, revision(1, V1))
    again = target(V2, rolled_back(2, V2), revision(1, V1), objectLabels={"example.com/team": "red"})
    assert shown(again) == ("v1", "", 1, True)
