#!/usr/bin/env bash
# Sends recordings twice to today's ClickHouse, which the Python package chdb has as a library, and reads them: all sums must be those of
# the recordings. It stands behind an HTTP server on loopback that does no more than fathom asks for.
#
#   scripts/chdb-sums.sh FATHOM RECORDING...     needs: pip install chdb
set -euo pipefail
fathom=$(realpath "$1")
shift
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT

cat >"$folder/server.py" <<'P'
import gzip, http.server, os, re, sys, urllib.parse
import chdb.session
folder = sys.argv[1]
database = chdb.session.Session(folder + "/data")

def insert(sql, rows):
    table, columns = re.fullmatch(r"INSERT INTO (\S+) \((.*)\) FORMAT RowBinary", sql).groups()
    described = database.query(f"DESCRIBE TABLE {table} FORMAT TSV").bytes().decode()
    types = dict(line.split("\t")[:2] for line in described.splitlines())
    structure = ", ".join(f"{name} {types[name]}" for name in columns.split(", "))
    with open(folder + "/rows", "wb") as file: file.write(rows)
    database.query(f"INSERT INTO {table} ({columns}) SELECT * FROM file('{folder}/rows', RowBinary, '{structure}')")
    return b""

def ask(sql):
    form = re.search(r" FORMAT (\w+)$", sql)
    return database.query(sql[:form.start()] if form else sql, form[1] if form else "TSV").bytes() or b""

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip": body = gzip.decompress(body)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query")
        try:
            answer, status = insert(query[0], body) if query else ask(body.decode()), 200
        except Exception as error:
            answer, status = str(error).encode(), 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

listener = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(folder + "/ready.part", "w") as file:
    file.write(f"{listener.server_address[1]} {ask('SELECT version()').decode().strip()}\n")
os.rename(folder + "/ready.part", folder + "/ready")
listener.serve_forever()
P
python3 "$folder/server.py" "$folder" &
server=$!
for _ in $(seq 600); do
  [ ! -e "$folder/ready" ] || break
  kill -0 "$server" || { server=; echo "chdb-sums: the server did not start; try: pip install chdb" >&2; exit 1; }
  sleep 0.1
done
read -r port version <"$folder/ready"
database=clickhouse://127.0.0.1:$port/default

# Of folded stacks: whole samples, or whole microseconds, rounded by stack.
sum_of() { "$fathom" export "$1" --to folded --metric "$2" -o - | awk '{sum += $NF} END {print sum + 0}'; }
failures=0
check() { # WHAT GOT WANT MOST_AWAY
  echo "ClickHouse $version, $1: $2, recordings: $3"
  [ $(($2 > $3 ? $2 - $3 : $3 - $2)) -le "$4" ] || failures=$((failures + 1))
}
cpu=0 waits=0 host=0
for recording in "$@"; do
  host=$((host + 1))
  for _ in 1 2; do "$fathom" push "$database" "$recording" --service s --host "host$host"; done
  one=$(sum_of "$recording" cpu)
  check "samples of host$host" "$(sum_of "$database?service=s&host=host$host" cpu)" "$one" 0
  cpu=$((cpu + one))
  waits=$((waits + $(sum_of "$recording" off-cpu)))
done
check "samples of all" "$(sum_of "$database?service=s" cpu)" "$cpu" 0
check "microseconds of waits" "$(sum_of "$database?service=s" off-cpu)" "$waits" 1000
[ $failures = 0 ] || { echo "chdb-sums: $failures sums differ" >&2; exit 1; }
