"""Where a bundle is installed."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.api.names import is_dns1123_label
from rukpak.format.errors import BadBundle
from rukpak.format.objects import BundleObject
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.install_options import InstallOptions
from rukpak.render.namespaces import (
    default_namespace,
    external_namespaces,
    install_namespace,
    namespace_error,
    namespace_object,
)
from rukpak.render.renderer import installation
from tests.unit.rukpak.builders import bundle, csv

TEMPLATE = "operatorframework.io/suggested-namespace-template"
NAME = "operatorframework.io/suggested-namespace"


def template(name: object, **metadata: object) -> str:
    return orjson.dumps({"kind": "Namespace", "metadata": {"name": name, **metadata}}).decode()


@pytest.mark.parametrize(
    ("annotations", "package", "wanted", "notes"),
    [
        pytest.param({}, "things", "things-system", [], id="the package's name"),
        pytest.param({NAME: "a"}, "things", "a", [], id="the suggested one"),
        pytest.param({NAME: "a", TEMPLATE: template("b")}, "things", "b", [], id="the template's before it"),
        pytest.param(
            {NAME: "a", TEMPLATE: "{"},
            "things",
            "a",
            [f"annotation {TEMPLATE} is not valid JSON"],
            id="a template that does not parse is reported, and the next rule applies",
        ),
        pytest.param(
            {TEMPLATE: "[]"},
            "things",
            "things-system",
            [f"annotation {TEMPLATE} is no Namespace as JSON"],
            id="a template that is no Namespace",
        ),
        pytest.param(
            {NAME: "kube-system"},
            "things",
            "things-system",
            [f'annotation {NAME}: namespace "kube-system" belongs to Kubernetes'],
            id="never kube-*",
        ),
        pytest.param(
            {NAME: "default", TEMPLATE: template("olm-suite-system")},
            "things",
            "things-system",
            [
                f'annotation {TEMPLATE}: namespace "olm-suite-system" is the suite\'s own',
                f'annotation {NAME}: namespace "default" belongs to Kubernetes',
            ],
            id="never default or the suite's own",
        ),
        pytest.param(
            {NAME: "olm-suite-keys"},
            "things",
            "things-system",
            [f'annotation {NAME}: namespace "olm-suite-keys" is the suite\'s own'],
            id="never where the suite's keys are",
        ),
        pytest.param(
            {NAME: "A_b"},
            "things",
            "things-system",
            [
                f'annotation {NAME}: namespace "A_b" is not a valid namespace name '
                "(lower-case letters, digits and `-`, at most 63)"
            ],
            id="a name that is no label",
        ),
        pytest.param(
            {},
            "kube-green",
            "operator-kube-green-system",
            ['namespace "kube-green-system" belongs to Kubernetes'],
            id="a package whose name Kubernetes keeps for itself",
        ),
        pytest.param({}, "a.b_C", "a-b-c-system", [], id="a package whose name is no label"),
    ],
)
def test_install_namespace(annotations: dict[str, str], package: str, wanted: str, notes: list[str]) -> None:
    found = install_namespace(bundle(csv(annotations=annotations), package=package))
    assert found == (wanted, tuple(notes))


def test_the_suites_namespace_is_configurable() -> None:
    suggested = bundle(csv(annotations={NAME: "mine"}))
    assert install_namespace(suggested, ("mine",))[0] == "things-system"
    assert install_namespace(suggested)[0] == "mine"


def test_labels_and_annotations_of_the_template_are_used() -> None:
    text = template("b", labels={"z": "1", "a": "2", "bad": 3}, annotations={"n": "m"}, finalizers=["x"])
    assert namespace_object(bundle(csv(annotations={TEMPLATE: text})), "elsewhere") == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "elsewhere", "labels": {"a": "2", "z": "1"}, "annotations": {"n": "m"}},
    }


MARKS = {
    "core.rukpak.io/created": "true",
    "core.rukpak.io/owner-uid": "u",
    "member.core.rukpak.io/u": "true",
    "x.member.core.rukpak.io/u": "true",
}
OTHERS = {"core.rukpak.io": "no domain", "core.rukpak.io.example.com/a": "b", "xcore.rukpak.io/a": "b"}


def test_a_template_cannot_claim_a_namespace() -> None:
    text = template("a", labels=MARKS | OTHERS, annotations=MARKS | OTHERS)
    metadata = namespace_object(bundle(csv(annotations={TEMPLATE: text})), "a")["metadata"]
    assert metadata == {"name": "a", "labels": OTHERS, "annotations": OTHERS}


@pytest.mark.parametrize(
    ("name", "created", "required"),
    [
        pytest.param("things", "", "", id="one like any other"),
        pytest.param("default", "belongs to Kubernetes", "", id="default is installed into on request"),
        pytest.param("kube-system", "belongs to Kubernetes", "", id="kube-* is installed into on request"),
        pytest.param("olm-suite-system", "is the suite's own", "is the suite's own", id="the suite's own never is"),
        pytest.param("olm-suite-keys", "is the suite's own", "is the suite's own", id="nor that of its keys"),
    ],
)
def test_namespaces_that_may_be_installed_into(name: str, created: str, required: str) -> None:
    assert namespace_error(name) == created
    assert namespace_error(name, must_exist=True) == required


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_name_makes_a_namespace(name: str) -> None:
    made = default_namespace(name)
    assert is_dns1123_label(made)
    assert made.endswith("-system")


@settings(deadline=None)
@given(st.text(min_size=1, max_size=80))
def test_every_package_has_a_permitted_install_namespace(package: str) -> None:
    assert namespace_error(install_namespace(bundle(package=f"x{package}"))[0]) == ""


@pytest.mark.parametrize(
    ("objects", "watched", "expected"),
    [
        pytest.param([("Service", "a")], [], ["a"], id="that of an object"),
        pytest.param([("Service", "a"), ("Namespace", "")], [], ["a"], id="another one is in the bundle"),
        pytest.param([("Service", "n"), ("Namespace", "")], ["n"], [], id="it is in the bundle"),
        pytest.param([("ClusterRole", "")], ["b", "a", ""], ["a", "b"], id="those that are watched"),
        pytest.param(
            [("Service", "kube-system")], ["default", "olm-suite-system"], [], id="those that are always there"
        ),
    ],
)
def test_namespaces_that_have_to_exist(objects: list[tuple[str, str]], watched: list[str], expected: list[str]) -> None:
    made = [
        BundleObject({"apiVersion": "v1", "kind": kind, "metadata": {"name": "n", "namespace": namespace}})
        for kind, namespace in objects
    ]
    assert external_namespaces(made, watched) == expected


def test_a_namespace_that_is_refused_is_named_with_the_way_out_of_each_kind() -> None:
    options = InstallOptions("olm-suite-system", must_exist=True)
    with pytest.raises(BadBundle) as caught:
        installation(bundle(csv()), options, "things", ClusterInfo(()), {})
    assert caught.value.message == (
        'nothing may be installed into namespace "olm-suite-system", which is the suite\'s own: name another install namespace; '
        "a ClusterExtension keeps its spec.namespace: delete it, and create it with another one"
    )
