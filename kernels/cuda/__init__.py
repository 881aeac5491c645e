"""The ops ``accumulate`` and ``assign`` in CUDA C++ (``.cu``); ``launch.py`` compiles and starts them through CuPy."""
