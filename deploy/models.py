"""Makes the built-in embedder ready in a folder while the image is built: `python models.py FOLDER`.

A container cannot write there later.
"""

from __future__ import annotations

import sys
from pathlib import Path

from services.shared.embedders import minilm_model


def make_ready(folder: Path) -> None:
    """Build the model if it is not there yet, and check that it computes what it should."""
    package = minilm_model.package_folder()
    minilm_model.open_model(folder, minilm_model.open_tokenizer(package), package / "model.safetensors")


if __name__ == "__main__":
    make_ready(Path(sys.argv[1]))
