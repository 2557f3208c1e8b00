"""The solver: the best selection of versions for a problem that knows no packages of Kubernetes. Home of python-sat. Pure."""
