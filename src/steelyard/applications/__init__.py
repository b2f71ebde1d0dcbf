"""Wing: whole applications: the NAS Parallel Benchmarks, mini-applications, and programs that Steelyard does not build."""
