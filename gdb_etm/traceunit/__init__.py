"""Programming trace units: options and capabilities -> plan -> apply, and the session that captures with them."""
