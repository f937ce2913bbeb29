"""What a start of memorybus, or of the stand-in for Qdrant, would import and make once, for what forks them."""

from __future__ import annotations

import gc
from importlib.metadata import version

import services.cli.up  # noqa: F401
import tests.faults.launcher
import tests.servers.qdrant_standin  # noqa: F401
from services.gateway import api
from services.shared.dedup.fingerprint import warm_up
from services.shared.tokens import Cl100kCounter

api.paths(version("memorybus"))
warm_up()
Cl100kCounter()  # its vocabulary stays
gc.collect()
gc.freeze()  # what is never looked at again is never copied
