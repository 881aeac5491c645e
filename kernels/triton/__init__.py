"""The op ``select`` in Triton: ``select.py`` is the device code, ``launch.py`` starts it."""
