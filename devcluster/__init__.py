"""A local Kubernetes cluster of real components, for the demo and the tests: control plane, simulated nodes, image registry.

`python -m devcluster` is the command, `devcluster.cluster.start` the function behind it. The controllers import nothing of this
package; they get a kubeconfig, as any other program does.
"""
