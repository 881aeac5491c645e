"""``python -m sma_gpu.cli``."""

import sys

from .main import main

sys.exit(main())
