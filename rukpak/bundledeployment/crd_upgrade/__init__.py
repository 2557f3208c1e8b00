"""The conditions under which a CustomResourceDefinition changes, and the check of existing custom resources."""
