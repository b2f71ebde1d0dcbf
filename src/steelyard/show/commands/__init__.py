"""The commands of the core, one per file. A command reads its words, calls other packages, and prints. It decides nothing."""
