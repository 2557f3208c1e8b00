"""Install modes and target namespaces, in upstream's words."""

import pytest

from rukpak.format import BadBundle
from rukpak.render.install_modes import check_targets, default_targets
from tests.unit.rukpak.builders import bundle, csv

ALL, OWN, SINGLE, MULTI = "AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace"


@pytest.mark.parametrize(
    ("modes", "targets"),
    [
        pytest.param((ALL,), ("",), id="all namespaces"),
        pytest.param((ALL, OWN), ("",), id="all namespaces before its own"),
        pytest.param((OWN, SINGLE), ("here",), id="its own"),
    ],
)
def test_default_targets(modes: tuple[str, ...], targets: tuple[str, ...]) -> None:
    assert default_targets(bundle(csv(modes=modes)), "here") == targets


@pytest.mark.parametrize(
    ("modes", "words"),
    [
        pytest.param((SINGLE, MULTI), "supports only MultiNamespace, SingleNamespace", id="others are named"),
        pytest.param((), "supports no install mode at all", id="none"),
    ],
)
def test_a_bundle_that_supports_neither_is_refused(modes: tuple[str, ...], words: str) -> None:
    with pytest.raises(BadBundle) as caught:
        default_targets(bundle(csv(modes=modes)), "here")
    assert words in caught.value.message
    assert "things.v1.0.0" in caught.value.message


@pytest.mark.parametrize(
    ("modes", "targets"),
    [
        ((ALL,), ("",)),
        ((OWN,), ("here",)),
        ((SINGLE,), ("there",)),
        ((MULTI,), ("a", "b")),
        ((MULTI, OWN), ("a", "here")),
    ],
)
def test_targets_that_fit(modes: tuple[str, ...], targets: tuple[str, ...]) -> None:
    check_targets(bundle(csv(modes=modes)), "here", targets)


@pytest.mark.parametrize(
    ("modes", "targets", "message"),
    [
        ((MULTI,), (), "[]: at least one target namespace must be specified"),
        ((ALL,), (), "[]: exactly one target namespace must be specified"),
        ((OWN, SINGLE), ("",),
         "[]: supported install modes [OwnNamespace SingleNamespace] do not support targeting all namespaces"),
        ((ALL,), ("here",), "[here]: supported install modes [AllNamespaces] do not support targeting own namespace"),
        ((ALL,), ("a",), "[a]: supported install modes [AllNamespaces] do not support target namespaces [a]"),
        ((SINGLE,), ("b", "a"), "[a b]: supported install modes [SingleNamespace] do not support target namespaces [a b]"),
        ((MULTI,), ("a", ""), "[ a]: supported install modes [MultiNamespace] do not support target namespaces [ a]"),
        ((MULTI,), ("a", "here"), "[a here]: supported install modes [MultiNamespace] do not support targeting own namespace"),
    ],
)  # fmt: skip
def test_targets_that_do_not_fit(modes: tuple[str, ...], targets: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadBundle) as caught:
        check_targets(bundle(csv(modes=modes)), "here", targets)
    assert caught.value.message == f"invalid option(s): invalid target namespaces {message}"
