"""The form of a kind: which control a field has, what is open, and what no schema or descriptor can do."""

from __future__ import annotations

import time
from typing import Any

import pytest

from console.forms.descriptors import PREFIX, Descriptor, read
from console.forms.document import fill
from console.forms.field import Control, Field, Form
from console.forms.places import MISSING
from console.forms.schema_form import MAX_FIELDS, NOTHING, State, fields_by_error, innermost, schema_form
from tests.forms import find, sent

Schema = dict[str, Any]
UI = f"{PREFIX}com.tectonic.ui:"
TEXT: Schema = {"type": "string"}


def object_of(required: tuple[str, ...] = (), **fields: Schema) -> Schema:
    return with_fields(fields, required)


def with_fields(fields: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    return {"type": "object", "properties": fields, "required": list(required)}


def form_of(
    spec: Schema, value: dict[str, Any] | None = None, *descriptors: Descriptor, state: State = NOTHING
) -> Form:
    document = {
        "apiVersion": "a/v1",
        "kind": "K",
        "metadata": {"name": "n"},
        **({} if value is None else {"spec": value}),
    }
    return schema_form(object_of(spec=spec), descriptors, document, document, state)


def descriptor(path: str, *uses: str) -> Descriptor:
    (found,) = read({"specDescriptors": [{"path": path, "x-descriptors": list(uses)}]}, "spec")
    return found


CONTROLS = [
    pytest.param(TEXT, (), Control.TEXT, id="a string is a text input"),
    pytest.param({"type": "integer"}, (), Control.NUMBER, id="an integer is a number input"),
    pytest.param({"type": "number"}, (f"{UI}podCount",), Control.NUMBER, id="podCount is a number input"),
    pytest.param({"type": "integer"}, (f"{UI}number",), Control.NUMBER, id="number is a number input"),
    pytest.param(TEXT, (f"{UI}number",), Control.TEXT, id="a number descriptor of a string stays a text"),
    pytest.param(TEXT, (f"{UI}text",), Control.TEXT, id="text"),
    pytest.param(TEXT, (f"{PREFIX}text",), Control.TEXT, id="text without the prefix of OpenShift"),
    pytest.param(TEXT, (f"{UI}string",), Control.TEXT, id="string"),
    pytest.param(TEXT, (f"{UI}label",), Control.TEXT, id="label"),
    pytest.param(TEXT, (f"{UI}password",), Control.PASSWORD, id="password"),
    pytest.param({"type": "boolean"}, (), Control.SWITCH, id="a boolean is a switch"),
    pytest.param({"type": "boolean"}, (f"{UI}booleanSwitch",), Control.SWITCH, id="booleanSwitch"),
    pytest.param(
        {"type": "boolean"}, (f"{UI}ui:booleanSwitch",), Control.SWITCH, id="booleanSwitch with the prefix twice"
    ),
    pytest.param({"type": "boolean"}, (f"{UI}checkbox",), Control.CHECKBOX, id="checkbox"),
    pytest.param(TEXT, (f"{UI}checkbox",), Control.TEXT, id="a checkbox of a string stays a text"),
    pytest.param(TEXT, (f"{UI}select:a", f"{UI}select:b"), Control.RADIO, id="few values are radios"),
    pytest.param(TEXT, tuple(f"{UI}select:{n}" for n in range(5)), Control.SELECT, id="five values are a select"),
    pytest.param({**TEXT, "enum": ["a", "b"]}, (), Control.RADIO, id="an enum of two is radios"),
    pytest.param({**TEXT, "enum": list("abcdef")}, (), Control.SELECT, id="an enum of six is a select"),
    pytest.param(
        {**TEXT, "enum": [str(n) for n in range(5000)]}, (), Control.TEXT, id="an enum of thousands is a text"
    ),
    pytest.param(TEXT, (f"{UI}imagePullPolicy",), Control.RADIO, id="imagePullPolicy"),
    pytest.param(TEXT, (f"{PREFIX}io.kubernetes:Secret",), Control.TEXT, id="a name of a Secret"),
    pytest.param({"x-kubernetes-int-or-string": True}, (), Control.TEXT, id="a quantity is a text"),
    pytest.param({"type": "array", "items": TEXT}, (), Control.LIST, id="a list is rows"),
    pytest.param({"type": "object", "additionalProperties": TEXT}, (), Control.MAP, id="a map is rows with keys"),
    pytest.param(object_of(a=TEXT), (), Control.GROUP, id="an object is a group"),
    pytest.param({"type": "object"}, (), Control.YAML, id="an object without fields is YAML"),
    pytest.param({"type": "array"}, (), Control.YAML, id="a list without items is YAML"),
    pytest.param({"x-kubernetes-preserve-unknown-fields": True}, (), Control.YAML, id="any value is YAML"),
    pytest.param({}, (), Control.YAML, id="a schema that says nothing is YAML"),
    pytest.param({"type": ["string"]}, (), Control.YAML, id="a schema of another form is YAML"),
    pytest.param({"type": "object"}, (f"{UI}resourceRequirements",), Control.GROUP, id="resourceRequirements"),
    pytest.param({"type": "object"}, (f"{UI}updateStrategy",), Control.GROUP, id="updateStrategy"),
    pytest.param({"type": "object"}, (f"{UI}nodeAffinity",), Control.GROUP, id="nodeAffinity"),
    pytest.param({"type": "object"}, (f"{UI}podAffinity",), Control.GROUP, id="podAffinity"),
    pytest.param({"type": "object"}, (f"{UI}podAntiAffinity",), Control.GROUP, id="podAntiAffinity"),
    pytest.param({"type": "object"}, (f"{UI}selector",), Control.GROUP, id="selector"),
    pytest.param({"type": "array"}, (f"{UI}endpointList",), Control.LIST, id="endpointList"),
    pytest.param(TEXT, (f"{UI}resourceRequirements",), Control.TEXT, id="resources of a string stay a text"),
    pytest.param(TEXT, (f"{UI}unknown", "nonsense"), Control.TEXT, id="an unknown descriptor leaves it to the schema"),
]


@pytest.mark.parametrize(("schema", "uses", "control"), CONTROLS)
def test_the_control_of_a_field(schema: Schema, uses: tuple[str, ...], control: Control) -> None:
    form = form_of(object_of(x=schema), {}, descriptor("x", *uses))
    assert find(form, "/spec/x").control == control


def test_a_required_boolean_without_a_value_is_a_choice_that_nobody_has_made() -> None:
    field = find(form_of(object_of(("x",), x={"type": "boolean"}), {}), "/spec/x")
    assert (field.control, field.text, [each.label for each in field.choices]) == (Control.RADIO, "", ["Yes", "No"])


def names(field: Field) -> list[str]:
    return [each.name for each in field.leaves()]


def test_the_fields_of_objects_that_descriptors_name() -> None:
    fields = {name: {"type": "object"} for name in ("resources", "strategy", "nodes", "pods")}
    used = [
        descriptor("resources", f"{UI}resourceRequirements"),
        descriptor("strategy", f"{UI}updateStrategy"),
        descriptor("nodes", f"{UI}nodeAffinity"),
        descriptor("pods", f"{UI}podAntiAffinity"),
    ]
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    value = {
        "nodes": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
        "pods": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": {"topologyKey": "h"}}]
        },
    }
    form = form_of(with_fields(fields), value, *used)
    resources = "/spec/resources"
    assert names(find(form, resources)) == [
        f"{resources}/requests/cpu",
        f"{resources}/requests/memory",
        f"{resources}/limits/cpu",
        f"{resources}/limits/memory",
    ]
    strategy = "/spec/strategy"
    rolling = f"{strategy}/rollingUpdate"
    assert names(find(form, strategy)) == [f"{strategy}/type", f"{rolling}/maxSurge", f"{rolling}/maxUnavailable"]
    required = "/spec/nodes/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0"
    assert [find(form, f"{required}/{name}").text for name in ("key", "operator", "values/0")] == ["zone", "In", "a"]
    preferred = "/spec/pods/preferredDuringSchedulingIgnoredDuringExecution/0"
    assert find(form, f"{preferred}/weight").text == "5"
    assert find(form, f"{preferred}/podAffinityTerm/topologyKey").text == "h"


def test_the_schema_decides_the_values_and_the_descriptor_their_order() -> None:
    uses = [f"{UI}select:1x.medium", f"{UI}select:1x.small", f"{UI}select:gone"]
    spec = object_of(("size",), size={**TEXT, "enum": ["1x.demo", "1x.small", "1x.medium"]})
    choices = find(form_of(spec, {"size": "1x.small"}, descriptor("size", *uses)), "/spec/size").choices
    assert [each.text for each in choices] == ["1x.medium", "1x.small", "1x.demo"]


def test_a_value_that_is_not_offered_can_stay() -> None:
    field = find(form_of(object_of(size={**TEXT, "enum": ["a", "b"]}), {"size": "old"}), "/spec/size")
    assert [each.label for each in field.choices] == ["Not set", "a", "b", "old (not among the values)"]


def test_the_default_of_the_schema_is_said() -> None:
    field = find(form_of(object_of(state={**TEXT, "enum": ["On", "Off"], "default": "On"}), {}), "/spec/state")
    assert (field.choices[0].label, field.default) == ("Default (On)", "On")


def test_a_hidden_field_has_no_control_and_an_advanced_one_is_folded() -> None:
    spec = object_of(a=TEXT, b=TEXT, c=TEXT)
    form = form_of(spec, {"a": "1", "b": "2"}, descriptor("a", f"{UI}hidden"), descriptor("b", f"{UI}advanced"))
    folded = {each.name: each.is_folded for each in form.all()}
    assert folded == {"/spec": False, "/spec/b": True, "/spec/c": True}


def test_titles_and_texts_are_the_descriptors_then_the_schemas_then_the_name() -> None:
    listed = [{"path": "a", "displayName": "The A", "description": "About a"}]
    used = read({"specDescriptors": listed}, "spec")
    spec = object_of(a={**TEXT, "description": "no"}, b={**TEXT, "title": "The B"}, storageClassName=TEXT)
    found = [(each.label, each.description) for each in form_of(spec, {}, *used).sections[0].children]
    assert found == [("The A", "About a"), ("The B", ""), ("Storage class name", "")]


def test_a_field_that_depends_on_another_names_it() -> None:
    spec = object_of(kind=TEXT, tls=object_of(on={"type": "boolean"}, name=TEXT))
    used = (
        descriptor("tls.name", f"{UI}fieldDependency:tls.on:true"),
        descriptor("kind", f"{UI}fieldDependency:gone:x"),
    )
    form = form_of(spec, {"kind": "a", "tls": {}}, *used)
    depends = find(form, "/spec/tls/name").depends
    assert depends is not None
    assert (depends.name, depends.value, depends.words) == ("/spec/tls/on", "true", "Counts only if On is true.")
    assert find(form, "/spec/kind").depends is None


def test_fieldsets_are_those_of_the_publisher() -> None:
    spec = object_of(a=TEXT, b=TEXT, c=TEXT)
    used = (descriptor("a", f"{UI}fieldGroup:netWork"), descriptor("b"), descriptor("c", f"{UI}fieldGroup:netWork"))
    sets = form_of(spec, {}, *used).sections[0].sets
    assert [(name, [each.name for each in fields]) for name, fields in sets] == [
        ("Net work", ["/spec/a", "/spec/c"]),
        ("", ["/spec/b"]),
    ]


def test_a_descriptor_of_items_is_about_each_item() -> None:
    spec = object_of(users={"type": "array", "items": object_of(password=TEXT)})
    form = form_of(spec, {"users": [{}, {}]}, descriptor("users[0].password", f"{UI}password"))
    assert [each.control for each in form.all() if each.is_leaf] == [Control.PASSWORD] * 2


def test_what_is_required_or_set_is_open() -> None:
    group = object_of(("inner",), inner=TEXT)
    spec = object_of(("must", "there"), must=TEXT, there=group, may=TEXT, maybe=group, set=TEXT)
    form = form_of(spec, {"set": "x"})
    assert [each.name for each in form.all() if not each.is_folded] == [
        "/spec",
        "/spec/must",
        "/spec/there",
        "/spec/there/inner",
        "/spec/set",
    ]


def test_what_differs_from_the_origin_is_changed() -> None:
    origin = {"spec": {"a": "1", "b": "1"}}
    form = schema_form(object_of(spec=object_of(a=TEXT, b=TEXT)), (), {"spec": {"a": "1", "b": "2"}}, origin, NOTHING)
    assert [each.name for each in form.all() if each.is_leaf and each.is_changed] == ["/spec/b"]


def test_a_kind_without_spec_has_its_own_fields() -> None:
    schema = object_of(apiVersion=TEXT, kind=TEXT, metadata={"type": "object"}, status=TEXT, data=TEXT, rules=TEXT)
    form = schema_form(schema, [descriptor("data", f"{UI}password")], {"data": "x"}, {}, NOTHING)
    assert [(each.name, each.control) for each in form.sections] == [
        ("/data", Control.PASSWORD),
        ("/rules", Control.TEXT),
    ]


def test_a_password_is_not_in_the_form() -> None:
    field = find(
        form_of(object_of(secret=TEXT), {"secret": "hunter2"}, descriptor("secret", f"{UI}password")), "/spec/secret"
    )
    assert (field.text, field.has_value) == ("", True)


REFERENCES = [
    pytest.param(f"{PREFIX}io.kubernetes:Secret", ("Secret", "", "", ""), id="a kind of Kubernetes"),
    pytest.param(f"{UI}selector:core:v1:Secret", ("Secret", "", "v1", ""), id="the form of the guide"),
    pytest.param(f"{UI}selector:apps:v1:Deployment", ("Deployment", "apps", "v1", ""), id="a group and a version"),
    pytest.param(f"{UI}selector:core:v1:ConfigMap?labelSelector=a=b", ("ConfigMap", "", "v1", "a=b"), id="labels"),
]


@pytest.mark.parametrize(("use", "expected"), REFERENCES)
def test_names_of_other_objects_are_offered(use: str, expected: tuple[str, ...]) -> None:
    (found,) = form_of(object_of(name=TEXT), {}, descriptor("name", use)).references
    assert (found.kind, found.group, found.version, found.label_selector) == expected


@pytest.mark.parametrize(
    "use", ["io.kubernetes:text", "io.kubernetes:", "com.tectonic.ui:selector:a:b", "io.kubernetes:../x"]
)
def test_what_names_no_kind_offers_nothing(use: str) -> None:
    assert form_of(object_of(name=TEXT), {}, descriptor("name", PREFIX + use)).references == ()


# --- what the publisher or a document may do


def nested(levels: int) -> Schema:
    schema: Schema = dict(TEXT)
    for _ in range(levels):
        schema = object_of(("x",), x=schema)
    return schema


def test_what_is_deeper_than_six_levels_is_yaml() -> None:
    value: Any = "end"
    for _ in range(9):
        value = {"x": value}
    leaf = [each for each in form_of(nested(9), value).all() if each.is_leaf]
    assert [(each.name, each.control) for each in leaf] == [("/spec" + "/x" * 6, Control.YAML)]
    assert leaf[0].text == "x:\n  x:\n    x: end\n"


def wide() -> Schema:
    return with_fields({f"f{number}": TEXT for number in range(100_000)})


def bushy() -> Schema:
    schema: Schema = dict(TEXT)
    for _ in range(30):  # each object has the same one ten times: 10^30 fields
        schema = {"type": "object", "properties": {f"f{number}": schema for number in range(10)}}
    return schema


HOSTILE = [
    pytest.param(wide(), id="a hundred thousand fields"),
    pytest.param(bushy(), id="objects that multiply"),
    pytest.param(nested(5_000), id="five thousand levels"),
    pytest.param(
        object_of(a={"type": "object", "properties": {"x": "text", "y": [1], "z": None}}),
        id="fields that are no schemas",
    ),
    pytest.param({"type": "object", "properties": [1], "required": "x"}, id="properties that are a list"),
    pytest.param(object_of(a={**TEXT, "enum": [{"a": 1}, None, [], True]}), id="an enum of objects"),
    pytest.param(
        object_of(a={**TEXT, "default": {"a": 1}, "minLength": "x", "maxLength": 1e400, "pattern": 7}),
        id="limits of wrong types",
    ),
    pytest.param(object_of(a={"type": "integer", "minimum": True, "maximum": "9"}), id="bounds that are no numbers"),
    pytest.param(with_fields({"a/b~c.d": TEXT, "e[0]": TEXT, "\u202etxt": TEXT, "": TEXT}), id="names with signs"),
    pytest.param(
        {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": []}}}, id="lists of lists"
    ),
]


@pytest.mark.parametrize("spec", HOSTILE)
def test_no_schema_costs_much_or_loses_anything(spec: Schema) -> None:
    began = time.process_time()
    documents: list[Any] = [
        {},
        {"a": {"x": 1}},
        {"a": "text"},
        {"f0": {"f0": {"f0": "x"}}},
        {"\u202etxt": "y", "": 1},
        [1],
        None,
    ]
    for value in documents:
        document = {"spec": value}
        form = schema_form(object_of(spec=spec), (), document, document, NOTHING)
        assert len([each for each in form.all() if each.is_leaf]) <= MAX_FIELDS
        assert fill(form, document, sent(form)).document == document
    assert time.process_time() - began < 5


def test_descriptors_cost_little() -> None:
    began = time.process_time()
    used = [descriptor(".".join(["x"] * 500) + f"[{number}].y", f"{UI}text") for number in range(1000)]
    form_of({"type": "array", "items": nested(50)}, None, *used)
    form_of(bushy(), None, *[descriptor(".".join(["f1"] * 29), f"{UI}fieldDependency:{'f1.' * 30}:x")] * 50)
    assert time.process_time() - began < 5


def test_texts_of_the_publisher_are_short_and_seen() -> None:
    spec = object_of(x={**TEXT, "title": "a\u202eb\nc", "description": "d" * 100_000})
    field = find(form_of(spec, {"x": "1"}), "/spec/x")
    assert (field.label, len(field.description)) == ("a\ufffdb c", 500)


def test_a_text_that_no_input_can_show_is_yaml() -> None:
    field = find(form_of(object_of(x=TEXT), {"x": "a\tb\u202e"}), "/spec/x")
    assert (field.control, field.text.isascii()) == (Control.YAML, True)


def test_a_long_list_is_yaml_and_rows_that_are_asked_for_are_bounded() -> None:
    spec = object_of(x={"type": "array", "items": TEXT})
    assert find(form_of(spec, {"x": ["a"] * 101}), "/spec/x").control == Control.YAML
    rows = find(form_of(spec, {"x": []}, state=State({"/spec/x": 10**9}, {})), "/spec/x").children
    assert len(rows) == 100


def test_errors_of_the_api_server_name_fields() -> None:
    spec = object_of(ports={"type": "array", "items": object_of(name=TEXT)})
    by_error = fields_by_error(form_of(spec, {"ports": [{"name": "x"}]}))
    assert by_error["spec.ports[0].name"].name == "/spec/ports/0/name"
    assert find(form_of(spec, {"ports": [{}]}), "/spec/ports/0").place == ("spec", "ports", 0)
    assert repr(MISSING) == "MISSING"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        pytest.param("spec.a.b", ("B", "is wrong"), id="the field itself"),
        pytest.param("spec.a.b.c[0].d", ("B", "c[0].d: is wrong"), id="a field below one that is shown"),
        pytest.param("spec.a[2].x", ("A", "[2].x: is wrong"), id="an item of a list that is shown as one field"),
        pytest.param("metadata.labels", None, id="no field of the form is around it"),
        pytest.param("", None, id="no field"),
    ],
)
def test_an_error_stands_at_the_innermost_field_that_is_shown(field: str, expected: tuple[str, str] | None) -> None:
    shown = {name: Field(name, (), Control.TEXT, "string", name[-1].upper()) for name in ("spec.a", "spec.a.b")}
    found = innermost(shown, field, "is wrong")
    assert (found and (found[0].label, found[1])) == expected
