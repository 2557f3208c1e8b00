"""The metadata that operatorhub.io requires of a ClusterServiceVersion."""

from __future__ import annotations

import pytest

from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.hub import operatorhub, operatorhubv2
from tests.unit.olmctl.validation.made_bundle import annotate, made, put
from tests.unit.olmctl.validation.optional.findings import found

START = "Error: Value : (kettle-operator.v1.2.3) csv.Spec."


def test_a_bundle_that_has_all_of_it() -> None:
    assert found(operatorhubv2, made()) == []


@pytest.mark.parametrize(
    ("bundle", "text"),
    [
        pytest.param(made(put("spec.provider", {"name": " "})), "Provider.Name not specified", id="no provider"),
        pytest.param(
            made(put("spec.maintainers", [{"name": "Ada"}])), "Maintainers elements should contain both name and email",
            id="a maintainer without email",
        ),
        pytest.param(
            made(put("spec.maintainers", [{"name": "Ada", "email": "ada@"}])),
            "Maintainers email ada@ is invalid: mail: missing '@' or angle-addr", id="a maintainer with half an email",
        ),
        pytest.param(
            made(put("spec.links", [{"name": "a"}])), "Links elements should contain both name and url", id="a link to nothing"
        ),
        pytest.param(
            made(put("spec.links", [{"name": "a", "url": "x"}])),
            'Links url x is invalid: parse "x": invalid URI for request', id="a link that is no URL",
        ),
        pytest.param(made(put("spec.version", None)), "Version must be set", id="no version"),
        pytest.param(made(put("spec.version", "0.0.0+a")), "Version must be set", id="version 0.0.0"),
        pytest.param(made(put("spec.icon", [])), "Icon should only have one element", id="an empty list of icons"),
        pytest.param(
            made(put("spec.icon", [{"mediatype": "image/png"}])), "Icon elements should contain both data and mediatype",
            id="an icon without data",
        ),
        pytest.param(
            made(put("spec.icon.0.mediatype", "image/webp")), "Icon image/webp does not have a valid mediatype",
            id="an icon of another type",
        ),
        pytest.param(made(put("spec.minKubeVersion", "1.28")), "MinKubeVersion has an invalid value: 1.28", id="two numbers"),
    ],
)  # fmt: skip
def test_a_fault(bundle: LoadedBundle, text: str) -> None:
    assert found(operatorhubv2, bundle) == [("error", START + text)]


def test_what_should_be_there() -> None:
    texts = found(operatorhubv2, made(put("spec.icon", None), put("spec.minKubeVersion", " 	")))
    assert [(level, text.partition(") ")[2][:34]) for level, text in texts] == [
        ("warning", "csv.Spec.Icon not specified"),
        ("warning", "csv.Spec.minKubeVersion is not inf"),
        ("error", ""),  # it is no version either: removed APIs cannot be compared with it
    ]


def test_the_deprecated_one_checks_capabilities_and_categories_too() -> None:
    bundle = made(annotate("capabilities", "All"), annotate("categories", "Tea"))
    *errors, (level, text) = [(each.level, each.message) for each in operatorhub(bundle, {})]
    assert [text.partition(") ")[2][:30] for _, text in errors] == [
        "csv.Metadata.Annotations.Capab",
        'csv.Metadata.Annotations["cate',
    ]
    assert (level, text[:60]) == ("warning", 'Warning: Value : The "operatorhub" validator is deprecated; ')
