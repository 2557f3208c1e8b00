"""The frozen values that the templates show. Pure."""
