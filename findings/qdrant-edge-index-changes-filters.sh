#!/usr/bin/env bash
# qdrant-edge-py 0.9.0: creating a payload index changes what a filter finds, and nothing says so.
#
# One expects an index to make a filter fast, and to leave its answer alone.
# With an integer index a range no longer finds 2.5, a match with 2 begins to find 2.0, and "anything but 1" loses every
# point whose value is no integer. With a text index a phrase is found nowhere, unless it was made for phrases;
# there is neither an error nor a warning. A float index changes nothing here.
# Make the indexes before the first point, test filters with them, and store what is compared as floats alone.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'qdrant-edge-py==0.9.0' || exit 2

stated="integer index, at least 2: [2.5, 3, 2.0] -> [3, 2.0]
integer index, equal to 2: [] -> [2.0]
integer index, all but 1: [2.5, 3, 2.0, 'seven'] -> [3, 2.0]
float index, at least 2: [2.5, 3, 2.0] -> [2.5, 3, 2.0]
float index, equal to 2: [] -> []
float index, all but 1: [2.5, 3, 2.0, 'seven'] -> [2.5, 3, 2.0, 'seven']
text index, words green tea: ['green tea leaves'] -> ['green tea leaves']
text index, phrase green tea: ['green tea leaves'] -> []
text index for phrases, phrase green tea: ['green tea leaves'] -> ['green tea leaves']"

cat >"$work/try.py" <<'PYTHON'
import sys
import tempfile

import qdrant_edge as qdrant

AMOUNTS = [1, 2.5, 3, 2.0, "seven"]
TEXTS = ["green tea leaves", "leaves of green", "tea"]


def shard(values, index):
    vectors = {"": qdrant.EdgeVectorParams(size=2, distance=qdrant.Distance.Cosine)}
    made = qdrant.EdgeShard.create(tempfile.mkdtemp(dir=sys.argv[1]), qdrant.EdgeConfig(vectors=vectors))
    points = [qdrant.Point(number, {"": [1.0, float(number)]}, {"it": value}) for number, value in enumerate(values)]
    made.update(qdrant.UpdateOperation.upsert_points(points))
    if index is not None:
        made.update(qdrant.UpdateOperation.create_field_index("it", index))
    return made


def found(values, index, **condition):
    asked = qdrant.Filter(must=[qdrant.FieldCondition("it", **condition)])
    points, _ = shard(values, index).scroll(qdrant.ScrollRequest(limit=10, filter=asked))
    return [point.payload["it"] for point in points]


def compare(what, values, index, **condition):
    print(f"{what}:", found(values, None, **condition), "->", found(values, index, **condition))


INTEGER, FLOAT, TEXT = qdrant.IntegerIndexParams(), qdrant.FloatIndexParams(), qdrant.TextIndexParams()
RANGE, EQUAL, OTHER = qdrant.RangeFloat(gte=2), qdrant.MatchValue(2), qdrant.MatchExcept([1])
for name, index in (("integer", INTEGER), ("float", FLOAT)):
    compare(f"{name} index, at least 2", AMOUNTS, index, range=RANGE)
    compare(f"{name} index, equal to 2", AMOUNTS, index, match=EQUAL)
    compare(f"{name} index, all but 1", AMOUNTS, index, match=OTHER)
compare("text index, words green tea", TEXTS, TEXT, match=qdrant.MatchText("green tea"))
compare("text index, phrase green tea", TEXTS, TEXT, match=qdrant.MatchPhrase("green tea"))
PHRASES = qdrant.TextIndexParams(phrase_matching=True)
compare("text index for phrases, phrase green tea", TEXTS, PHRASES, match=qdrant.MatchPhrase("green tea"))
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py" "$work") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
