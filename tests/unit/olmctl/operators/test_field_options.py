"""The options that are fields of an Operator."""

from __future__ import annotations

from typing import Any

import click
import pytest

from olmctl.operators.field_options import check_exact_version, check_fields


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("v0.3.0", ": write 0.3.0", id="a tag"),
        pytest.param("v1", ", such as 1.2.3", id="a tag of another form"),
        pytest.param(">=1.0.0", ", such as 1.2.3", id="a range"),
    ],
)
def test_what_is_not_one_exact_version(text: str, hint: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        check_exact_version(text)
    assert str(caught.value) == f"{text!r} is not one exact version{hint}"


@pytest.mark.parametrize(
    ("install", "problem"),
    [
        pytest.param({}, "", id="nothing is asked for"),
        pytest.param({"namespace": "port", "namespacePolicy": "MustExist"}, "", id="a namespace of somebody else"),
        pytest.param({"namespace": "default", "namespacePolicy": "MustExist"}, "", id="one of Kubernetes that exists"),
        pytest.param(
            {"namespace": "kube-system"},
            "nothing may be installed into namespace 'kube-system', which belongs to Kubernetes",
            id="one of Kubernetes",
        ),
        pytest.param({"namespace": "a.b"}, "which is not a valid namespace name", id="a name of another object"),
        pytest.param(
            {"namespacePolicy": "MustExist"},
            "namespacePolicy MustExist requires the namespace to install into",
            id="none is named that has to exist",
        ),
        pytest.param({"objectLabels": {"olm.operatorframework.io/a": "", "team": "red"}}, "", id="labels"),
        pytest.param({"objectLabels": {"a/b/c": ""}}, '"a/b/c" is no key of a label: ', id="a key with two domains"),
        pytest.param({"objectLabels": {"app.kubernetes.io/name": ""}}, "of Kubernetes and of olm-suite", id="reserved"),
        pytest.param({"objectLabels": {"a": "b c"}}, '"b c" is no value of a label', id="a value with a space"),
        pytest.param({"objectLabels": {f"a{n}": "" for n in range(17)}}, "at most 16 labels", id="too many labels"),
    ],
)
def test_settings_of_the_installation(install: dict[str, Any], problem: str) -> None:
    spec = {"packageName": "p", "install": install}
    if not problem:
        check_fields(spec)
        return
    with pytest.raises(click.UsageError) as caught:
        check_fields(spec)
    assert problem in str(caught.value)


def test_one_exact_version() -> None:
    check_exact_version("1.16.5-rc.1+2")
