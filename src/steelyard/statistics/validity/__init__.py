"""Whether a case may be believed: what disturbed it, the pace beside its samples, the verdict. Imports `samples`."""
