"""The custom resources that an uninstallation deletes, and what the reviews of a rollback say of rules that refuse it."""

from __future__ import annotations

import pytest

from console.pages.previews import upgrade_warnings
from console.views.uninstall import deletion_notices, deletion_section
from olmctl.diff.definitions import DefinitionChange
from olmctl.questions.custom_resources import CustomResources
from olmctl.questions.difference import Difference
from olmctl.questions.installed_objects import InstalledObjects
from olmctl.questions.removal import CASCADE, KEEP_CRDS, Contents, Removal
from olmctl.questions.required_operators import Requiring
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.api.meta import Kind
from olmkit.crd_safety.problem import Problem

KIND = Kind("example.com", "v1", "Boat", "boats")


def removal(policy: str, *first: tuple[str, str], count: int) -> Removal:
    """The removal of an Operator with these boats."""
    found = CustomResources("boats.example.com", count, KIND, first)
    contents = {"alpha": Contents(InstalledObjects((), ()), (found,), policy)}
    return Removal("alpha", (), (), contents, Requiring((), (), ()), is_refused=False)


def test_the_custom_resources_that_are_deleted_are_named_with_links() -> None:
    found = deletion_section(removal(CASCADE, ("shop", "orders"), ("", "ark"), count=5).custom_resources)
    assert found is not None
    assert found.lines == ("These, and 3 others:",)
    assert found.links == (
        ("/instances/example.com/v1/boats/shop/orders", "Boat shop/orders"),
        ("/instances/example.com/v1/boats/_/ark", "Boat ark"),
    )


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(removal(KEEP_CRDS, ("shop", "orders"), count=1), id="they are kept"),
        pytest.param(removal(CASCADE, count=0), id="there are none"),
    ],
)
def test_nothing_is_named_that_is_not_deleted(given: Removal) -> None:
    assert deletion_section(given.custom_resources) is None


@pytest.mark.parametrize(
    ("is_protected", "links"),
    [
        pytest.param(False, ["", "/operators/alpha/edit", "/operators/alpha/protect"], id="it is not protected"),
        pytest.param(True, ["", "/operators/alpha/edit"], id="it is protected"),
    ],
)
def test_the_ways_to_keep_them_are_offered(is_protected: bool, links: list[str]) -> None:
    assert [each.href for each in deletion_notices("alpha", is_protected=is_protected)] == links


def test_what_refuses_a_version_comes_first_and_whole_and_what_settings_permit_is_said() -> None:
    long = Problem("v1", "spec." + "x" * 3000, CrdUpgradeRule.FIELD_REMOVED, "")
    small = Problem("v1", "spec.a", CrdUpgradeRule.FIELD_REMOVED, "")
    change = DefinitionChange("boats.example.com", (), (long,), ignored=(small,))
    found = Difference("alpha", "1.2.0", "1.1.0", (), ("Sail.example.com",), (), (), (), (change,))
    first, second, last = upgrade_warnings(found)
    assert (first.kind, first.lines) == ("bad", (f"boats.example.com: {long}",))
    assert (second.kind, second.lines) == ("warn", (f"boats.example.com: {small}",))
    assert last.text == "Sail.example.com"
