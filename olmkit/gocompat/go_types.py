"""The Go types that catalogs and bundles are read as: one table for olmkit.fbc and rukpak.format. Pure data.

Facts of k8s.io/api and k8s.io/apiextensions-apiserver 0.34, of operators.coreos.com/v1alpha1 (the ClusterServiceVersion), and of
operator-registry (declcfg and property).

One type for each line, its fields in the order they are written. A field is `name type`; `?` after the name: an empty one is not
written. Types: string, bool, int32, int64, float, json (anything), quantity, intorstring, time, version (a semantic version),
another type of the table; before it `*` (a pointer, which may be null), `[]` (list of), `map[string]`; `[]uint8` is bytes, as
base64. Longer lines are continued with an indentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_OPM_TYPES = """
declcfg.Package = schema string, name string, defaultChannel string, icon declcfg.Icon, description string, properties
    []property.Property
declcfg.Icon = base64data []uint8, mediatype string
declcfg.Channel = schema string, name string, package string, entries []declcfg.ChannelEntry, properties
    []property.Property
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
property.CSVMetadata = annotations? map[string]string, apiServiceDefinitions v1alpha1.APIServiceDefinitions,
    crdDescriptions v1alpha1.CustomResourceDefinitions, description? string, displayName? string, installModes?
    []v1alpha1.InstallMode, keywords? []string, labels? map[string]string, links? []v1alpha1.AppLink, maintainers?
    []v1alpha1.Maintainer, maturity? string, minKubeVersion? string, nativeAPIs? []v1.GroupVersionKind, provider
    v1alpha1.AppLink
v1.GroupVersionKind = group string, version string, kind string
v1alpha1.APIServiceDefinitions = owned? []v1alpha1.APIServiceDescription, required? []v1alpha1.APIServiceDescription
v1alpha1.CustomResourceDefinitions = owned? []v1alpha1.CRDDescription, required? []v1alpha1.CRDDescription
v1alpha1.APIServiceDescription = name string, group string, version string, kind string, deploymentName? string,
    containerPort? int32, displayName? string, description? string, resources? []v1alpha1.APIResourceReference,
    statusDescriptors? []v1alpha1.StatusDescriptor, specDescriptors? []v1alpha1.SpecDescriptor, actionDescriptors?
    []v1alpha1.ActionDescriptor
v1alpha1.CRDDescription = name string, version string, kind string, displayName? string, description? string,
    resources? []v1alpha1.APIResourceReference, statusDescriptors? []v1alpha1.StatusDescriptor, specDescriptors?
    []v1alpha1.SpecDescriptor, actionDescriptors? []v1alpha1.ActionDescriptor
v1alpha1.APIResourceReference = name string, kind string, version string
v1alpha1.StatusDescriptor = path string, displayName? string, description? string, x-descriptors? []string, value?
    json
v1alpha1.SpecDescriptor = path string, displayName? string, description? string, x-descriptors? []string, value? json
v1alpha1.ActionDescriptor = path string, displayName? string, description? string, x-descriptors? []string, value?
    json
v1alpha1.InstallMode = type v1alpha1.InstallModeType, supported bool
v1alpha1.Maintainer = name? string, email? string
v1alpha1.AppLink = name? string, url? string
"""
"""The types as which opm reads the blobs and properties of a catalog, with the names that Go prints. Only the types within
property.CSVMetadata are also written; the others have no `?`."""

_KUBERNETES_TYPES = """
AWSElasticBlockStoreVolumeSource = volumeID string, fsType? string, partition? int32, readOnly? bool
Affinity = nodeAffinity? *NodeAffinity, podAffinity? *PodAffinity, podAntiAffinity? *PodAntiAffinity
AppArmorProfile = type string, localhostProfile? *string
AzureDiskVolumeSource = diskName string, diskURI string, cachingMode? *string, fsType? *string, readOnly? *bool, kind?
    *string
AzureFileVolumeSource = secretName string, shareName string, readOnly? bool
CSIVolumeSource = driver string, readOnly? *bool, fsType? *string, volumeAttributes? map[string]string,
    nodePublishSecretRef? *LocalObjectReference
Capabilities = add? []string, drop? []string
CephFSVolumeSource = monitors []string, path? string, user? string, secretFile? string, secretRef?
    *LocalObjectReference, readOnly? bool
CinderVolumeSource = volumeID string, fsType? string, readOnly? bool, secretRef? *LocalObjectReference
ClusterTrustBundleProjection = name? *string, signerName? *string, labelSelector? *LabelSelector, optional? *bool,
    path string
ConfigMapEnvSource = name? string, optional? *bool
ConfigMapKeySelector = name? string, key string, optional? *bool
ConfigMapProjection = name? string, items? []KeyToPath, optional? *bool
ConfigMapVolumeSource = name? string, items? []KeyToPath, defaultMode? *int32, optional? *bool
Container = name string, image? string, command? []string, args? []string, workingDir? string, ports? []ContainerPort,
    envFrom? []EnvFromSource, env? []EnvVar, resources? ResourceRequirements, resizePolicy? []ContainerResizePolicy,
    restartPolicy? *string, restartPolicyRules? []ContainerRestartRule, volumeMounts? []VolumeMount, volumeDevices?
    []VolumeDevice, livenessProbe? *Probe, readinessProbe? *Probe, startupProbe? *Probe, lifecycle? *Lifecycle,
    terminationMessagePath? string, terminationMessagePolicy? string, imagePullPolicy? string, securityContext?
    *SecurityContext, stdin? bool, stdinOnce? bool, tty? bool
ContainerPort = name? string, hostPort? int32, containerPort int32, protocol? string, hostIP? string
ContainerResizePolicy = resourceName string, restartPolicy string
ContainerRestartRule = action? string, exitCodes? *ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes = operator? string, values? []int32
CustomResourceColumnDefinition = name string, type string, format? string, description? string, priority? int32,
    jsonPath string
CustomResourceConversion = strategy string, webhook? *WebhookConversion
CustomResourceDefinition = kind? string, apiVersion? string, metadata? ObjectMeta, spec CustomResourceDefinitionSpec,
    status? CustomResourceDefinitionStatus
CustomResourceDefinitionCondition = type string, status string, lastTransitionTime? time, reason? string, message?
    string
CustomResourceDefinitionNames = plural string, singular? string, shortNames? []string, kind string, listKind? string,
    categories? []string
CustomResourceDefinitionSpec = group string, names CustomResourceDefinitionNames, scope string, versions
    []CustomResourceDefinitionVersion, conversion? *CustomResourceConversion, preserveUnknownFields? bool
CustomResourceDefinitionStatus = conditions []CustomResourceDefinitionCondition, acceptedNames
    CustomResourceDefinitionNames, storedVersions []string
CustomResourceDefinitionVersion = name string, served bool, storage bool, deprecated? bool, deprecationWarning?
    *string, schema? *CustomResourceValidation, subresources? *CustomResourceSubresources, additionalPrinterColumns?
    []CustomResourceColumnDefinition, selectableFields? []SelectableField
CustomResourceSubresourceScale = specReplicasPath string, statusReplicasPath string, labelSelectorPath? *string
CustomResourceSubresourceStatus =
CustomResourceSubresources = status? *CustomResourceSubresourceStatus, scale? *CustomResourceSubresourceScale
CustomResourceValidation = openAPIV3Schema? *JSONSchemaProps
DeploymentSpec = replicas? *int32, selector *LabelSelector, template PodTemplateSpec, strategy? DeploymentStrategy,
    minReadySeconds? int32, revisionHistoryLimit? *int32, paused? bool, progressDeadlineSeconds? *int32
DeploymentStrategy = type? string, rollingUpdate? *RollingUpdateDeployment
DownwardAPIProjection = items? []DownwardAPIVolumeFile
DownwardAPIVolumeFile = path string, fieldRef? *ObjectFieldSelector, resourceFieldRef? *ResourceFieldSelector, mode?
    *int32
DownwardAPIVolumeSource = items? []DownwardAPIVolumeFile, defaultMode? *int32
EmptyDirVolumeSource = medium? string, sizeLimit? *quantity
EnvFromSource = prefix? string, configMapRef? *ConfigMapEnvSource, secretRef? *SecretEnvSource
EnvVar = name string, value? string, valueFrom? *EnvVarSource
EnvVarSource = fieldRef? *ObjectFieldSelector, resourceFieldRef? *ResourceFieldSelector, configMapKeyRef?
    *ConfigMapKeySelector, secretKeyRef? *SecretKeySelector, fileKeyRef? *FileKeySelector
EphemeralContainer = name string, image? string, command? []string, args? []string, workingDir? string, ports?
    []ContainerPort, envFrom? []EnvFromSource, env? []EnvVar, resources? ResourceRequirements, resizePolicy?
    []ContainerResizePolicy, restartPolicy? *string, restartPolicyRules? []ContainerRestartRule, volumeMounts?
    []VolumeMount, volumeDevices? []VolumeDevice, livenessProbe? *Probe, readinessProbe? *Probe, startupProbe? *Probe,
    lifecycle? *Lifecycle, terminationMessagePath? string, terminationMessagePolicy? string, imagePullPolicy? string,
    securityContext? *SecurityContext, stdin? bool, stdinOnce? bool, tty? bool, targetContainerName? string
EphemeralVolumeSource = volumeClaimTemplate? *PersistentVolumeClaimTemplate
ExecAction = command? []string
ExternalDocumentation = description? string, url? string
FCVolumeSource = targetWWNs? []string, lun? *int32, fsType? string, readOnly? bool, wwids? []string
FileKeySelector = volumeName string, path string, key string, optional? *bool
FlexVolumeSource = driver string, fsType? string, secretRef? *LocalObjectReference, readOnly? bool, options?
    map[string]string
FlockerVolumeSource = datasetName? string, datasetUUID? string
GCEPersistentDiskVolumeSource = pdName string, fsType? string, partition? int32, readOnly? bool
GRPCAction = port int32, service *string
GitRepoVolumeSource = repository string, revision? string, directory? string
GlusterfsVolumeSource = endpoints string, path string, readOnly? bool
HTTPGetAction = path? string, port intorstring, host? string, scheme? string, httpHeaders? []HTTPHeader
HTTPHeader = name string, value string
HostAlias = ip string, hostnames? []string
HostPathVolumeSource = path string, type? *string
ISCSIVolumeSource = targetPortal string, iqn string, lun int32, iscsiInterface? string, fsType? string, readOnly? bool,
    portals? []string, chapAuthDiscovery? bool, chapAuthSession? bool, secretRef? *LocalObjectReference,
    initiatorName? *string
ImageVolumeSource = reference? string, pullPolicy? string
JSONSchemaProps = id? string, $schema? string, $ref? *string, description? string, type? string, format? string,
    title? string, default? *json, maximum? *float, exclusiveMaximum? bool, minimum? *float, exclusiveMinimum? bool,
    maxLength? *int64, minLength? *int64, pattern? string, maxItems? *int64, minItems? *int64, uniqueItems? bool, multipleOf?
    *float, enum? []json, maxProperties? *int64, minProperties? *int64, required? []string, items? *SchemaOrArray, allOf?
    []JSONSchemaProps, oneOf? []JSONSchemaProps, anyOf? []JSONSchemaProps, not? *JSONSchemaProps, properties?
    map[string]JSONSchemaProps, additionalProperties? *SchemaOrBool, patternProperties? map[string]JSONSchemaProps,
    dependencies? map[string]SchemaOrStrings, additionalItems? *SchemaOrBool, definitions? map[string]JSONSchemaProps,
    externalDocs? *ExternalDocumentation, example? *json, nullable? bool, x-kubernetes-preserve-unknown-fields? *bool,
    x-kubernetes-embedded-resource? bool, x-kubernetes-int-or-string? bool, x-kubernetes-list-map-keys? []string,
    x-kubernetes-list-type? *string, x-kubernetes-map-type? *string, x-kubernetes-validations? []ValidationRule
KeyToPath = key string, path string, mode? *int32
LabelSelector = matchLabels? map[string]string, matchExpressions? []LabelSelectorRequirement
LabelSelectorRequirement = key string, operator string, values? []string
Lifecycle = postStart? *LifecycleHandler, preStop? *LifecycleHandler, stopSignal? *string
LifecycleHandler = exec? *ExecAction, httpGet? *HTTPGetAction, tcpSocket? *TCPSocketAction, sleep? *SleepAction
LocalObjectReference = name? string
ManagedFieldsEntry = manager? string, operation? string, apiVersion? string, time? *time, fieldsType? string,
    fieldsV1? *json, subresource? string
NFSVolumeSource = server string, path string, readOnly? bool
NodeAffinity = requiredDuringSchedulingIgnoredDuringExecution? *NodeSelector,
    preferredDuringSchedulingIgnoredDuringExecution? []PreferredSchedulingTerm
NodeSelector = nodeSelectorTerms []NodeSelectorTerm
NodeSelectorRequirement = key string, operator string, values? []string
NodeSelectorTerm = matchExpressions? []NodeSelectorRequirement, matchFields? []NodeSelectorRequirement
ObjectFieldSelector = apiVersion? string, fieldPath string
ObjectMeta = name? string, generateName? string, namespace? string, selfLink? string, uid? string, resourceVersion?
    string, generation? int64, creationTimestamp? *time, deletionTimestamp? *time, deletionGracePeriodSeconds? *int64,
    labels? map[string]string, annotations? map[string]string, ownerReferences? []OwnerReference, finalizers?
    []string, managedFields? []ManagedFieldsEntry
OwnerReference = apiVersion string, kind string, name string, uid string, controller? *bool, blockOwnerDeletion? *bool
PersistentVolumeClaimSpec = accessModes? []string, selector? *LabelSelector, resources? VolumeResourceRequirements,
    volumeName? string, storageClassName? *string, volumeMode? *string, dataSource? *TypedLocalObjectReference,
    dataSourceRef? *TypedObjectReference, volumeAttributesClassName? *string
PersistentVolumeClaimTemplate = metadata? ObjectMeta, spec PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource = claimName string, readOnly? bool
PhotonPersistentDiskVolumeSource = pdID string, fsType? string
PodAffinity = requiredDuringSchedulingIgnoredDuringExecution? []PodAffinityTerm,
    preferredDuringSchedulingIgnoredDuringExecution? []WeightedPodAffinityTerm
PodAffinityTerm = labelSelector? *LabelSelector, namespaces? []string, topologyKey string, namespaceSelector?
    *LabelSelector, matchLabelKeys? []string, mismatchLabelKeys? []string
PodAntiAffinity = requiredDuringSchedulingIgnoredDuringExecution? []PodAffinityTerm,
    preferredDuringSchedulingIgnoredDuringExecution? []WeightedPodAffinityTerm
PodCertificateProjection = signerName? string, keyType? string, maxExpirationSeconds? *int32, credentialBundlePath?
    string, keyPath? string, certificateChainPath? string
PodDNSConfig = nameservers? []string, searches? []string, options? []PodDNSConfigOption
PodDNSConfigOption = name? string, value? *string
PodOS = name string
PodReadinessGate = conditionType string
PodResourceClaim = name string, resourceClaimName? *string, resourceClaimTemplateName? *string
PodSchedulingGate = name string
PodSecurityContext = seLinuxOptions? *SELinuxOptions, windowsOptions? *WindowsSecurityContextOptions, runAsUser? *int64,
    runAsGroup? *int64, runAsNonRoot? *bool, supplementalGroups? []int64, supplementalGroupsPolicy? *string, fsGroup?
    *int64, sysctls? []Sysctl, fsGroupChangePolicy? *string, seccompProfile? *SeccompProfile, appArmorProfile?
    *AppArmorProfile, seLinuxChangePolicy? *string
PodSpec = volumes? []Volume, initContainers? []Container, containers []Container, ephemeralContainers?
    []EphemeralContainer, restartPolicy? string, terminationGracePeriodSeconds? *int64, activeDeadlineSeconds? *int64,
    dnsPolicy? string, nodeSelector? map[string]string, serviceAccountName? string, serviceAccount? string,
    automountServiceAccountToken? *bool, nodeName? string, hostNetwork? bool, hostPID? bool, hostIPC? bool,
    shareProcessNamespace? *bool, securityContext? *PodSecurityContext, imagePullSecrets? []LocalObjectReference,
    hostname? string, subdomain? string, affinity? *Affinity, schedulerName? string, tolerations? []Toleration,
    hostAliases? []HostAlias, priorityClassName? string, priority? *int32, dnsConfig? *PodDNSConfig, readinessGates?
    []PodReadinessGate, runtimeClassName? *string, enableServiceLinks? *bool, preemptionPolicy? *string, overhead?
    map[string]quantity, topologySpreadConstraints? []TopologySpreadConstraint, setHostnameAsFQDN? *bool, os? *PodOS,
    hostUsers? *bool, schedulingGates? []PodSchedulingGate, resourceClaims? []PodResourceClaim, resources?
    *ResourceRequirements, hostnameOverride? *string
PodTemplateSpec = metadata? ObjectMeta, spec? PodSpec
PolicyRule = verbs []string, apiGroups? []string, resources? []string, resourceNames? []string, nonResourceURLs?
    []string
PortworxVolumeSource = volumeID string, fsType? string, readOnly? bool
PreferredSchedulingTerm = weight int32, preference NodeSelectorTerm
Probe = exec? *ExecAction, httpGet? *HTTPGetAction, tcpSocket? *TCPSocketAction, grpc? *GRPCAction,
    initialDelaySeconds? int32, timeoutSeconds? int32, periodSeconds? int32, successThreshold? int32, failureThreshold? int32,
    terminationGracePeriodSeconds? *int64
ProjectedVolumeSource = sources []VolumeProjection, defaultMode? *int32
QuobyteVolumeSource = registry string, volume string, readOnly? bool, user? string, group? string, tenant? string
RBDVolumeSource = monitors []string, image string, fsType? string, pool? string, user? string, keyring? string,
    secretRef? *LocalObjectReference, readOnly? bool
ResourceClaim = name string, request? string
ResourceFieldSelector = containerName? string, resource string, divisor? quantity
ResourceRequirements = limits? map[string]quantity, requests? map[string]quantity, claims? []ResourceClaim
RollingUpdateDeployment = maxUnavailable? *intorstring, maxSurge? *intorstring
RuleWithOperations = operations? []string, apiGroups? []string, apiVersions? []string, resources? []string, scope?
    *string
SELinuxOptions = user? string, role? string, type? string, level? string
ScaleIOVolumeSource = gateway string, system string, secretRef *LocalObjectReference, sslEnabled? bool,
    protectionDomain? string, storagePool? string, storageMode? string, volumeName? string, fsType? string, readOnly?
    bool
SeccompProfile = type string, localhostProfile? *string
SecretEnvSource = name? string, optional? *bool
SecretKeySelector = name? string, key string, optional? *bool
SecretProjection = name? string, items? []KeyToPath, optional? *bool
SecretVolumeSource = secretName? string, items? []KeyToPath, defaultMode? *int32, optional? *bool
SecurityContext = capabilities? *Capabilities, privileged? *bool, seLinuxOptions? *SELinuxOptions, windowsOptions?
    *WindowsSecurityContextOptions, runAsUser? *int64, runAsGroup? *int64, runAsNonRoot? *bool, readOnlyRootFilesystem?
    *bool, allowPrivilegeEscalation? *bool, procMount? *string, seccompProfile? *SeccompProfile, appArmorProfile?
    *AppArmorProfile
SelectableField = jsonPath string
ServiceAccountTokenProjection = audience? string, expirationSeconds? *int64, path string
ServiceReference = namespace string, name string, path? *string, port? *int32
SleepAction = seconds int64
StorageOSVolumeSource = volumeName? string, volumeNamespace? string, fsType? string, readOnly? bool, secretRef?
    *LocalObjectReference
Sysctl = name string, value string
TCPSocketAction = port intorstring, host? string
Toleration = key? string, operator? string, value? string, effect? string, tolerationSeconds? *int64
TopologySpreadConstraint = maxSkew int32, topologyKey string, whenUnsatisfiable string, labelSelector? *LabelSelector,
    minDomains? *int32, nodeAffinityPolicy? *string, nodeTaintsPolicy? *string, matchLabelKeys? []string
TypedLocalObjectReference = apiGroup *string, kind string, name string
TypedObjectReference = apiGroup *string, kind string, name string, namespace? *string
ValidationRule = rule string, message? string, messageExpression? string, reason? *string, fieldPath? string,
    optionalOldSelf? *bool
Volume = name string, hostPath? *HostPathVolumeSource, emptyDir? *EmptyDirVolumeSource, gcePersistentDisk?
    *GCEPersistentDiskVolumeSource, awsElasticBlockStore? *AWSElasticBlockStoreVolumeSource, gitRepo?
    *GitRepoVolumeSource, secret? *SecretVolumeSource, nfs? *NFSVolumeSource, iscsi? *ISCSIVolumeSource, glusterfs?
    *GlusterfsVolumeSource, persistentVolumeClaim? *PersistentVolumeClaimVolumeSource, rbd? *RBDVolumeSource,
    flexVolume? *FlexVolumeSource, cinder? *CinderVolumeSource, cephfs? *CephFSVolumeSource, flocker?
    *FlockerVolumeSource, downwardAPI? *DownwardAPIVolumeSource, fc? *FCVolumeSource, azureFile?
    *AzureFileVolumeSource, configMap? *ConfigMapVolumeSource, vsphereVolume? *VsphereVirtualDiskVolumeSource,
    quobyte? *QuobyteVolumeSource, azureDisk? *AzureDiskVolumeSource, photonPersistentDisk?
    *PhotonPersistentDiskVolumeSource, projected? *ProjectedVolumeSource, portworxVolume? *PortworxVolumeSource,
    scaleIO? *ScaleIOVolumeSource, storageos? *StorageOSVolumeSource, csi? *CSIVolumeSource, ephemeral?
    *EphemeralVolumeSource, image? *ImageVolumeSource
VolumeDevice = name string, devicePath string
VolumeMount = name string, readOnly? bool, recursiveReadOnly? *string, mountPath string, subPath? string,
    mountPropagation? *string, subPathExpr? string
VolumeProjection = secret? *SecretProjection, downwardAPI? *DownwardAPIProjection, configMap? *ConfigMapProjection,
    serviceAccountToken? *ServiceAccountTokenProjection, clusterTrustBundle? *ClusterTrustBundleProjection,
    podCertificate? *PodCertificateProjection
VolumeResourceRequirements = limits? map[string]quantity, requests? map[string]quantity
VsphereVirtualDiskVolumeSource = volumePath string, fsType? string, storagePolicyName? string, storagePolicyID? string
WebhookClientConfig = url? *string, service? *ServiceReference, caBundle? []uint8
WebhookConversion = clientConfig? *WebhookClientConfig, conversionReviewVersions []string
WeightedPodAffinityTerm = weight int32, podAffinityTerm PodAffinityTerm
WindowsSecurityContextOptions = gmsaCredentialSpecName? *string, gmsaCredentialSpec? *string, runAsUserName? *string,
    hostProcess? *bool
"""

_CSV_TYPES = """
APIServiceDefinitions = owned? []APIServiceDescription, required? []APIServiceDescription
APIServiceDescription = name string, group string, version string, kind string, deploymentName? string, containerPort?
    int32
CRDDescription = name string, version string, kind string
CustomResourceDefinitions = owned? []CRDDescription, required? []CRDDescription
StrategyDeploymentPermissions = serviceAccountName string, rules []PolicyRule
StrategyDeploymentSpec = name string, spec DeploymentSpec, label? map[string]string
StrategyDetailsDeployment = deployments []StrategyDeploymentSpec, permissions? []StrategyDeploymentPermissions,
    clusterPermissions? []StrategyDeploymentPermissions
DeploymentConfig = nodeSelector? *map[string]string, tolerations? []Toleration, resources? *ResourceRequirements,
    envFrom? []EnvFromSource, env? []EnvVar, volumes? []Volume, volumeMounts? []VolumeMount, affinity? *Affinity,
    annotations? map[string]string
NamedInstallStrategy = strategy string, spec? StrategyDetailsDeployment
ClusterServiceVersionSpec = install NamedInstallStrategy, version? json, maturity? string, customresourcedefinitions?
    CustomResourceDefinitions, apiservicedefinitions? APIServiceDefinitions, webhookdefinitions? []WebhookDescription,
    nativeAPIs? []v1.GroupVersionKind, minKubeVersion? string, displayName? string, installModes?
    []v1alpha1.InstallMode, replaces? string
WebhookDescription = generateName string, type string, deploymentName? string, containerPort? int32, targetPort?
    *intorstring, rules? []RuleWithOperations, failurePolicy? *string, matchPolicy? *string, objectSelector?
    *LabelSelector, sideEffects *string, timeoutSeconds? *int32, admissionReviewVersions []string, reinvocationPolicy?
    *string, webhookPath? *string, conversionCRDs? []string
"""
"""The parts of a ClusterServiceVersion that rukpak renders or checks."""

_CHECKED_TYPES = """
AnyDefinition = spec? AnyDefinitionSpec
AnyDefinitionNames = kind? string, plural? string
AnyDefinitionSpec = group? string, names? AnyDefinitionNames, scope? string, versions? []AnyDefinitionVersion
AnyDefinitionVersion = name? string, served? bool, storage? bool
Templated = spec? TemplatedSpec
TemplatedSpec = template? TemplatedObject, jobTemplate? *TemplatedJob, volumeClaimTemplates? []TemplatedObject
TemplatedJob = metadata? ObjectMeta, spec? TemplatedSpec
TemplatedObject = metadata? ObjectMeta
Webhook = name? string, rules? []RuleWithOperations
WebhookConfiguration = webhooks? []Webhook
"""
"""The parts that rukpak reads of objects that it applies unchanged. These types are only checked."""

_WHOLE_TYPES = """
v1alpha1.ClusterServiceVersion = kind? string, apiVersion? string, metadata ObjectMeta, spec
    v1alpha1.ClusterServiceVersionSpec, status v1alpha1.ClusterServiceVersionStatus
v1alpha1.ClusterServiceVersionSpec = install v1alpha1.NamedInstallStrategy, version? version, maturity? string,
    customresourcedefinitions? v1alpha1.CustomResourceDefinitions, apiservicedefinitions? v1alpha1.APIServiceDefinitions,
    webhookdefinitions? []WebhookDescription, nativeAPIs? []v1.GroupVersionKind, minKubeVersion? string, displayName
    string, description? string, keywords? []string, maintainers? []v1alpha1.Maintainer, provider? v1alpha1.AppLink,
    links? []v1alpha1.AppLink, icon? []v1alpha1.Icon, installModes? []v1alpha1.InstallMode, replaces? string, labels?
    map[string]string, annotations? map[string]string, selector? *LabelSelector, cleanup? v1alpha1.CleanupSpec, skips?
    []string, relatedImages? []v1alpha1.RelatedImage
v1alpha1.NamedInstallStrategy = strategy string, spec? StrategyDetailsDeployment
v1alpha1.Icon = base64data string, mediatype string
v1alpha1.CleanupSpec = enabled bool
v1alpha1.RelatedImage = name string, image string
v1alpha1.ClusterServiceVersionStatus = phase? string, message? string, reason? string, lastUpdateTime? *time,
    lastTransitionTime? *time, conditions? []v1alpha1.ClusterServiceVersionCondition, requirementStatus?
    []v1alpha1.RequirementStatus, certsLastUpdated? *time, certsRotateAt? *time, cleanup? v1alpha1.CleanupStatus
v1alpha1.ClusterServiceVersionCondition = phase? string, message? string, reason? string, lastUpdateTime? *time,
    lastTransitionTime? *time
v1alpha1.RequirementStatus = group string, version string, kind string, name string, status string, message string,
    uuid? string, dependents? []v1alpha1.DependentStatus
v1alpha1.DependentStatus = group string, version string, kind string, status string, uuid? string, message? string
v1alpha1.CleanupStatus = pendingDeletion? []v1alpha1.ResourceList
v1alpha1.ResourceList = group string, kind string, instances []v1alpha1.ResourceInstance
v1alpha1.ResourceInstance = name string, namespace? string
v1beta1.CustomResourceDefinition = kind? string, apiVersion? string, metadata? ObjectMeta, spec
    v1beta1.CustomResourceDefinitionSpec, status? CustomResourceDefinitionStatus
v1beta1.CustomResourceDefinitionSpec = group string, version? string, names CustomResourceDefinitionNames, scope string,
    validation? *CustomResourceValidation, subresources? *CustomResourceSubresources, versions?
    []v1beta1.CustomResourceDefinitionVersion, additionalPrinterColumns? []v1beta1.CustomResourceColumnDefinition,
    selectableFields? []SelectableField, conversion? *v1beta1.CustomResourceConversion, preserveUnknownFields? *bool
v1beta1.CustomResourceDefinitionVersion = name string, served bool, storage bool, deprecated? bool, deprecationWarning?
    *string, schema? *CustomResourceValidation, subresources? *CustomResourceSubresources, additionalPrinterColumns?
    []v1beta1.CustomResourceColumnDefinition, selectableFields? []SelectableField
v1beta1.CustomResourceColumnDefinition = name string, type string, format? string, description? string, priority? int32,
    JSONPath string
v1beta1.CustomResourceConversion = strategy string, webhookClientConfig? *WebhookClientConfig,
    conversionReviewVersions? []string
bundle.AnnotationMetadata = annotations map[string]string
manifests.AnnotationsFile = annotations manifests.Annotations
manifests.Annotations = operators.operatorframework.io.bundle.package.v1 string,
    operators.operatorframework.io.bundle.channels.v1 string, operators.operatorframework.io.bundle.channel.default.v1
    string
registry.DependenciesFile = dependencies []registry.Dependency
registry.Dependency = type string, value json
registry.GVKDependency = group string, kind string, version string
registry.PackageDependency = packageName string, version string
registry.LabelDependency = label string
registry.CelConstraint = failureMessage string, cel *constraints.Cel
constraints.Cel = rule string
"""
"""The types as which upstream's validators read a bundle: whole, unlike those that are rendered. They are only read."""

_PROJECT_TYPES = """
v1.Deployment = kind? string, apiVersion? string, metadata? ObjectMeta, spec? DeploymentSpec, status? json
v1.Role = kind? string, apiVersion? string, metadata? ObjectMeta, rules []PolicyRule
v1.ClusterRole = kind? string, apiVersion? string, metadata? ObjectMeta, rules []PolicyRule, aggregationRule?
    *v1.AggregationRule
v1.AggregationRule = clusterRoleSelectors? []LabelSelector
v1.RoleBinding = kind? string, apiVersion? string, metadata? ObjectMeta, subjects? []v1.Subject, roleRef v1.RoleRef
v1.Subject = kind string, apiGroup? string, name string, namespace? string
v1.RoleRef = apiGroup string, kind string, name string
v1.ServiceAccount = kind? string, apiVersion? string, metadata? ObjectMeta, secrets? []v1.ObjectReference,
    imagePullSecrets? []LocalObjectReference, automountServiceAccountToken? *bool
v1.ObjectReference = kind? string, namespace? string, name? string, uid? string, apiVersion? string, resourceVersion?
    string, fieldPath? string
v1.Service = kind? string, apiVersion? string, metadata? ObjectMeta, spec? v1.ServiceSpec, status? v1.ServiceStatus
v1.ServiceSpec = ports? []v1.ServicePort, selector? map[string]string, clusterIP? string, clusterIPs? []string, type?
    string, externalIPs? []string, sessionAffinity? string, loadBalancerIP? string, loadBalancerSourceRanges? []string,
    externalName? string, externalTrafficPolicy? string, healthCheckNodePort? int32, publishNotReadyAddresses? bool,
    sessionAffinityConfig? *v1.SessionAffinityConfig, ipFamilies? []string, ipFamilyPolicy? *string,
    allocateLoadBalancerNodePorts? *bool, loadBalancerClass? *string, internalTrafficPolicy? *string,
    trafficDistribution? *string
v1.ServicePort = name? string, protocol? string, appProtocol? *string, port int32, targetPort? intorstring, nodePort?
    int32
v1.SessionAffinityConfig = clientIP? *v1.ClientIPConfig
v1.ClientIPConfig = timeoutSeconds? *int32
v1.ServiceStatus = loadBalancer? v1.LoadBalancerStatus, conditions? []json
v1.LoadBalancerStatus = ingress? []json
v1.ValidatingWebhookConfiguration = kind? string, apiVersion? string, metadata? ObjectMeta, webhooks?
    []v1.ValidatingWebhook
v1.ValidatingWebhook = name string, clientConfig WebhookClientConfig, rules? []RuleWithOperations, failurePolicy? *string,
    matchPolicy? *string, namespaceSelector? *LabelSelector, objectSelector? *LabelSelector, sideEffects *string,
    timeoutSeconds? *int32, admissionReviewVersions []string, matchConditions? []v1.MatchCondition
v1.MutatingWebhookConfiguration = kind? string, apiVersion? string, metadata? ObjectMeta, webhooks?
    []v1.MutatingWebhook
v1.MutatingWebhook = name string, clientConfig WebhookClientConfig, rules? []RuleWithOperations, failurePolicy? *string,
    matchPolicy? *string, namespaceSelector? *LabelSelector, objectSelector? *LabelSelector, sideEffects *string,
    timeoutSeconds? *int32, admissionReviewVersions []string, reinvocationPolicy? *string, matchConditions?
    []v1.MatchCondition
v1.MatchCondition = name string, expression string
v1alpha3.Configuration = kind? string, apiVersion? string, metadata? v1alpha3.Metadata, stages
    []v1alpha3.StageConfiguration, storage? v1alpha3.Storage, serviceaccount? string
v1alpha3.Metadata = name? string
v1alpha3.StageConfiguration = parallel? bool, tests []v1alpha3.TestConfiguration
v1alpha3.TestConfiguration = image string, uniqueID? string, entrypoint? []string, labels? map[string]string, storage?
    v1alpha3.Storage
v1alpha3.Storage = spec v1alpha3.StorageSpec
v1alpha3.StorageSpec = mountPath? v1alpha3.MountPath
v1alpha3.MountPath = path? string
"""
"""The objects from which a bundle is generated, as upstream reads and writes them."""

POINTER, LIST, MAP, BYTES = "*", "[]", "map[string]", "[]uint8"


class Field(NamedTuple):
    """A field of a struct."""

    name: str
    omits_empty: bool
    type_name: str


def _parsed(table: str) -> dict[str, tuple[Field, ...]]:
    types = {}
    for line in table.replace("\n    ", " ").split("\n"):
        name, separator, fields = line.partition(" =")
        pairs = (field.split() for field in fields.split(",") if field.strip())
        if separator:
            types[name] = tuple(Field(field.removesuffix("?"), field.endswith("?"), of) for field, of in pairs)
    return types


STRUCTS: Final[Mapping[str, tuple[Field, ...]]] = _parsed(
    _OPM_TYPES + _KUBERNETES_TYPES + _CSV_TYPES + _CHECKED_TYPES + _WHOLE_TYPES + _PROJECT_TYPES
)
"""Every struct by its name."""

CSV_STRUCTS: Final = frozenset(_parsed(_CSV_TYPES))
"""Those of v1alpha1 whose names in the table have no package; the others without one are of a v1."""


EMBEDDED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "ClusterServiceVersion": ("apiVersion", "kind"),
    "CustomResourceDefinition": ("apiVersion", "kind"),
}
"""Fields of an embedded struct, by the struct that embeds it: their errors name it, and YAML's scalars do not become text."""
NAMED_TYPES: Final[Mapping[str, str]] = {
    "ClusterServiceVersionStatus.phase": "v1alpha1.ClusterServiceVersionPhase",
    "ClusterServiceVersionStatus.reason": "v1alpha1.ConditionReason",
    "Container.imagePullPolicy": "v1.PullPolicy",
    "Container.restartPolicy": "v1.ContainerRestartPolicy",
    "Container.terminationMessagePolicy": "v1.TerminationMessagePolicy",
    "ContainerPort.protocol": "v1.Protocol",
    "CustomResourceConversion.strategy": "v1.ConversionStrategyType",
    "CustomResourceDefinitionSpec.scope": "v1.ResourceScope",
    "DeploymentStrategy.type": "v1.DeploymentStrategyType",
    "EmptyDirVolumeSource.medium": "v1.StorageMedium",
    "HTTPGetAction.scheme": "v1.URIScheme",
    "HostPathVolumeSource.type": "v1.HostPathType",
    "LabelSelectorRequirement.operator": "v1.LabelSelectorOperator",
    "NodeSelectorRequirement.operator": "v1.NodeSelectorOperator",
    "OwnerReference.uid": "types.UID",
    "ObjectMeta.uid": "types.UID",
    "PodSecurityContext.fsGroupChangePolicy": "v1.PodFSGroupChangePolicy",
    "PodSpec.dnsPolicy": "v1.DNSPolicy",
    "PodSpec.preemptionPolicy": "v1.PreemptionPolicy",
    "PodSpec.restartPolicy": "v1.RestartPolicy",
    "RuleWithOperations.operations": "[]v1.OperationType",
    "RuleWithOperations.scope": "v1.ScopeType",
    "SeccompProfile.type": "v1.SeccompProfileType",
    "SecurityContext.procMount": "v1.ProcMountType",
    "StrategyDeploymentSpec.label": "labels.Set",
    "Toleration.effect": "v1.TaintEffect",
    "Toleration.operator": "v1.TolerationOperator",
    "TopologySpreadConstraint.whenUnsatisfiable": "v1.UnsatisfiableConstraintAction",
    "VolumeMount.mountPropagation": "v1.MountPropagationMode",
    "WebhookDescription.failurePolicy": "v1.FailurePolicyType",
    "WebhookDescription.matchPolicy": "v1.MatchPolicyType",
    "WebhookDescription.reinvocationPolicy": "v1.ReinvocationPolicyType",
    "WebhookDescription.sideEffects": "v1.SideEffectClass",
    "WebhookDescription.type": "v1alpha1.WebhookAdmissionType",
}
"""Fields of texts, lists and mappings whose types have names of their own, by struct and field: only errors name them."""


def split_type(name: str) -> tuple[str, str]:
    """The outermost POINTER, LIST or MAP of a type, and the type in it; "" and the type itself if it has none, as BYTES."""
    form = next((each for each in (POINTER, LIST, MAP) if name.startswith(each) and name != BYTES), "")
    return form, name.removeprefix(form)
