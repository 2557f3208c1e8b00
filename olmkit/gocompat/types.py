"""Whether a value reads as one of opm's types, and in the words of Go's decoder why not.

Called by olmkit.fbc.catalog for each blob and each property. null reads as anything; keys are looked up by their name or another
case of it; unknown keys are let pass. Nearly all values are fine, and that is found out quickly; only for the others the first
fault is looked for, keys in sorted order as blobs are kept. Pure.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec
import orjson

_TYPES = """
declcfg.Package = schema string, name string, defaultChannel string, icon declcfg.Icon, description string,
    properties []property.Property
declcfg.Icon = base64data []uint8, mediatype string
declcfg.Channel = schema string, name string, package string, entries []declcfg.ChannelEntry, properties []property.Property
declcfg.ChannelEntry = name string, replaces string, skips []string, skipRange string
declcfg.Bundle = schema string, name string, package string, image string, properties []property.Property,
    relatedImages []declcfg.RelatedImage
declcfg.RelatedImage = name string, image string
declcfg.Deprecation = schema string, package string, entries []declcfg.DeprecationEntry
declcfg.DeprecationEntry = reference declcfg.PackageScopedReference, message string
declcfg.PackageScopedReference = schema string, name string
property.Property = type string, value json
property.Package = packageName string, version string, release string
property.PackageRequired = packageName string, versionRange string
property.GVK = group string, kind string, version string
property.GVKRequired = group string, kind string, version string
property.BundleObject = data []uint8
property.Channel = channelName string
property.CSVMetadata = annotations map[string]string, apiServiceDefinitions v1alpha1.APIServiceDefinitions,
    crdDescriptions v1alpha1.CustomResourceDefinitions, description string, displayName string,
    installModes []v1alpha1.InstallMode, keywords []string, labels map[string]string, links []v1alpha1.AppLink,
    maintainers []v1alpha1.Maintainer, maturity string, minKubeVersion string, nativeAPIs []v1.GroupVersionKind,
    provider v1alpha1.AppLink
v1.GroupVersionKind = group string, version string, kind string
v1alpha1.APIServiceDefinitions = owned []v1alpha1.APIServiceDescription, required []v1alpha1.APIServiceDescription
v1alpha1.CustomResourceDefinitions = owned []v1alpha1.CRDDescription, required []v1alpha1.CRDDescription
v1alpha1.APIServiceDescription = name string, group string, version string, kind string, deploymentName string,
    containerPort int32, displayName string, description string, resources []v1alpha1.APIResourceReference,
    statusDescriptors []v1alpha1.StatusDescriptor, specDescriptors []v1alpha1.SpecDescriptor,
    actionDescriptors []v1alpha1.ActionDescriptor
v1alpha1.CRDDescription = name string, version string, kind string, displayName string, description string,
    resources []v1alpha1.APIResourceReference, statusDescriptors []v1alpha1.StatusDescriptor,
    specDescriptors []v1alpha1.SpecDescriptor, actionDescriptors []v1alpha1.ActionDescriptor
v1alpha1.APIResourceReference = name string, kind string, version string
v1alpha1.StatusDescriptor = path string, displayName string, description string, x-descriptors []string, value json
v1alpha1.SpecDescriptor = path string, displayName string, description string, x-descriptors []string, value json
v1alpha1.ActionDescriptor = path string, displayName string, description string, x-descriptors []string, value json
v1alpha1.InstallMode = type v1alpha1.InstallModeType, supported bool
v1alpha1.Maintainer = name string, email string
v1alpha1.AppLink = name string, url string
"""
"""A type a line, its fields as `name type`; longer lines go on indented. `json` is anything."""


@dataclass(slots=True)
class _Type:
    """`name` as Go prints it. `python`: what a value is an instance of (None: anything). `inner`: what a list or map holds."""

    name: str
    python: type | None
    fine: Callable[[Any], bool] | None = None
    """Whether what is inside a value of that instance is right too; None when there is nothing inside."""
    inner: _Type | None = None
    fields: dict[str, _Type] = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)

    def field(self, key: str) -> str | None:
        """The name of the field that a key means."""
        return key if key in self.fields else self.folded.get(key.casefold())


_MADE: Final[dict[str, _Type]] = {
    "string": _Type("string", str),
    "v1alpha1.InstallModeType": _Type("v1alpha1.InstallModeType", str),
    "bool": _Type("bool", bool),
    "json": _Type("json", None),
}


def decode_error(type_name: str, value: Any) -> str:
    """Why Go would not read `value` as that type, in its words; "" when it would."""
    try:
        msgspec.convert(value, _SHAPES[type_name])
        return ""
    except (msgspec.MsgspecError, RecursionError):
        pass  # also for keys that it does not know: they may be names in another case
    wanted = _MADE[type_name]
    if type(value) is wanted.python and (wanted.fine is None or wanted.fine(value)):
        return ""
    return _fault(wanted, value, "", ())


def struct_fields(type_name: str) -> tuple[tuple[str, str], ...]:
    """The fields of a type that is a struct, (name, type) in Go's order; () of every other type."""
    return tuple(_FIELDS.get(type_name, ()))


def decode_plain_base64(text: str) -> bytes | None:
    """What base64 of the plainest form holds; None for all other text, which Go may read nevertheless."""
    if len(text) % 4 or text.endswith("==="):  # the strict mode is not, about padding that is too long
        return None
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None


def base64_error(text: str) -> str:
    """Why Go does not decode this as base64, with its offset in bytes; "" when it does. Line ends inside are let pass."""
    if decode_plain_base64(text) is not None:
        return ""
    offset = _base64_offset(text.encode(errors="replace"))
    return "" if offset is None else f"illegal base64 data at input byte {offset}"


_NO_DIGIT = re.compile(rb"[^A-Za-z0-9+/\r\n]")
_LINE_ENDS = re.compile(rb"[\r\n]*")


def _base64_offset(data: bytes) -> int | None:
    match = _NO_DIGIT.search(data)
    end = match.start() if match else len(data)
    in_group = (end - data.count(b"\r", 0, end) - data.count(b"\n", 0, end)) % 4
    if match is None:
        return end - in_group if in_group else None
    if match[0] != b"=" or in_group < 2:
        return end
    at = _after_line_ends(data, end + 1)
    if in_group == 2:
        if data[at : at + 1] != b"=":
            return at if at == len(data) else at - 1
        at = _after_line_ends(data, at + 1)
    return None if at == len(data) else at


def _after_line_ends(data: bytes, at: int) -> int:
    match = _LINE_ENDS.match(data, at)
    return match.end() if match else at


def _fault(wanted: _Type, value: Any, struct: str, path: tuple[str, ...]) -> str:
    """The first fault, as Go meets it."""
    if value is None or wanted.python is None:
        return ""
    if wanted.python is str and wanted.name == "[]uint8" and isinstance(value, str):
        return base64_error(value)
    if wanted.fields:
        return _struct_fault(wanted, value, path) if isinstance(value, dict) else _mismatch(wanted, value, struct, path)
    if wanted.inner is not None and isinstance(value, dict if wanted.name.startswith("map") else list):
        members = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
        faults = (_fault(wanted.inner, member, struct, path) for member in members)
        return next(filter(None, faults), "")
    return "" if _is_plain(wanted, value) else _mismatch(wanted, value, struct, path)


def _struct_fault(wanted: _Type, value: Mapping[str, Any], path: tuple[str, ...]) -> str:
    name = wanted.name.rpartition(".")[2]
    for key in sorted(value):
        meant = wanted.field(key)
        if meant is not None and (found := _fault(wanted.fields[meant], value[key], name, (*path, meant))):
            return found
    return ""


def _is_plain(wanted: _Type, value: Any) -> bool:
    if wanted.name in _INTEGERS:
        lowest, highest = _INTEGERS[wanted.name]
        return type(value) is int and lowest <= value <= highest
    return type(value) is wanted.python


def _mismatch(wanted: _Type, value: Any, struct: str, path: tuple[str, ...]) -> str:
    place = f"Go struct field {struct}.{'.'.join(path)} of" if path else "Go value of"
    return f"json: cannot unmarshal {_kind(wanted, value)} into {place} type {wanted.name}"


def _kind(wanted: _Type, value: Any) -> str:
    kinds = {bool: "bool", str: "string", list: "array", dict: "object"}
    if type(value) in kinds:
        return kinds[type(value)]
    return f"number {orjson.dumps(value).decode()}" if wanted.name in _INTEGERS else "number"


_INTEGERS = {"int32": (-(2**31), 2**31 - 1), "uint8": (0, 255)}
_NONE = type(None)


def _type(name: str) -> _Type:
    """The type of that name, made when it is first asked for."""
    if name not in _MADE:
        made = _MADE[name] = _Type(name, dict)
        _complete(made)
    return _MADE[name]


def _complete(made: _Type) -> None:
    if made.name in _INTEGERS:
        made.python = int
        made.fine = lambda value: _is_plain(made, value)
    elif made.name == "[]uint8":
        made.python, made.inner = str, _type("uint8")
        made.fine = lambda value: not base64_error(value)
    elif made.name.startswith("[]"):
        made.python, made.inner = list, _type(made.name.removeprefix("[]"))
        made.fine = _list_check(made.inner)
    elif made.name.startswith("map[string]"):
        made.inner = _type(made.name.removeprefix("map[string]"))
        of_list = _list_check(made.inner)
        made.fine = lambda value: of_list(value.values())
    else:
        made.fields = {name: _type(of) for name, of in _FIELDS[made.name]}
        made.folded = {name.casefold(): name for name in made.fields}
        made.fine = _struct_check(made)


def _list_check(inner: _Type) -> Callable[[Any], bool]:
    allowed, fine = {inner.python, _NONE}, inner.fine
    if fine is None:
        return lambda values: allowed.issuperset(map(type, values))

    def check(values: Any) -> bool:
        return allowed.issuperset(map(type, values)) and all(fine(each) for each in values if each is not None)

    return check


def _struct_check(of: _Type) -> Callable[[Any], bool]:
    """Whether a mapping is right without a doubt. False may still be a false alarm."""
    plain = {name: each.python for name, each in of.fields.items() if each.fine is None and each.python is not None}
    deep = {name: each for name, each in of.fields.items() if each.fine is not None}
    anything = {name for name, each in of.fields.items() if each.python is None}
    folded = of.folded

    def check(value: dict[str, Any]) -> bool:
        for key, held in value.items():
            kind = type(held)
            if plain.get(key) is kind or held is None or key in anything:
                continue
            if key in deep:
                each = deep[key]
                if not (kind is each.python and each.fine and each.fine(held)):
                    return False
            elif key in plain or key.casefold() in folded:
                return False
        return True

    return check


def _read_fields() -> dict[str, list[tuple[str, str]]]:
    fields = {}
    for line in _TYPES.replace("\n    ", " ").strip().splitlines():
        name, _, rest = line.partition(" = ")
        pairs = (each.split() for each in rest.split(","))
        fields[name] = [(key, of) for key, of in pairs]
    return fields


_PLAIN_SHAPES: Final[dict[str, Any]] = {
    "json": Any,
    "string": str | None,
    "v1alpha1.InstallModeType": str | None,
    "bool": bool | None,
    "int32": Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | None,
}


def _shape(name: str) -> Any:
    """The same type for msgspec, that takes nothing Go would refuse, and not everything it would take."""
    if name in _PLAIN_SHAPES:
        return _PLAIN_SHAPES[name]
    if name == "[]uint8":
        return Annotated[str, msgspec.Meta(max_length=0)] | None  # base64 is not for msgspec to judge
    if name.startswith("[]"):
        return list[_shape(name.removeprefix("[]"))] | None  # type: ignore[misc]
    if name.startswith("map[string]"):
        return dict[str, _shape(name.removeprefix("map[string]"))] | None  # type: ignore[misc]
    if name not in _SHAPES:
        fields = [(f"field_{number}", _shape(of), None) for number, (_, of) in enumerate(_FIELDS[name])]
        names = {f"field_{number}": key for number, (key, _) in enumerate(_FIELDS[name])}
        _SHAPES[name] = msgspec.defstruct(
            name.replace(".", "_"), fields, rename=names, forbid_unknown_fields=True, gc=False
        )
    return _SHAPES[name] | None


_FIELDS: Final = _read_fields()
_SHAPES: Final[dict[str, Any]] = {}
for _name in _FIELDS:
    _type(_name)
    _shape(_name)
