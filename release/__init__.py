"""Makes what a release consists of: the image, the manifests, the chart. Run by make; never shipped."""
