"""`python -m services.cli` is `memorybus`."""

from services.cli import main

if __name__ == "__main__":  # processes of the annotator import this too
    main()
