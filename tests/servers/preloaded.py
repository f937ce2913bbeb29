"""What a start of memorybus would import and make once, for what forks it."""

from __future__ import annotations

import gc
from importlib.metadata import version

import services.cli.up  # noqa: F401
import tests.faults.launcher  # noqa: F401
from services.gateway import api
from services.shared.core.fingerprint import warm_up

api.paths(version("memorybus"))
warm_up()
gc.collect()
gc.freeze()  # what is never looked at again is never copied
