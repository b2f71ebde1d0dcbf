"""Power and energy: sensors, their readings over time, and what these say of a stretch of time. Imports `machine` and below."""
