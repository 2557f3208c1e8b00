"""Makes what a release consists of: the image, the manifests, the chart, a bundle for OLM v0 and the site of the documentation.

Run by make; never shipped.
"""
