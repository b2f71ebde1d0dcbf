"""The JSON Schemas of predictions and of the description of a trace."""
