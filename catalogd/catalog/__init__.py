"""The controller of kind Catalog."""
