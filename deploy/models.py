"""Makes the built-in embedder ready in a folder while the image is built: `python models.py FOLDER`.

A container cannot write there later. On which processor it will run is not known yet, and not every precision is
computed right by all of them, so every one is built.
"""

from __future__ import annotations

import sys
from pathlib import Path

from services.shared.embedders import minilm_model


def make_ready(folder: Path) -> list[Path]:
    """Build every precision of the model that is not there yet; returns their files."""
    package = minilm_model.package_folder()
    weights, tokenizer = package / "model.safetensors", minilm_model.open_tokenizer(package)
    files = []
    for precision in minilm_model.PRECISIONS:
        file = folder / minilm_model._file_name(weights, precision)
        if not file.exists():
            minilm_model._build(weights, tokenizer, precision, file)
        files.append(file)
    minilm_model.open_model(folder, tokenizer, weights)
    return files


if __name__ == "__main__":
    for made in make_ready(Path(sys.argv[1])):
        print(made)
