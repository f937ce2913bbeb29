"""Where the vectors of each model are kept: old and new ones stand side by side until nobody needs the old."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import blake2b
from pathlib import Path

from contracts.ports import EmbeddingIdentity

_PLACE = re.compile(r"[a-z0-9-]+\.\d+\.[0-9a-f]{10}\.g(\d+)")
_FORMER_LAYOUT = ("edge_config.json", "segments", "wal")
"""What a version before there were such folders left directly in the folder."""


class VectorFolders:
    """The folders under one path, each with the vectors of one model and generation."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, identity: EmbeddingIdentity) -> Path:
        """The folder of these vectors, there or not."""
        exactly = json.dumps([identity.provider, identity.model, identity.dimensions])
        digest = blake2b(exactly.encode(), digest_size=5).hexdigest()
        readable = re.sub("[^a-z0-9]+", "-", identity.model.lower()).strip("-")[:32].strip("-") or "model"
        return self._path / f"{readable}.{identity.dimensions}.{digest}.g{identity.generation}"

    def former(self, identity: EmbeddingIdentity) -> list[Path]:
        """What vectors in use before these left behind. Those of a later generation are being made."""
        current = self.of(identity)
        found = [each for each in self._path.glob("*") if _generation(each) <= identity.generation and each != current]
        return [*found, *(path for name in _FORMER_LAYOUT if (path := self._path / name).exists())]

    def drop_former(self, identity: EmbeddingIdentity) -> None:
        """Remove what vectors in use before these left behind."""
        for path in self.former(identity):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def _generation(path: Path) -> float:
    named = _PLACE.fullmatch(path.name)
    return int(named[1]) if named else float("inf")
