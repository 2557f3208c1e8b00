"""A local Kubernetes cluster out of real parts, for the demo and the tests: control plane, fake nodes, image registry.

`python -m devcluster` is the command, `devcluster.cluster.start` the call behind it. Nothing here is imported by the
three controllers; they get a kubeconfig like any other program.
"""
