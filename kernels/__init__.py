"""Device sources and their launchers: the ground floor, which imports nothing of ours; see README.md."""
