"""What the signals of trust are worth on held-out questions of the bench: ``record`` asks, ``verdicts`` judges."""
