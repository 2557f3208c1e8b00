"""Descriptions of custom resources from the Go types of their package."""

from __future__ import annotations

import pytest

from olmctl.project import api_descriptions
from olmctl.project.api_descriptions import ApiDescription, Placed, describe
from olmctl.project.csv_markers import PREFIX
from olmctl.project.go_types import read_types

LAMP = f"""\
// LampSpec is what is wanted.
type LampSpec struct {{
	// Size is the number of lamps.
	// +{PREFIX}:type=spec,displayName="Number",xDescriptors="urn:podCount"
	Size int32 `json:"size"`
	// +{PREFIX}:type=spec
	// +{PREFIX}:type=status,displayName="not here"
	MaxVoltage int `json:"maxVoltage,omitempty"`
	// Bulbs has no marker.
	Bulbs []Bulb `json:"bulbs"`
	Common `json:",inline"`
	// +{PREFIX}:type=spec,displayName=Never
	Secret string `json:"-"`
	// +{PREFIX}:type=spec,displayName=Never
	secret string
	// +{PREFIX}:type=spec,order=1
	Rooms []Room `json:"rooms"`
	Map map[string]*Bulb `json:"map"`
}}

type Common struct {{
	// +{PREFIX}:type=spec,order=0
	Color string `json:"color"`
}}

type Bulb struct {{
	// +{PREFIX}:type=spec,displayName="Bulb's name"
	Name string `json:"name"`
	Self *Bulb `json:"self"`
}}

type Room struct {{
	// +{PREFIX}:type=spec,wrong=1
	// +{PREFIX}:type=spec,displayName="In a room"
	Name string
}}

type LampStatus struct {{
	// +{PREFIX}:type=status,displayName="Ready",xDescriptors={{a,b}}
	Ready bool `json:"ready"`
}}

// Lamp is the schema of lamps.
// +{PREFIX}:displayName="A Lamp",order=2
// +{PREFIX}:resources={{{{Service,v1,b}},{{Deployment,v1,""}},{{Pod,v1}}}}
type Lamp struct {{
	metav1.TypeMeta `json:",inline"`
	Spec LampSpec `json:"spec,omitempty"`
	Status LampStatus `json:"status,omitempty"`
}}

type LampList struct {{}}
"""


def described(text: str, kind: str = "Lamp") -> ApiDescription:
    return describe(kind, {each.name: Placed(each, "lamp_types.go") for each in read_types(text)})


def test_a_kind_is_described_by_its_types() -> None:
    found = described(LAMP)
    assert found.value == {
        "displayName": "A Lamp",
        "description": "Lamp is the schema of lamps.",
        "resources": [
            {"kind": "Deployment", "version": "v1", "name": ""},
            {"kind": "Pod", "version": "v1", "name": ""},
            {"kind": "Service", "version": "v1", "name": "b"},
        ],
        "specDescriptors": [
            {"displayName": "Color", "path": "color"},
            {"displayName": "Rooms", "path": "rooms"},
            {"displayName": "Bulb's name", "path": "bulbs[0].name"},
            {"displayName": "Bulb's name", "path": "map.name"},
            {"displayName": "Max Voltage", "path": "maxVoltage"},
            {"displayName": "In a room", "path": "rooms[0].Name"},
            {
                "description": "Size is the number of lamps.",
                "displayName": "Number",
                "path": "size",
                "x-descriptors": ["urn:podCount"],
            },
        ],
        "statusDescriptors": [{"displayName": "Ready", "path": "ready", "x-descriptors": ["a", "b"]}],
    }
    assert found.order == 2
    assert set(found.notes) == {
        "lamp_types.go:33: the marker is not read: it has the argument wrong, which is none of type, displayName, order, "
        "xDescriptors, resources"
    }


def test_a_kind_without_markers_has_its_comment() -> None:
    found = described("// Cord is a cord.\ntype Cord struct {}\n", "Cord")
    assert found.value == {
        "displayName": "",
        "description": "Cord is a cord.",
        "resources": [],
        "specDescriptors": [],
        "statusDescriptors": [],
    }


def test_more_fields_than_are_followed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_descriptions, "MAX_FIELDS", 100)
    types = "".join(f"type T{n} struct {{ A T{n + 1}; B T{n + 1} }}\n" for n in range(40))
    found = described(f'{types}type Lamp struct {{ Spec T0 `json:"spec"` }}', "Lamp")
    assert found.notes == ["lamp_types.go: Lamp has more than 100 fields: not all are read"]
