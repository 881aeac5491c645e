"""Device sources and their launchers: the ground floor, which imports nothing of ours. None yet; see README.md."""
