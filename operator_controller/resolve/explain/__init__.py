"""Why a bundle was selected or a request refused, in sentences. Pure."""
