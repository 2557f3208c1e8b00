"""The namespaces that an operator watches: the default for a bundle, and the check of given ones against its install modes.

Called by rukpak.render.renderer, which writes the namespaces into the annotation `olm.targetNamespaces` of the pods. Rules and
messages are those of upstream's render options (formats 2.4); `advice` adds what the user can do. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.gocompat.text import format_list
from rukpak.format.bundle import RegistryBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED, INVALID_CONFIGURATION, BadBundle

TARGET_NAMESPACES_ANNOTATION = "olm.targetNamespaces"
"""The namespaces that the operator watches, comma-separated, in its pods: their environment reads it. "" is all namespaces."""
ALL, OWN, SINGLE, MULTI = "AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace"
MODES = (ALL, OWN, SINGLE, MULTI)


def default_targets(bundle: RegistryBundle, install_namespace: str, *, is_strict: bool = False) -> tuple[str, ...]:
    """("",) for AllNamespaces, else the install namespace for OwnNamespace unless it is strict, else raises BadBundle."""
    modes = bundle.install_modes
    if ALL in modes:
        return ("",)
    if OWN in modes and not is_strict:
        return (install_namespace,)
    if not _advice(bundle, install_namespace):
        raise _without_mode(bundle)
    raise BadBundle(
        INVALID_CONFIGURATION,
        f'bundle "{bundle.csv_name}" supports only the install modes {", ".join(modes)}, so it has to be said which namespaces '
        f"it watches: {_advice(bundle, install_namespace)}",
        subject=["watchNamespaces"],
        install_modes=_known(bundle),
    )


def check_targets(
    bundle: RegistryBundle, install_namespace: str, targets: Sequence[str], *, with_advice: bool = False
) -> None:
    """Raises BadBundle when the bundle does not support watching these namespaces."""
    problem = _problem(bundle.install_modes, install_namespace, sorted(set(targets)))
    if not problem:
        return
    text = f"invalid option(s): invalid target namespaces {format_list(sorted(set(targets)))}: {problem}"
    if with_advice and not _advice(bundle, install_namespace):
        raise _without_mode(bundle)
    if with_advice:
        text = f"{text}; {_advice(bundle, install_namespace)}"
    raise BadBundle(INVALID_CONFIGURATION, text, subject=["watchNamespaces", *targets], install_modes=_known(bundle))


def _known(bundle: RegistryBundle) -> tuple[str, ...]:
    return tuple(mode for mode in MODES if mode in bundle.install_modes)


def _without_mode(bundle: RegistryBundle) -> BadBundle:
    modes = bundle.install_modes
    supported = (
        f"supports only the unknown install modes {', '.join(modes)}" if modes else "supports no install mode at all"
    )
    text = f'bundle "{bundle.csv_name}" {supported}: choose a version of the package that supports one of {", ".join(MODES)}'
    return BadBundle(BUNDLE_LOAD_FAILED, text)


def _advice(bundle: RegistryBundle, install_namespace: str) -> str:
    """The values of watchNamespaces that the bundle supports, as advice; empty: it supports none."""
    values = {
        ALL: '[""] (all namespaces)',
        OWN: f'["{install_namespace}"] (the namespace it is installed into)',
        SINGLE: "one other namespace",
        MULTI: "several namespaces",
    }
    texts = [text for mode, text in values.items() if mode in bundle.install_modes]
    return f"set watchNamespaces to {', or to '.join(texts)}" if texts else ""


def _problem(modes: Sequence[str], install_namespace: str, targets: Sequence[str]) -> str:
    supported = f"supported install modes {format_list(modes)} do not support"
    if not targets:
        count = "at least one target namespace" if MULTI in modes else "exactly one target namespace"
        return f"{count} must be specified"
    if list(targets) == [""]:
        return "" if ALL in modes else f"{supported} targeting all namespaces"
    if list(targets) == [install_namespace]:
        return "" if OWN in modes else f"{supported} targeting own namespace"
    if len(targets) == 1:
        return "" if SINGLE in modes else f"{supported} target namespaces {format_list(targets)}"
    if MULTI not in modes or "" in targets:
        return f"{supported} target namespaces {format_list(targets)}"
    if install_namespace in targets and OWN not in modes:
        return f"{supported} targeting own namespace"
    return ""
