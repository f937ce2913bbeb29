#!/usr/bin/env bash
# opencode 1.18.33: `opencode run "two words"` sends the model what was typed in quotation marks.
#
# One expects the argument to reach the model as it was typed.
# An argument with a space in it is put in quotation marks, and a quotation mark within it gets a backslash. The same
# words as several arguments come as they are, and so does standard input, which follows them in the same message.
# A program that learns from what users say takes the whole message for a quotation unless it removes the marks.
# Needs node and npm beside python3, which plays the model.
set -euo pipefail

work=$(mktemp -d)
model=
finish() {
    if [ -n "$model" ]; then
        kill "$model" 2>/dev/null || true
        wait "$model" || true
    fi
    rm -rf "$work"
}
trap finish EXIT
npm install --silent --no-fund --no-audit --cache "$work/npm" --prefix "$work" 'opencode-ai@1.18.33' || exit 2

stated='"where is it"
where is it
"he said \"no\"" piped words'

# Answers every chat with "ok" and writes down what the user's last message was. A request for a title has no tools.
cat >"$work/model.py" <<'PYTHON'
import http.server
import json
import pathlib
import sys

WORK = pathlib.Path(sys.argv[1])
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
CHOICES = [{"delta": {"role": "assistant", "content": "ok"}, "finish_reason": None}, {"delta": {}, "finish_reason": "stop"}]


class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("tools"):
            said = [message["content"] for message in asked["messages"] if message["role"] == "user"]
            with (WORK / "said").open("a") as file:
                file.write(" ".join(said[-1].split()) + "\n")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for choice in CHOICES:
            self.wfile.write(b"data: " + json.dumps({**CHUNK, "choices": [{"index": 0, **choice}]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
backend = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": f"http://127.0.0.1:{server.server_port}/v1", "apiKey": "none"},
    "models": {"m": {"name": "m"}},
}
config = {"provider": {"own": backend}, "model": "own/m", "small_model": "own/m", "autoupdate": False, "share": "disabled"}
(WORK / "here").mkdir()
(WORK / "home").mkdir()
(WORK / "here" / "opencode.json").write_text(json.dumps(config))
(WORK / "ready").touch()
server.serve_forever()
PYTHON
python3 "$work/model.py" "$work" &
model=$!
for _ in $(seq 100); do
    [ -e "$work/ready" ] && break
    sleep 0.1
done

run() {
    (cd "$work/here" && env -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME -u XDG_STATE_HOME \
        HOME="$work/home" OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1 \
        timeout 50 "$work/node_modules/.bin/opencode" run "$@" >"$work/log" 2>&1) || { cat "$work/log"; exit 2; }
}
run 'where is it' </dev/null
run where is it </dev/null
echo 'piped words' | run 'he said "no"'
seen=$(cat "$work/said")

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
