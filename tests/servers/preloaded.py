"""What a start of memorybus would import and make once, for what forks it."""

from __future__ import annotations

from importlib.metadata import version

import services.cli.up  # noqa: F401
import tests.faults.launcher  # noqa: F401
from services.gateway import api

api.paths(version("memorybus"))
