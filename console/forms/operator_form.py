"""The form of an Operator: from texts to the Operator to apply, and back. Pure.

The API server has the last word, by a dry run; what it says about a field of the Operator stands at the field of the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.forms import yaml_text
from console.forms.field import text_of
from console.forms.places import MISSING, Place, value_at, with_value
from olmkit.api import operators
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.install_policies import MUST_EXIST
from olmkit.api.install_settings import MAX_WATCHED_NAMESPACES
from olmkit.api.names import MAX_LABEL_LENGTH, is_kubernetes_namespace
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION
from olmkit.api.patterns import DNS_LABEL, OBJECT_NAME
from rukpak.render.namespaces import SUITE_NAMESPACES, suggested_namespace

Texts = Mapping[str, str]
NEWEST, RANGE, PINNED = "newest", "range", "pinned"
ALL, OWN, SOME = "all", "own", "some"
FOLLOW: Final = (NEWEST, RANGE, PINNED)
NAMES: Final = (
    "catalog", "channel", "follow", "range", "version", "approval", "name", "namespace", "watch", "watched",
    "deletionPolicy", "rollback", "upgradeConstraintPolicy", "account", "accountNamespace", "cpu", "memory", "cpuLimit",
    "memoryLimit", "env",
)  # fmt: skip
"""The fields of the form."""
_PLACES: Final[Mapping[str, Place]] = {
    "channel": ("spec", "channel"),
    "approval": ("spec", "approval"),
    "upgradeConstraintPolicy": ("spec", "upgradeConstraintPolicy"),
    "namespace": ("spec", "install", "namespace"),
    "deletionPolicy": ("spec", "install", "deletionPolicy"),
    "rollback": ("spec", "install", "rollback"),
    "account": ("spec", "install", "serviceAccount", "name"),
    "accountNamespace": ("spec", "install", "serviceAccount", "namespace"),
    "cpu": ("spec", "install", "config", "resources", "requests", "cpu"),
    "memory": ("spec", "install", "config", "resources", "requests", "memory"),
    "cpuLimit": ("spec", "install", "config", "resources", "limits", "cpu"),
    "memoryLimit": ("spec", "install", "config", "resources", "limits", "memory"),
}
"""Fields of the form that are one field of the Operator."""
_CATALOG: Final[Place] = ("spec", "catalogSelector", "matchLabels", NAME_LABEL)
_VERSION: Final[Place] = ("spec", "version")
_CHANNELS: Final[Place] = ("spec", "channels")
"""No field of the form: one channel that is chosen takes its place."""
_WATCHED: Final[Place] = ("spec", "install", "watchNamespaces")
_POLICY: Final[Place] = ("spec", "install", "namespacePolicy")
_ENV: Final[Place] = ("spec", "install", "config", "env")
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "approval": ("Automatic", "Manual"),
    "deletionPolicy": ("Cascade", "KeepCRDs", "Orphan"),
    "rollback": ("Never", "OnFailure"),
    "upgradeConstraintPolicy": ("Enforce", "Ignore"),
}
DELETIONS: Final = (
    ("Cascade", "Remove everything, with all instances"),
    ("KeepCRDs", "Keep CustomResourceDefinitions and instances"),
    ("Orphan", "Leave everything running"),
)
"""The values of the deletion policy, and what they do."""
_DEFAULTS: Final[Mapping[str, str]] = {name: values[0] for name, values in CHOICES.items()}
_EXACT: Final = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_NAME: Final = re.compile(OBJECT_NAME)
_LABEL: Final = re.compile(DNS_LABEL)
_RANGE: Final = re.compile(operators.VERSION_PATTERN)
_RESERVED: Final = "default and namespaces whose name begins with kube- belong to Kubernetes: name another one"
_NO_NAME: Final = "a name has lower-case letters, digits and '-', and begins and ends with a letter or digit"


@dataclass(frozen=True)
class Mode:
    """A way to watch namespaces. `reason`: why it cannot be chosen; empty if it can."""

    value: str
    label: str
    reason: str = ""


def modes_of(install_modes: object, version: str) -> tuple[Mode, ...]:
    """The modes of a version, from its installModes; all are offered if these are not known."""
    listed = install_modes if isinstance(install_modes, list) else []
    supported = {each.get("type") for each in listed if isinstance(each, Mapping) and each.get("supported") is True}
    reason = f"not supported by {version}" if version else "not supported"

    def mode(value: str, label: str, *types: str) -> Mode:
        return Mode(value, label, "" if not listed or supported & set(types) else reason)

    return (
        mode(ALL, "All namespaces", "AllNamespaces"),
        mode(OWN, "Its own", "OwnNamespace"),
        mode(SOME, "Some", "SingleNamespace", "MultiNamespace"),
    )


def default_mode(modes: Iterable[Mode]) -> str:
    """The first mode that can be chosen."""
    return next((mode.value for mode in modes if not mode.reason), ALL)


@dataclass(frozen=True)
class Read:
    """The Operator that a form leads to, and what is wrong by the names of fields."""

    operator: dict[str, Any]
    problems: Mapping[str, str]


def texts_of(operator: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the form for an Operator."""
    texts = {name: _text(value_at(operator, place)) for name, place in _PLACES.items()}
    texts |= {name: texts[name] or default for name, default in _DEFAULTS.items()}
    version = _text(value_at(operator, _VERSION))
    follow = NEWEST if not version else PINNED if _EXACT.fullmatch(version) else RANGE
    listed = value_at(operator, _WATCHED)
    watched = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    own = texts["namespace"]
    watch = ALL if not watched or watched == [""] else OWN if own and watched == [own] else SOME
    env = value_at(operator, _ENV)
    return {
        **texts,
        "name": _text(value_at(operator, ("metadata", "name"))),
        "catalog": _text(value_at(operator, _CATALOG)),
        "follow": follow,
        "range": version if follow == RANGE else "",
        "version": version if follow == PINNED else "",
        "watch": watch,
        "watched": ", ".join(watched) if watch == SOME else "",
        "env": "" if env is MISSING else yaml_text.dump(env),
    }


def read(texts: Texts, before: Mapping[str, Any], modes: Iterable[Mode] = ()) -> Read:
    """The Operator of the texts. A field whose text is that of the Operator `before` stays as it is there; a default is not
    written."""
    known = texts_of(before)
    given = {**known, **{name: texts[name].strip() for name in NAMES if name in texts}}
    problems: dict[str, str] = {}
    head = {"apiVersion": operators.KIND.api_version, "kind": "Operator", "metadata": before.get("metadata", {})}
    result: Any = {**head, **before}
    result = with_value(result, ("metadata", "name"), given["name"])
    for name, place in _PLACES.items():
        if given[name] != known[name]:
            is_default = given[name] == _DEFAULTS.get(name, "")
            result = with_value(result, place, MISSING if is_default else given[name])
    if given["channel"] != known["channel"]:
        result = with_value(result, _CHANNELS, MISSING)
    if given["catalog"] != known["catalog"]:
        result = with_value(result, _CATALOG if given["catalog"] else _CATALOG[:2], given["catalog"] or MISSING)
    result = _with_version(result, given, known)
    result = _with_watched(result, given, known, problems)
    result = _with_env(result, given, known, problems)
    _check(given, {mode.value: mode.reason for mode in modes}, problems)
    if problem := _namespace_problem(given["namespace"], must_exist=value_at(before, _POLICY) == MUST_EXIST):
        problems["namespace"] = problem
    return Read(_pruned(result), problems)


def _namespace_problem(namespace: str, *, must_exist: bool) -> str:
    """Explain what is wrong with the namespace under this policy, which is no field of the form; empty if nothing is."""
    if must_exist:
        return "" if namespace else f"is required: namespacePolicy is {MUST_EXIST}"
    return _RESERVED if is_kubernetes_namespace(namespace) else ""


def _with_version(result: Any, given: Texts, known: Texts) -> Any:
    wanted = {NEWEST: "", RANGE: given["range"], PINNED: given["version"]}[_follow(given)]
    before = {NEWEST: "", RANGE: known["range"], PINNED: known["version"]}[_follow(known)]
    return result if wanted == before else with_value(result, _VERSION, wanted or MISSING)


def _follow(texts: Texts) -> str:
    return texts["follow"] if texts["follow"] in FOLLOW else NEWEST


def namespaces(text: str) -> list[str]:
    """The names in a text, separated by commas or blanks, each once."""
    return list(dict.fromkeys(re.split(r"[\s,]+", text.strip()))) if text.strip() else []


def _with_watched(result: Any, given: Texts, known: Texts, problems: dict[str, str]) -> Any:
    keys = ("watch", "watched", "namespace") if given["watch"] == OWN else ("watch", "watched")
    if all(given[key] == known[key] for key in keys):
        return result
    if given["watch"] == OWN:
        if not given["namespace"]:
            problems["namespace"] = "name the namespace: it is the one that is watched"
        return with_value(result, _WATCHED, [given["namespace"]] if given["namespace"] else MISSING)
    listed = namespaces(given["watched"]) if given["watch"] == SOME else []
    if given["watch"] == SOME:
        wrong = [each for each in listed if len(each) > MAX_LABEL_LENGTH or not _LABEL.fullmatch(each)]
        if not listed:
            problems["watched"] = "name at least one namespace"
        elif wrong:
            problems["watched"] = f"{wrong[0][:80]} is no name of a namespace"
        elif len(listed) > MAX_WATCHED_NAMESPACES:
            problems["watched"] = f"must be at most {MAX_WATCHED_NAMESPACES} namespaces"
    return with_value(result, _WATCHED, listed or MISSING)


def _with_env(result: Any, given: Texts, known: Texts, problems: dict[str, str]) -> Any:
    if given["env"].replace("\r\n", "\n").strip() == known["env"].strip():
        return result
    try:
        value = yaml_text.load(given["env"])
    except yaml_text.BadYaml as error:
        problems["env"] = f"line {error.line}: {error.message}" if error.line else error.message
        return result
    if isinstance(value, dict):
        value = [{"name": name, "value": text_of(each)} for name, each in value.items()]
    listed = value if isinstance(value, list) else None
    is_understood = listed is not None and all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in listed
    )
    if value is not None and not is_understood:
        problems["env"] = "must be one variable in each line, such as LOG_LEVEL: debug, or a list as in a Deployment"
        return result
    return with_value(result, _ENV, value or MISSING)


def _check(given: Texts, reasons: Mapping[str, str], problems: dict[str, str]) -> None:
    for name, values in {**CHOICES, "follow": FOLLOW, "watch": (ALL, OWN, SOME)}.items():
        if given[name] not in values:
            problems[name] = f"must be one of {', '.join(values)}"
    found = {"watch": reasons.get(given["watch"], ""), "name": _name_problem(given["name"])}
    problems |= {name: problem for name, problem in found.items() if problem}
    for name in ("namespace", "accountNamespace"):
        if given[name] and (len(given[name]) > MAX_LABEL_LENGTH or not _LABEL.fullmatch(given[name])):
            problems[name] = _NO_NAME
    if given["accountNamespace"] and not given["account"]:
        problems["account"] = "name the ServiceAccount, or no namespace of it"
    elif given["account"] and not given["accountNamespace"] and not given["namespace"]:
        problems["accountNamespace"] = "is required unless the namespace to install into is named"
    field = {RANGE: "range", PINNED: "version"}.get(given["follow"], "")
    if field and (problem := _version_problem(given[field], is_range=field == "range")):
        problems[field] = problem


def _name_problem(name: str) -> str:
    if not name:
        return "is required"
    if len(name) > operators.MAX_NAME_LENGTH:
        return f"must have at most {operators.MAX_NAME_LENGTH} characters"
    return "" if _NAME.fullmatch(name) else _NO_NAME


def _version_problem(version: str, *, is_range: bool) -> str:
    if not version:
        return "is required"
    if len(version) > operators.MAX_VERSION_LENGTH:
        return f"must have at most {operators.MAX_VERSION_LENGTH} characters"
    if is_range:
        return "" if _RANGE.fullmatch(version) else operators.VERSION_HINT
    return "" if _EXACT.fullmatch(version) else "must be one version, such as 1.2.3"


def field_of(error: str) -> str:
    """The field of the form for a field of the Operator in an error of the API server; "" if there is none."""
    path = error.lstrip(".")
    if path.startswith("metadata.name"):
        return "name"
    if path == "spec.version":
        return "version"
    found = [name for name, place in _PLACES.items() if path.startswith(".".join(map(str, place)))]
    if found:
        return max(found, key=lambda name: len(_PLACES[name]))
    for start, name in (
        ("spec.catalogSelector", "catalog"),
        ("spec.install.watchNamespaces", "watched"),
        ("spec.install.serviceAccount", "account"),
        ("spec.install.config", "env"),
    ):
        if path.startswith(start):
            return name
    return ""


def _pruned(value: Any) -> dict[str, Any]:
    """The object without objects that became empty below spec."""

    def inner(each: Any) -> Any:
        if not isinstance(each, dict):
            return each
        kept = {key: inner(item) for key, item in each.items()}
        return {key: item for key, item in kept.items() if item != {} or each[key] == {}}

    return {**value, "spec": inner(value.get("spec") or {})}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is MISSING or value is None else str(value)


def approved(operator: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The Operator with the approval of the version that was reviewed, if it waits for approvals: who installs it has seen it."""
    if not version or operator["spec"].get("approval") != "Manual":
        return dict(operator)
    return {**operator, "metadata": {**operator["metadata"], "annotations": {APPROVED_VERSION_ANNOTATION: version}}}


def suggestion(annotations: Mapping[str, object], package: str, system_namespace: str) -> str:
    """The namespace into which a bundle is installed if none is named, by the annotations of its ClusterServiceVersion."""
    texts = {key: value for key, value in annotations.items() if isinstance(value, str)}
    return suggested_namespace(texts, package, (system_namespace, *SUITE_NAMESPACES))[0]


def completed(texts: Texts, suggested: str) -> dict[str, str]:
    """The texts with the namespace that the bundle suggests, where the Operator watches its own and none is named."""
    if texts.get("watch") == OWN and not texts.get("namespace") and suggested:
        return {**texts, "namespace": suggested}
    return dict(texts)
