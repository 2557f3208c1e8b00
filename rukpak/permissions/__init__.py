"""The permissions that an account needs to install a bundle: which, and which of them it lacks. Pure."""
