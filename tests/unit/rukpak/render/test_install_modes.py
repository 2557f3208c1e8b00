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


def test_a_strict_policy_watches_all_namespaces_by_default_and_nothing_else() -> None:
    assert default_targets(bundle(csv(modes=(ALL, OWN))), "here", is_strict=True) == ("",)
    with pytest.raises(BadBundle) as caught:
        default_targets(bundle(csv(modes=(OWN, SINGLE))), "here", is_strict=True)
    assert (caught.value.reason, caught.value.message) == (
        "InvalidConfiguration",
        'bundle "things.v1.0.0" supports only the install modes OwnNamespace, SingleNamespace, so it has to be said which '
        'namespaces it watches: set watchNamespaces to ["here"] (the namespace it is installed into), or to one other namespace',
    )


@pytest.mark.parametrize(
    ("modes", "reason", "message"),
    [
        pytest.param(
            (SINGLE, MULTI),
            "InvalidConfiguration",
            'bundle "things.v1.0.0" supports only the install modes MultiNamespace, SingleNamespace, so it has to be said which '
            "namespaces it watches: set watchNamespaces to one other namespace, or to several namespaces",
            id="others are offered",
        ),
        pytest.param(
            (),
            "BundleLoadFailed",
            'bundle "things.v1.0.0" supports no install mode at all: choose a version of the package that supports one of '
            "AllNamespaces, OwnNamespace, SingleNamespace, MultiNamespace",
            id="none",
        ),
    ],
)
def test_a_bundle_that_supports_neither_is_refused(modes: tuple[str, ...], reason: str, message: str) -> None:
    with pytest.raises(BadBundle) as caught:
        default_targets(bundle(csv(modes=modes)), "here")
    assert (caught.value.reason, caught.value.message) == (reason, message)


def test_install_modes_of_unknown_type_are_named_as_upstream_does() -> None:
    modes = [{"type": "Galaxy", "supported": True}, {"type": ALL, "supported": True}, {"type": "Moon"}]
    found = bundle(csv(installModes=modes))
    with pytest.raises(BadBundle) as caught:
        check_targets(found, "here", ("a",))
    text = "supported install modes [AllNamespaces Galaxy] do not support target namespaces [a]"
    assert caught.value.message == f"invalid option(s): invalid target namespaces [a]: {text}"
    unknown = bundle(csv(installModes=modes[:1]))
    for given in (
        lambda: default_targets(unknown, "here"),
        lambda: check_targets(unknown, "here", ("a",), with_advice=True),
    ):
        with pytest.raises(BadBundle, match="supports only the unknown install modes Galaxy: choose a version"):
            given()


@pytest.mark.parametrize(
    ("modes", "targets", "advice"),
    [
        ((ALL,), ("a",), 'set watchNamespaces to [""] (all namespaces)'),
        ((OWN,), ("a",), 'set watchNamespaces to ["here"] (the namespace it is installed into)'),
        ((SINGLE, OWN), ("a", "b"),
         'set watchNamespaces to ["here"] (the namespace it is installed into), or to one other namespace'),
        ((MULTI,), ("a", "here"), "set watchNamespaces to several namespaces"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_can_be_watched(modes: tuple[str, ...], targets: tuple[str, ...], advice: str) -> None:
    with pytest.raises(BadBundle) as caught:
        check_targets(bundle(csv(modes=modes)), "here", targets, with_advice=True)
    assert caught.value.message.endswith(f"; {advice}")
    assert caught.value.reason == "InvalidConfiguration"


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
