"""The command lines of etcd, kube-apiserver, kube-controller-manager and kube-scheduler. Pure but for Layout.prepare.

The supervisor runs them. Nothing here starts a process except the one that makes the cluster's keys.
"""

import json
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devcluster import kubeconfig
from devcluster.allocation import Allocation
from devcluster.errors import DevclusterError
from devcluster.nodes.network import NODE, NodeNetwork

# User names of Kubernetes' bootstrap RBAC. It has no role for kwok, which is therefore an administrator.
_USERS = {
    "admin": ("devcluster:admin", "system:masters"),
    "kwok": ("devcluster:kwok", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
}
_USERS_OF_A_REAL_NODE = {
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
    "kube-proxy": ("system:kube-proxy", ""),
}
_AUDITED_USERS = tuple(
    f"system:serviceaccount:olm-suite-system:{name}" for name in ("catalogd", "operator-controller", "rukpak")
)
# High limits, so that measurements show the suite and not the rate limits of these controllers.
_CLIENT_RATE = ("--kube-api-qps=300", "--kube-api-burst=600")
# Controllers of what no cluster of devcluster has: storage, devices, metrics to scale by, and clients of removed or legacy kinds.
# Each one costs processor time while it is idle: its watches, and what it polls.
_ABSENT_CONTROLLERS = (
    "certificatesigningrequest-cleaner",
    "device-taint-eviction",
    "ephemeral-volume",
    "horizontal-pod-autoscaler",
    "legacy-serviceaccount-token-cleaner",
    "persistentvolume-attach-detach",
    "persistentvolume-binder",
    "persistentvolume-expander",
    "replicationcontroller",
    "resourceclaim",
    "service-cidr",
    "ttl",
    "volumeattributesclass-protection",
)
# Go collects garbage less often while there is little of it: a fifth of the processor time of these programs.
_MEMORY = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}


@dataclass(frozen=True)
class Component:
    """A program of the cluster: its name in tables and logs, its arguments without the program, its additional environment.

    `program` is its path; without one it is the program of that name in the directory of the cluster's programs.
    """

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=lambda: _MEMORY)
    program: str = ""


@dataclass(frozen=True)
class Layout:
    """The paths and addresses of one cluster: its run directory, its programs, its ports and address ranges.

    With a real node the API server and the registry are where pods reach them, otherwise on loopback. The API server writes an
    audit log to the file `audit_log`, if there is one.
    """

    directory: Path
    programs: Path
    allocation: Allocation
    network: NodeNetwork | None = None
    audit_log: Path | None = None

    @property
    def server_address(self) -> str:
        """The address at which the API server listens."""
        return self.network.api_server if self.network else "127.0.0.1"

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.server_address}:{self.allocation.ports[0]}"

    @property
    def registry(self) -> str:
        """The address and port of the registry."""
        return f"{self.network.registry if self.network else '127.0.0.1'}:{self.allocation.ports[3]}"

    @property
    def etcd(self) -> str:
        """The URL of etcd."""
        return f"http://127.0.0.1:{self.allocation.ports[1]}"

    @property
    def keys(self) -> Path:
        """The directory of keys and certificates; nobody else may read it."""
        return self.directory / "keys"

    @property
    def tokens(self) -> Path:
        """The API server's token file: token, user, group per line."""
        return self.keys / "tokens.csv"

    @property
    def authority(self) -> Path:
        """The certificate of the cluster's certificate authority."""
        return self.keys / "ca.crt"

    @property
    def audit_policy(self) -> Path:
        """The file that tells the API server which requests it logs."""
        return self.directory / "audit-policy.json"

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of one of the users: admin, kwok, kube-controller-manager, kube-scheduler, kubelet, kube-proxy."""
        return self.directory / "kubeconfig" if user == "admin" else self.keys / f"{user}.kubeconfig"

    def prepare(self) -> str:
        """Create the keys, the token file and the kubeconfigs; return the admin's token."""
        self.keys.mkdir(mode=0o700)
        hosts = [
            self.server_address,
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            self.allocation.first_service_address,
        ]
        if self.network:
            hosts += ["--", NODE, self.network.node]
        made = subprocess.run(
            [self.programs / "devcluster-certificates", self.keys, *hosts], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            raise DevclusterError(f"The cluster's keys could not be made: {made.stderr.strip()}")
        authority = self.authority.read_bytes()
        lines = []
        tokens = {}
        for user, (name, group) in {**_USERS, **(_USERS_OF_A_REAL_NODE if self.network else {})}.items():
            tokens[user] = secrets.token_urlsafe(24)
            lines.append(f'{tokens[user]},{name},{name},"{group}"\n')
            write_private(self.kubeconfig(user), kubeconfig.render(self.server, authority, tokens[user], user))
        write_private(self.tokens, "".join(lines))
        self.audit_policy.write_text(json.dumps(audit_policy()))
        return tokens["admin"]


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_text(text)


def etcd(layout: Layout) -> Component:
    """etcd without fsync, because its data is removed with the cluster."""
    peer = f"http://127.0.0.1:{layout.allocation.ports[2]}"
    arguments = (
        f"--data-dir={layout.directory / 'etcd'}",
        f"--listen-client-urls={layout.etcd}",
        f"--advertise-client-urls={layout.etcd}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        # It has no members to send heartbeats to, and each one costs processor time.
        "--heartbeat-interval=300",
        "--election-timeout=1500",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    )
    return Component("etcd", arguments)


def api_server(layout: Layout) -> Component:
    """kube-apiserver with RBAC, a token file, and the flags that aggregated APIs need."""
    keys = layout.keys
    arguments = (
        f"--etcd-servers={layout.etcd}",
        f"--bind-address={layout.server_address}",
        f"--secure-port={layout.allocation.ports[0]}",
        f"--service-cluster-ip-range={layout.allocation.service_cidr}",
        f"--tls-cert-file={keys / 'kube-apiserver.crt'}",
        f"--tls-private-key-file={keys / 'kube-apiserver.key'}",
        f"--client-ca-file={layout.authority}",
        f"--token-auth-file={layout.tokens}",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys / 'service-account.key'}",
        f"--service-account-signing-key-file={keys / 'service-account.key'}",
        "--enable-aggregator-routing=true",
        f"--requestheader-client-ca-file={keys / 'front-proxy-ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={keys / 'front-proxy-client.crt'}",
        f"--proxy-client-key-file={keys / 'front-proxy-client.key'}",
        "--profiling=false",
        # Idle work: the sizes of all objects, a Lease of its own, the number of objects of each resource.
        "--feature-gates=SizeBasedListCostEstimate=false,APIServerIdentity=false",
        "--etcd-count-metric-poll-period=0",
        # Without this it waits a minute for open watches before it ends.
        "--shutdown-watch-termination-grace-period=1s",
        *_audit_arguments(layout),
        *_node_arguments(layout),
    )
    return Component("kube-apiserver", arguments)


def audit_policy() -> dict[str, Any]:
    """The requests of the suite's own accounts, without bodies: who asked for what, and the decision of the authorizer.

    The answers to SubjectAccessReviews are logged too. They say who may get a path of the controllers, and contain no token.
    A watch is logged when it begins, because an API server that is killed does not log its end.
    """
    ours = {"users": list(_AUDITED_USERS)}
    reviews = [{"group": "authorization.k8s.io", "resources": ["subjectaccessreviews"]}]
    rules = [
        {**ours, "level": "RequestResponse", "resources": reviews, "omitStages": ["ResponseStarted"]},
        {**ours, "level": "Metadata", "verbs": ["watch"], "omitStages": ["ResponseComplete"]},
        {**ours, "level": "Metadata", "omitStages": ["ResponseStarted"]},
        {"level": "None"},
    ]
    omitted = ["RequestReceived"]
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": omitted, "rules": rules}


def _audit_arguments(layout: Layout) -> tuple[str, ...]:
    """The arguments of the API server that depend on whether it logs requests."""
    if layout.audit_log is None:
        return ()
    return (
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        # Megabytes after which another file begins.
        "--audit-log-maxsize=100000",
    )


def _node_arguments(layout: Layout) -> tuple[str, ...]:
    """The arguments of the API server that depend on the kind of the nodes."""
    if layout.network is None:
        return (
            "--authorization-mode=RBAC",
            # The Service `kubernetes` has no endpoints, because these must not be loopback addresses.
            "--endpoint-reconciler-type=none",
            f"--advertise-address={layout.allocation.first_service_address}",
        )
    client = layout.keys / "kube-apiserver-kubelet-client"
    return (
        "--authorization-mode=Node,RBAC",
        f"--advertise-address={layout.server_address}",
        f"--kubelet-certificate-authority={layout.authority}",
        f"--kubelet-client-certificate={client}.crt",
        f"--kubelet-client-key={client}.key",
        "--kubelet-preferred-address-types=InternalIP",
    )


def controller_manager(layout: Layout) -> Component:
    """kube-controller-manager, each controller with its own ServiceAccount."""
    keys = layout.keys
    arguments = (
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={keys / 'service-account.key'}",
        f"--root-ca-file={layout.authority}",
        f"--cluster-signing-cert-file={layout.authority}",
        f"--cluster-signing-key-file={keys / 'ca.key'}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--controllers={','.join(('*', *(f'-{name}-controller' for name in _ABSENT_CONTROLLERS)))}",
        *_CLIENT_RATE,
    )
    return Component("kube-controller-manager", arguments)


def scheduler(layout: Layout) -> Component:
    """kube-scheduler with its defaults."""
    arguments = (
        f"--kubeconfig={layout.kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        *_CLIENT_RATE,
    )
    return Component("kube-scheduler", arguments)
