"""What spec.config.inline means, and the words of OLM v1 about what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.clusterextension.configuration import Configuration, read_configuration

PATTERN = 'field "watchNamespace" must match pattern "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"'
TOLERATIONS: list[dict[str, Any]] = [{"key": "infra", "operator": "Exists"}]


def nested(levels: int) -> Any:
    """A value in so many objects."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("inline", "namespace", "config"),
    [
        pytest.param(None, None, {}, id="none"),
        pytest.param({"watchNamespace": "team-a"}, "team-a", {}, id="a namespace to watch"),
        pytest.param({"watchNamespace": None}, None, {}, id="null names no namespace"),
        pytest.param({"deploymentConfig": None}, None, {}, id="null changes no Deployment"),
        pytest.param(
            {"deploymentConfig": {"nodeSelector": {"disk": "ssd"}, "tolerations": TOLERATIONS}},
            None,
            {"nodeSelector": {"disk": "ssd"}, "tolerations": TOLERATIONS},
            id="changes of the Deployments",
        ),
        pytest.param(
            {"deploymentConfig": {"selector": {"matchLabels": {"a": "b"}}, "env": [{"name": "A", "value": "b"}]}},
            None,
            {"env": [{"name": "A", "value": "b"}]},
            id="the selector of a Subscription is accepted and ignored",
        ),
        pytest.param(
            {"deploymentConfig": {"affinity": {}}}, None, {"affinity": {}}, id="an empty affinity removes one"
        ),
        pytest.param({"deploymentConfig": {"tolerations": []}}, None, {}, id="an empty list changes nothing"),
    ],
)
def test_a_configuration_without_problems_is_read(
    inline: dict[str, Any] | None, namespace: str | None, config: dict[str, Any]
) -> None:
    assert read_configuration(inline) == Configuration(namespace, config)


@pytest.mark.parametrize(
    ("inline", "problem"),
    [
        pytest.param({"replicas": 2}, 'unknown field "replicas"', id="an unknown key"),
        pytest.param({"deploymentConfig": nested(200)}, "nests deeper than 200 levels", id="what nests too deep"),
        pytest.param(
            {"watchNamespace": 5}, 'invalid type for field "watchNamespace": got number, want string', id="a number"
        ),
        pytest.param(
            {"watchNamespace": ["a"]}, 'invalid type for field "watchNamespace": got array, want string', id="a list"
        ),
        pytest.param({"watchNamespace": "Team"}, PATTERN, id="a name in upper case"),
        pytest.param(
            {"watchNamespace": ""},
            f'multiple errors found:\n  - field "watchNamespace" must have minimum length of 1 (len=0)\n  - {PATTERN}',
            id="an empty name is not all namespaces",
        ),
        pytest.param(
            {"watchNamespace": "a" * 64},
            'field "watchNamespace" must have maximum length of 63 (len=64)',
            id="a name that is too long",
        ),
        pytest.param(
            {"deploymentConfig": "x"},
            'invalid type for field "deploymentConfig": got string, want object',
            id="a text instead of changes",
        ),
        pytest.param(
            {"deploymentConfig": {"replicas": 2}}, 'unknown field "deploymentConfig.replicas"', id="an unknown change"
        ),
        pytest.param(
            {"deploymentConfig": {"nodeSelector": "ssd"}},
            'invalid type for field "deploymentConfig.nodeSelector": must be a mapping, not text',
            id="a change of another type",
        ),
        pytest.param(
            {"b": 1, "a": 1, "watchNamespace": "-"},
            f'multiple errors found:\n  - unknown field "a"\n  - unknown field "b"\n  - {PATTERN}',
            id="several are listed, one a line",
        ),
    ],
)
def test_problems_are_explained_in_the_words_of_olm_v1(inline: dict[str, Any], problem: str) -> None:
    assert read_configuration(inline).problem == problem


OWN = (
    'invalid format for field "watchNamespace": \'other\' is not valid ownNamespaceInstallMode: invalid value "other": must be '
    '"mine" (the namespace where the operator is installed) because this operator only supports OwnNamespace install mode'
)
SINGLE = (
    'invalid format for field "watchNamespace": \'mine\' is not valid singleNamespaceInstallMode: invalid value "mine": must be '
    'different from "mine" (the install namespace) because this operator uses SingleNamespace install mode to watch a different '
    "namespace"
)
MISSING, UNKNOWN = 'required field "watchNamespace" is missing', 'unknown field "watchNamespace"'


@pytest.mark.parametrize(
    ("watched", "modes", "sentence"),
    [
        pytest.param(None, "SingleNamespace", MISSING, id="a bundle for one namespace requires it"),
        pytest.param(None, "OwnNamespace SingleNamespace", MISSING, id="so does one for its own or another one"),
        pytest.param(None, "AllNamespaces OwnNamespace", "", id="one for all namespaces does not"),
        pytest.param(None, "MultiNamespace", "", id="one for several namespaces cannot be installed with OLM v1"),
        pytest.param("other", "AllNamespaces", UNKNOWN, id="a bundle for all namespaces does not know it"),
        pytest.param("other", "OwnNamespace", OWN, id="a bundle for its own namespace accepts that one"),
        pytest.param("mine", "SingleNamespace", SINGLE, id="a bundle for another namespace accepts any other one"),
        pytest.param("mine", "OwnNamespace", "", id="its own namespace is no reason"),
        pytest.param("other", "OwnNamespace SingleNamespace", "", id="nor is any namespace if both are supported"),
        pytest.param("other", "", "", id="unknown install modes explain nothing"),
    ],
)
def test_a_refusal_is_explained_by_the_install_modes_of_the_bundle(
    watched: str | None, modes: str, sentence: str
) -> None:
    assert Configuration(watched).refusal("mine", modes.split()) == sentence
