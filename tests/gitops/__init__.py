"""What real GitOps tools make of the objects of the suite: `make gitops`."""
