"""Bundle -> content by digest on disk, read as what its provisioner says."""
