"""The bench: other memories to compare with, and measurements. It may import everything of ours; nothing imports it."""
