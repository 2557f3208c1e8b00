"""The pages of docs/ say what the code says: every condition and reason is named, links and make targets lead somewhere."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from olmkit.api import bundledeployments, bundles, catalogs, operators, packages
from olmkit.api.content import Phase
from olmkit.api.meta import Resource

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("config/**/*.md")])

_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
_MAKE = re.compile(r"\bmake ([a-z][a-z0-9-]*)\b")
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.mark.parametrize(
    ("page", "enums"),
    [
        ("catalog.md", (catalogs.ConditionType, catalogs.Reason, Phase)),
        ("operator.md", (operators.ConditionType, operators.Reason)),
        ("bundle.md", (bundles.ConditionType, bundles.Reason, Phase)),
        ("bundledeployment.md", (bundledeployments.ConditionType, bundledeployments.Reason)),
    ],
)
def test_the_page_of_a_kind_names_its_conditions_and_reasons(page: str, enums: tuple[type[StrEnum], ...]) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    missing = [member.value for enum in enums for member in enum if f"`{member.value}`" not in text]
    assert missing == []


@pytest.mark.parametrize(
    ("page", "resource"),
    [
        ("catalog.md", catalogs.Catalog),
        ("package.md", packages.Package),
        ("operator.md", operators.Operator),
        ("bundle.md", bundles.Bundle),
        ("bundledeployment.md", bundledeployments.BundleDeployment),
    ],
)
def test_the_page_of_a_kind_names_the_fields_of_its_spec_and_status(page: str, resource: type[Resource]) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    for part in ("spec", "status"):
        model = resource.model_fields[part].annotation
        assert model is not None
        names = [field.alias or name for name, field in model.model_fields.items()]
        shared = {"observedGeneration", "conditions"}
        missing = [name for name in names if name not in shared and not re.search(rf"\b{name}\b", text)]
        assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_links_and_make_targets_of_a_page_exist(page: Path) -> None:
    text = page.read_text()
    for target in _LINK.findall(text):
        assert (page.parent / target).exists(), target
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = {target for code in _CODE.findall(text) for target in _MAKE.findall(code)}
    assert named <= targets
