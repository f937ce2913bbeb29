#!/usr/bin/env bash
# SQLite 3.54.1 (wheel apsw): a deleted text stays readable in the file of an FTS5 table, unless two switches meet.
#
# One expects `PRAGMA secure_delete = ON` to overwrite what is deleted, or FTS5's own option of that name to do so.
# The pragma overwrites freed pages, but FTS5 only notes in its index that a row is gone: its words stay in a live page.
# The option takes the words out of the index, but without the pragma the freed bytes and the row itself stay.
# Both together leave nothing; so does the pragma with `optimize` after the deletion, which writes the index anew.
# A program that must forget needs both, or an optimize after each deletion, and then a checkpoint of its WAL.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'apsw==3.54.1.0' || exit 2

stated='pragma off, option off: found no more, in the file
pragma off, option on: found no more, in the file
pragma on, option off: found no more, in the file
pragma on, option on: found no more, gone
pragma off, option off, then optimize: found no more, in the file
pragma on, option off, then optimize: found no more, gone'

cat >"$work/try.py" <<'PYTHON'
import itertools
import pathlib
import sys

import apsw

WORD, ROWS = "zanzibar", 500


def delete(file, pragma, option, optimize):
    db = apsw.Connection(str(file))
    db.execute(f"PRAGMA secure_delete = {pragma}")
    db.execute("CREATE VIRTUAL TABLE notes USING fts5(body)")
    if option == "on":
        db.execute("INSERT INTO notes(notes, rank) VALUES ('secure-delete', 1)")
    with db:
        for number in range(ROWS):
            body = f"note {number} about a trip to {WORD if number == ROWS // 2 else 'somewhere'} and back"
            db.execute("INSERT INTO notes(rowid, body) VALUES (?, ?)", (number, body))
    db.execute("DELETE FROM notes WHERE rowid = ?", (ROWS // 2,))
    if optimize:
        db.execute("INSERT INTO notes(notes) VALUES ('optimize')")
    found = db.execute("SELECT count(*) FROM notes WHERE notes MATCH ?", (WORD,)).fetchall()[0][0]
    db.close()
    return found, WORD.encode() in file.read_bytes()


cases = [(*switches, False) for switches in itertools.product(("off", "on"), repeat=2)]
cases += [("off", "off", True), ("on", "off", True)]
for number, (pragma, option, optimize) in enumerate(cases):
    found, kept = delete(pathlib.Path(sys.argv[1]) / f"{number}.db", pragma, option, optimize)
    print(
        f"pragma {pragma}, option {option}{', then optimize' if optimize else ''}: "
        f"{'still found' if found else 'found no more'}, {'in the file' if kept else 'gone'}"
    )
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py" "$work") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
