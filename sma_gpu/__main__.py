"""``python -m sma_gpu``."""

import sys

from .cli import main

sys.exit(main())
