"""Helm charts as the content of Bundles: what a chart is, and its rendering by the program helm in a sandboxed process."""
