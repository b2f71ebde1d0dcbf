"""The JSON Schemas of the outputs of `steelyard power`."""
