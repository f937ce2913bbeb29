"""A process of the annotator: answers lists of texts on its standard input until that is closed.

It ends when its parent does, however that died: the pipe is closed then. Signals it leaves to the parent, as Ctrl-C in
a terminal reaches both.
"""

from __future__ import annotations

import os
import signal
from typing import BinaryIO

from services.shared.annotators import frames


def main() -> None:
    """Load the model, say so, and answer."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)
    questions, answers = _take_pipes()
    try:
        _answer(questions, answers)
    except BrokenPipeError:
        pass  # nobody waits for the answer any more
    finally:
        answers.close()


def _answer(questions: BinaryIO, answers: BinaryIO) -> None:
    from services.shared.annotators.reading import Reader

    reader = Reader.load()
    answers.write(frames.encode(frames.READY))
    while (texts := frames.read(questions)) is not None:
        answers.write(frames.encode(reader.read(texts)))


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the frames alone: what a library prints goes to standard error."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return questions, answers


if __name__ == "__main__":
    main()
