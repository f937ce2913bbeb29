"""`python -m services.cli` is `memorybus`."""

from services.cli import main

main()
