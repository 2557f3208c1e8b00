"""The rules about CustomResourceDefinitions that would refuse a bundle that waits."""
