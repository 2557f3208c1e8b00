"""Runs the Lua scripts of config/argocd as Argo CD runs them: Lua 5.1 with the base and table libraries, and `os` reduced to
`time` and `date`, which only require("os") returns. There are no strings, files, or patterns.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lupa import lua51

Object = dict[str, Any]

SCRIPTS = Path(__file__).parent.parent / "config/argocd/resource_customizations"
FIXED_DATE = "0001-01-01T00:00:00"
_KEPT = frozenset(
    [
        "_G",
        "_VERSION",
        "assert",
        "error",
        "getmetatable",
        "ipairs",
        "next",
        "pairs",
        "pcall",
        "rawequal",
        "rawget",
        "rawset",
        "require",
        "select",
        "setmetatable",
        "table",
        "tonumber",
        "tostring",
        "type",
        "unpack",
    ]
)


def directory_of(obj: Object) -> Path:
    """The scripts of the object's kind."""
    return SCRIPTS / str(obj["apiVersion"]).partition("/")[0] / str(obj["kind"])


def health(obj: Object) -> tuple[str, str]:
    """(status, message) of an object."""
    found = _run(directory_of(obj) / "health.lua", obj)
    return str(found["status"]), str(found["message"])


def discover_actions(obj: Object) -> dict[str, bool]:
    """The actions of an object, and whether each is disabled."""
    found = _run(directory_of(obj) / "actions/discovery.lua", obj)
    return {name: bool(action["disabled"]) for name, action in found.items()}


def run_action(obj: Object, name: str) -> Object:
    """The object after an action; `os.date` returns FIXED_DATE. Raises LuaError if the script refuses."""
    return _run(directory_of(obj) / f"actions/{name}/action.lua", obj)


def _run(script: Path, obj: Object) -> Object:
    lua = lua51.LuaRuntime(unpack_returned_tuples=True, register_eval=False, register_builtins=False)
    names = lua.globals()
    for name in list(names):
        if name not in _KEPT:
            names[name] = None
    names["package"] = None
    safe_os = {"time": lambda: int(time.time()), "date": lambda layout: FIXED_DATE}
    names["require"] = lambda module: lua.table_from(safe_os) if module == "os" else _missing(module)
    names["obj"] = lua.table_from(obj, recursive=True)
    return dict(_plain(lua.execute(script.read_text())))


def _missing(module: str) -> None:
    raise ImportError(f"module {module} not found")


def _plain(value: Any) -> Any:
    """Tables as dicts, or as lists if their keys are 1, 2, ..."""
    if lua51.lua_type(value) != "table":
        return value
    items = {key: _plain(each) for key, each in value.items()}
    if items and sorted(map(str, items)) == sorted(map(str, range(1, len(items) + 1))):
        return [items[number] for number in range(1, len(items) + 1)]
    return items
