#!/usr/bin/env bash
# SQLite 3.54.1 (wheel apsw): bm25() of FTS5 takes a word that half of the rows have for worth nothing.
#
# One expects a weight above zero that falls as the word grows common, as BM25 libraries and Lucene have it.
# FTS5 takes the older formula, which is negative from half of the rows on, and raises it to a millionth instead:
# beside any rarer word the common one no longer counts, however often a row says it.
# All rows of the table count, whoever's they are: the same rows change places when others are added.
# In a small table (the memories of a new user) this is the normal case: take counts from fts5vocab or an auxiliary
# function, and weigh them yourself.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'apsw==3.54.1.0' 'bm25s==0.3.16' 'numpy==2.4.6' || exit 2

stated='fts5, "tea" in 4 of 8 rows: 0.000 0.000 0.000 0.000
bm25s, "tea" in 4 of 8 rows: 0.427 0.241 0.241 0.241
fts5, "tea" in 4 of 9 rows: 0.307 0.191 0.191 0.191
fts5, "tea peru" in 8 rows: a walk in peru 1.357, tea tea tea 0.000
fts5, "tea peru" in 80 rows: tea tea tea 4.444, a walk in peru 3.480'

cat >"$work/try.py" <<'PYTHON'
import apsw
import bm25s

TEA = ["tea tea tea", "tea with anna", "tea with ben", "tea with carl"]
OTHERS = ["a walk in peru", "a bike", "a dog", "a boat", "a lamp"]


def fts5(rows, query):
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE notes USING fts5(body)")
    for row in rows:
        db.execute("INSERT INTO notes VALUES (?)", (row,))
    return db.execute("SELECT body, -bm25(notes) FROM notes WHERE notes MATCH ? ORDER BY rank, rowid", (query,)).fetchall()


def other(rows, query):
    index = bm25s.BM25()
    index.index(bm25s.tokenize(rows, stopwords=None, show_progress=False), show_progress=False)
    return sorted(index.get_scores([query]).tolist(), reverse=True)[:4]


def shown(scores):
    return " ".join(f"{score:.3f}" for score in scores)


print('fts5, "tea" in 4 of 8 rows:', shown(score for _, score in fts5(TEA + OTHERS[:4], "tea")))
print('bm25s, "tea" in 4 of 8 rows:', shown(other(TEA + OTHERS[:4], "tea")))
print('fts5, "tea" in 4 of 9 rows:', shown(score for _, score in fts5(TEA + OTHERS, "tea")))
for more in (0, 72):
    rows = [*TEA, *OTHERS[:4], *["nothing new today"] * more]
    best = fts5(rows, "tea OR peru")[:2]
    print(f'fts5, "tea peru" in {len(rows)} rows:', ", ".join(f"{body} {score:.3f}" for body, score in best))
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
