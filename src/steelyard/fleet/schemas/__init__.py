"""The JSON Schemas of a history and of a fleet."""
