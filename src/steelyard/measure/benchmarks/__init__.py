"""The benchmarks: <group>/<name>.cpp and <name>.py. The folder is the registry; add two files here and edit nothing."""
