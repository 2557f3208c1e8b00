"""The optional validators in upstream's order, and those that a label selector selects. Runs none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from olmctl.validation.finding import Finding
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.annotations import capabilities, categories
from olmctl.validation.optional.community import community
from olmctl.validation.optional.csv_findings import Values
from olmctl.validation.optional.good_practices import good_practices
from olmctl.validation.optional.hub import operatorhub, operatorhubv2
from olmctl.validation.optional.multiarch import multiarch
from olmctl.validation.optional.removed_apis import alpha_deprecated_apis
from olmkit.gocompat.label_selectors import BadSelector, Selector
from olmkit.gocompat.text import quoted

_IN_SUITE: Final = {"suite": "operatorframework"}


@dataclass(frozen=True)
class Optional:
    """An optional validator. `run` gets the values of --optional-values."""

    name: str
    description: str
    run: Callable[[LoadedBundle, Values], Iterable[Finding]]
    suite: Mapping[str, str]

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels by which it is selected."""
        return {"name": self.name, **self.suite}


VALIDATORS: Final = (
    Optional("operatorhubv2", "Metadata that operatorhub.io requires.", operatorhubv2, _IN_SUITE),
    Optional("capabilities", "The capability level of the annotation.", capabilities, _IN_SUITE),
    Optional("categories", "The categories of the annotation.", categories, _IN_SUITE),
    Optional("operatorhub", "Deprecated: operatorhubv2, capabilities and categories together.", operatorhub, {}),
    Optional("community", "APIs that OpenShift 4.9 removed, and its versions that are offered.", community, {}),
    Optional(
        "alpha-deprecated-apis", "APIs that Kubernetes 1.22, 1.25 or 1.26 removed.", alpha_deprecated_apis, _IN_SUITE
    ),
    Optional("good-practices", "Names, descriptions, requested resources and permissions.", good_practices, _IN_SUITE),
    Optional("multiarch", "The platforms of the images, labels and node affinity.", multiarch, {}),
)


def selected(selector: str) -> tuple[Optional, ...]:
    """The validators that a label selector selects; none for an empty one. Raises BadSelector if it selects none."""
    if not selector.strip():
        return ()
    wanted = Selector.parse(selector)
    found = tuple(each for each in VALIDATORS if wanted.matches(each.labels))
    if not found:
        raise BadSelector(f"selector {quoted(str(wanted))} does not match any validator labels")
    return found
