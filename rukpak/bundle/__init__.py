"""The controller of kind Bundle: an image becomes content by digest on disk, read as its provisioner class requires."""
