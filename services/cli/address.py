"""`memorybus address`: where programs reach the bus of a running instance."""

from __future__ import annotations

from services.cli.common import DataOption, fail, nats_url
from services.shared.instance import NotRunning

EPILOG = """Examples:\n
  memorybus address\n
  memorybus address --data ./memory\n
  NATS_URL=$(memorybus address) python program.py
"""


def address(data: DataOption = None) -> None:
    """Print the address of the bus as a NATS client takes it, with the password: keep it to yourself.

    It stays the same for as long as the port does: the password is made once for each data folder.
    """
    try:
        print(nats_url(data, None))
    except NotRunning as error:
        fail(str(error))
