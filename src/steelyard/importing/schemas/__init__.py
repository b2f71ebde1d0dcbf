"""The JSON Schema of the output of an import."""
