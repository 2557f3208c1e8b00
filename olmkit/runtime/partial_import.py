"""Packages whose own __init__ is left out, so that one of their modules can be had without all the others.

For olmkit.runtime.kubeconfig: kubernetes_asyncio's __init__ imports 850 generated modules, 37 MB that nobody here uses. Knows
no package by name and changes none that has been imported already.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def package_without_init(name: str) -> ModuleType:
    """The package with nothing in it, in sys.modules for good; as it is if it is there already. Its modules are imported as ever.

    The package above it must have been imported, or made bare. Raises ModuleNotFoundError.
    """
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    if spec is not None:
        package = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
        above, _, own = name.rpartition(".")
        if above:
            setattr(sys.modules[above], own, package)
    if name not in sys.modules:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return sys.modules[name]
