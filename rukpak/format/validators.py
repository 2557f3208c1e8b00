"""Upstream's thirteen checks of a registry+v1 bundle, in upstream's order and with its messages (formats 2.5).

Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.patterns import DNS_SUBDOMAIN
from olmkit.gocompat.text import format_list, quoted
from rukpak.format.bundle import RegistryBundle

NAMESPACED_KINDS = frozenset({
    "ClusterServiceVersion", "Service", "ServiceAccount", "Role", "RoleBinding", "PrometheusRule", "ServiceMonitor",
    "PodMonitor", "Secret", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy",
})  # fmt: skip
"""Kinds of a registry+v1 bundle whose objects go into the install namespace; compared by kind, in any group."""
CLUSTER_KINDS = frozenset({
    "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "VerticalPodAutoscaler",
    "ConsoleYAMLSample", "ConsoleQuickStart", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin",
})  # fmt: skip
"""Kinds of a registry+v1 bundle whose namespace upstream does not set."""

CONVERSION = "ConversionWebhook"
_SUBDOMAIN_HELP = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    f"with an alphanumeric character (e.g. 'example.com', regex used for validation is '{DNS_SUBDOMAIN}')"
)
_FORBIDDEN_GROUPS = frozenset({"*", "olm.operatorframework.io"})
_FORBIDDEN_ADMISSION = frozenset({
    "*", "mutatingwebhookconfiguration", "mutatingwebhookconfigurations", "validatingwebhookconfiguration",
    "validatingwebhookconfigurations",
})  # fmt: skip


def validation_errors(bundle: RegistryBundle) -> list[str]:
    """The errors of all checks, in the order of the checks."""
    return [error for check in _CHECKS for error in check(bundle)]


def _deployments(bundle: RegistryBundle) -> Iterator[str]:
    return (deployment["name"] for deployment in bundle.install_spec.get("deployments") or ())


def _repeated(names: Iterator[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _deployments_unique(bundle: RegistryBundle) -> Iterator[str]:
    for name in _repeated(_deployments(bundle)):
        yield f"cluster service version contains duplicate strategy deployment spec '{name}'"


def _deployment_names(bundle: RegistryBundle) -> Iterator[str]:
    for name in _deployments(bundle):
        if not is_dns1123_subdomain(name):
            yield f"invalid cluster service version strategy deployment name '{name}': {_name_help(name)}"


def _name_help(name: str) -> str:
    return "must be no more than 253 characters" if len(name) > 253 else _SUBDOMAIN_HELP


def _crds_unique(bundle: RegistryBundle) -> Iterator[str]:
    for name in _repeated(crd["metadata"]["name"] for crd in bundle.crds):
        yield f"bundle contains duplicate custom resource definition '{name}'"


def _owned_crds_present(bundle: RegistryBundle) -> Iterator[str]:
    present = {crd["metadata"]["name"] for crd in bundle.crds}
    for name in sorted({owned["name"] for owned in bundle.owned()} - present):
        yield f"cluster service definition references owned custom resource definition '{name}' not found in bundle"


def _package_named(bundle: RegistryBundle) -> Iterator[str]:
    if not bundle.package:
        yield "package name is empty"


def _conversion_modes(bundle: RegistryBundle) -> Iterator[str]:
    modes = bundle.install_modes
    if modes == ("AllNamespaces",):
        return
    for webhook in bundle.webhooks:
        if webhook["type"] == CONVERSION:
            yield (
                f"bundle contains conversion webhook {quoted(webhook['generateName'])} and supports install modes "
                f"{format_list(modes)} - conversion webhooks are only supported for bundles that only support AllNamespaces "
                "install mode"
            )


def _webhook_deployments(bundle: RegistryBundle) -> Iterator[str]:
    present = set(_deployments(bundle))
    for webhook in bundle.webhooks:
        deployment = webhook.get("deploymentName", "")
        if deployment not in present:
            yield (
                f"webhook of type '{webhook['type']}' with name '{webhook['generateName']}' references non-existent "
                f"deployment '{deployment}'"
            )


def _webhooks_unique(bundle: RegistryBundle) -> Iterator[str]:
    count = Counter((webhook["type"], webhook["generateName"]) for webhook in bundle.webhooks)
    for webhook_type, name in sorted(key for key, number in count.items() if number > 1):
        yield f"duplicate webhook '{name}' of type '{webhook_type}'"


def _webhook_names(bundle: RegistryBundle) -> Iterator[str]:
    for webhook in bundle.webhooks:
        name = webhook["generateName"]
        if not is_dns1123_subdomain(name):
            yield f"webhook of type '{webhook['type']}' has invalid name '{name}': {_name_help(name)}"


def _one_conversion_each(bundle: RegistryBundle) -> Iterator[str]:
    users: dict[str, list[str]] = {}
    for webhook in bundle.webhooks:
        if webhook["type"] == CONVERSION:
            for crd in webhook.get("conversionCRDs") or ():
                users.setdefault(crd, []).append(webhook["generateName"])
    for crd in sorted(users):
        if len(users[crd]) > 1:
            yield (
                f"conversion webhooks [{','.join(sorted(users[crd]))}] reference same custom resource definition '{crd}'"
            )


def _conversion_crds_owned(bundle: RegistryBundle) -> Iterator[str]:
    owned = {item["name"] for item in bundle.owned()}
    for webhook in bundle.webhooks:
        if webhook["type"] == CONVERSION:
            name = webhook["generateName"]
            for crd in sorted(set(webhook.get("conversionCRDs") or ()) - owned):
                yield f"conversion webhook '{name}' references custom resource definition '{crd}' not owned bundle"


def _webhook_rules(bundle: RegistryBundle) -> Iterator[str]:
    for webhook in bundle.webhooks:
        start = f"webhook {quoted(webhook['generateName'])} contains forbidden rule: admission webhook rules cannot reference"
        for rule in webhook.get("rules") or ():
            groups = rule.get("apiGroups") or ()
            for group in groups:
                if group in _FORBIDDEN_GROUPS:
                    yield f"{start} API group {quoted(group)}"
            if "admissionregistration.k8s.io" in groups:
                for resource in rule.get("resources") or ():
                    if resource.lower() in _FORBIDDEN_ADMISSION:
                        yield f'{start} resource {quoted(resource)} for API group "admissionregistration.k8s.io"'


def _kinds(bundle: RegistryBundle) -> Iterator[str]:
    for body in bundle.others:
        if body["kind"] not in NAMESPACED_KINDS | CLUSTER_KINDS:
            yield f"unsupported resource {quoted(body['metadata']['name'])} with kind {quoted(body['kind'])}"


_CHECKS: tuple[Callable[[RegistryBundle], Iterator[str]], ...] = (
    _deployments_unique, _deployment_names, _crds_unique, _owned_crds_present, _package_named, _conversion_modes,
    _webhook_deployments, _webhooks_unique, _webhook_names, _one_conversion_each, _conversion_crds_owned, _webhook_rules,
    _kinds,
)  # fmt: skip
