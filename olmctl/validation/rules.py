"""A sentence about each rule, by its id: the help texts of SARIF. Rules that are not listed are described by their id. Pure."""

from __future__ import annotations

from typing import Final

_BEYOND_UPSTREAM: Final = """
annotation-text: An annotation of the bundle is no text, and is not read.
annotations-file-name: The annotations of the bundle are in a file that is not read when it is installed.
annotations-files: Two files of metadata/ have annotations, and one of them is not read.
api-version: An object has no apiVersion.
apiservice-deployment: An owned API service names a Deployment that the ClusterServiceVersion does not have.
binding-names-nothing: A binding names no role or no subject, and the API server refuses it.
binding-without-subjects: A binding has no subjects.
bundle-directory: An annotation names another directory than the one that is read.
channel-name: The name of a channel does not begin with candidate, stable or fast.
channels: A channel is empty, or its name has blanks.
container-name: A container has no name, or the name of another one.
conversion-pruning: A definition with a conversion webhook keeps unknown fields, and the API server does not convert it.
crd-not-served: No version of a definition is served.
crd-permission-all-groups: Permissions on all API groups include those to create CustomResourceDefinitions.
crd-scale: The scale subresource has no path below .status for the number of replicas.
crd-schema: The API server refuses the schema of a definition.
crd-schema-missing: A version of a definition has no schema.
crd-status: A definition has a status in its schema, and no subresource for it.
crd-v1beta1: A definition is of v1beta1, which Kubernetes 1.22 removed.
csv-other-api-version: The ClusterServiceVersion is of another API version than operators.coreos.com/v1alpha1.
default-channel: The default channel is none of the channels.
default-scc: Permissions allow changes of the default SecurityContextConstraints of OpenShift.
dependencies-file: The dependencies cannot be read, and do not count.
deployment-name: The name of a Deployment is no DNS name.
deployment-selector: The selector of a Deployment does not select its pods.
deployment-twice: Two Deployments of the ClusterServiceVersion have one name.
deployments-missing: The ClusterServiceVersion has no list of Deployments, and cannot be installed.
descriptor-path: A descriptor is about a field that the schema does not have.
disruption-budget: A PodDisruptionBudget lets no pod be evicted, so that nodes cannot be drained.
duplicate-key: A mapping has a key twice, and the last one counts.
env-twice: A container has an environment variable twice, and the last one counts.
example-field: An example has a field that the schema does not have.
example-schema: The API server refuses an example.
example-spec: An example has no spec.
icon-data: The icon is not base64, or is of another media type.
image: A container has no image, or one that is no reference.
install-mode: An install mode is unknown.
install-mode-twice: An install mode stands there twice.
install-refused: rukpak cannot install the bundle.
install-strategy: The install strategy is unknown.
metadata-text: A label or an annotation of an object is no text.
no-containers: A Deployment has no containers.
no-deployments: The ClusterServiceVersion has no Deployment.
object-data: The data of a ConfigMap or Secret are not what the API server takes.
object-name: The API server refuses the name of an object.
object-twice: An object is in two files.
olm-properties: The annotation olm.properties is no JSON list.
owned-name: The name of an owned definition is not that of its file.
owned-not-served: An owned definition is described in a version that is not served.
package-name: The name of the package is empty, or is no DNS label.
permission-account: Permissions are for an account of no Deployment.
port-twice: A container has a port twice, and a server-side apply takes one.
priority-class: A PriorityClass is the default of the whole cluster.
properties-file: The properties cannot be read.
property: A property has no type, or a value that its type does not have.
related-image: A related image names no image, or one that is no reference.
removed-api: An object is of an API that no supported release of Kubernetes serves.
repeated-item: A list of an object has an item twice although its key identifies one.
replaces-itself: The bundle replaces itself.
replaces-newer: The bundle replaces a newer one.
required-owned: A required definition is an owned one.
resource-requests-partial: A container requests only CPU, or only memory.
role-missing: A binding refers to a role that is not in the bundle.
rounded-number: An integer does not fit into 64 bits, and Kubernetes reads another number.
rule-names-nothing: A rule of permissions has no verbs, groups or resources, and the API server refuses it.
rule-urls: A rule of permissions has URLs where the API server refuses them.
scorecard-config: The configuration of the scorecard cannot be read.
several-documents: A file has several documents, of which many tools read the first one.
skip-range: The annotation olm.skipRange is no range of versions.
skips: spec.skips has an entry that is no name of another bundle.
unknown-field: A field is unknown, and is dropped.
unreadable-file: A file cannot be read.
version: spec.version is no semantic version.
version-missing: spec.version is missing, and no catalog takes the bundle.
version-name: spec.version is not the version in the name.
volume-mount: A container mounts a volume that the pod does not have.
volume-twice: A pod has two volumes of one name.
webhook-conversion: A conversion webhook names a definition that the bundle does not own, or that another one converts.
webhook-deployment: A webhook names a Deployment that the ClusterServiceVersion does not have.
webhook-name: The generateName of a webhook is missing, or is no DNS name.
webhook-rules: A webhook has rules that no bundle may have.
webhook-twice: Two webhooks of one type have one generateName.
"""
"""The rules that upstream lacks."""

_OPTIONAL: Final = """
capabilities: The capability level is unknown.
categories: A category is unknown.
categories-file: The file of categories cannot be read.
community-index: The bundle uses an API that OpenShift 4.9 removed, and its label does not keep it from there.
community-max-version: The bundle uses an API that OpenShift 4.9 removed, and has no olm.maxOpenShiftVersion below it.
community-no-index: The Dockerfile whose label is checked is not given.
crd-description: The description of a definition is empty.
crd-permission: The operator may create CustomResourceDefinitions.
csv-name-convention: The name of the ClusterServiceVersion is not <package>.v<version>.
csv-name-version: The name of the ClusterServiceVersion does not end in a semantic version.
hub-deprecated: The validator operatorhub is deprecated.
hub-icon: The bundle has no icon.
hub-icon-count: The bundle has several icons.
hub-icon-mediatype: The media type of the icon is unknown.
hub-icon-parts: The icon has no data or no media type.
hub-link: A link has no name or no URL.
hub-link-url: The URL of a link is invalid.
hub-maintainer: A maintainer has no name or no email.
hub-maintainer-email: The email of a maintainer is invalid.
hub-provider: The provider has no name.
hub-version: spec.version is missing.
k8s-version: The value of k8s-version is no version.
min-kube-version: spec.minKubeVersion is no version.
min-kube-version-missing: spec.minKubeVersion is missing.
multiarch-affinity: The node affinity of a pod is not about the platforms of its image.
multiarch-inspect: The platforms of an image cannot be found.
multiarch-labels: The ClusterServiceVersion lacks labels for platforms that the manager is built for.
multiarch-other-image: An image is not built for all platforms of the manager.
multiarch-support: An image is not built for a platform of the labels.
multiarch-tool: The value of container-tools is unknown.
no-deployment: The ClusterServiceVersion has no Deployment.
removed-api-1-22: An object is of an API that Kubernetes 1.22 removed.
removed-api-1-25: An object is of an API that Kubernetes 1.25 removed.
removed-api-1-26: An object is of an API that Kubernetes 1.26 removed.
removed-api-permission: Permissions are on resources of which Kubernetes 1.25 removed a version.
resource-requests: A container requests neither CPU nor memory.
"""
"""The rules of the optional validators."""

RULES: Final = dict(line.split(": ", 1) for line in (_BEYOND_UPSTREAM + _OPTIONAL).split("\n") if line)
"""Rule -> one sentence."""


def description(rule: str) -> str:
    """One sentence about the rule."""
    return RULES.get(rule) or f"{rule.replace('-', ' ').capitalize()}."
