"""Imports a package without running its __init__, so that one of its modules can be used without all the others.

For olmkit.runtime.kubeconfig: the __init__ of kubernetes_asyncio imports 850 generated modules, 37 MB that this project does not
use. Knows no package by name, and never changes one that is imported already.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def package_without_init(name: str) -> ModuleType:
    """The package as an empty module in sys.modules, or unchanged if it is imported already. Its submodules are imported as
    usual.

    Its parent package must be imported, or made by this function. Raises ModuleNotFoundError.
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
