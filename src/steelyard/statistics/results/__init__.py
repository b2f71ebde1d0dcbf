"""Results chosen, paired and summarised by what was measured. Imports all the other groups."""
