#!/usr/bin/env bash
# Updates the outputs in docs/guides: scripts/guides.sh build/release ANVIL [GUIDE ...]
#
# Runs each block of commands ("```sh") that is followed by a block of output ("```text N") and writes what they printed there, at
# most N lines of it. The text around them is written by hand: read it again afterwards. ANVIL is the program in the npm package
# @foundry-rs/anvil-linux-amd64. It runs under a JSON-RPC load on 127.0.0.1, for the guide to containers in a container of podman.
# Needs root, gcc, curl, python3, podman, and a machine that does little else; takes five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rpc-calls.sh
usage="usage: scripts/guides.sh BUILD_FOLDER ANVIL [GUIDE ...]"
build=$(realpath "${1:?$usage}")
anvil=$(realpath "${2:?$usage}")
shift 2
[ "$(id -u)" = 0 ] || { echo "guides: needs root" >&2; exit 2; }
guides=$PWD/docs/guides
folder=$(mktemp -d)
started=()
cleanup() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  [ ! -e "$folder/podman.sh" ] || (. "$folder/podman.sh" && podman rm --all --force >/dev/null 2>&1) || true
  wait
  umount -R -l "$folder/storage/overlay" 2>/dev/null || true
  umount -R -l "$folder/storage/overlay" 2>/dev/null || true # mounted over itself
  rm -rf --one-file-system "$folder"
}
trap cleanup EXIT
mkdir "$folder/bin"
cp "$build/static/fathom" "$anvil" "$folder/bin"
cat >"$folder/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
chmod +x "$folder/bin/sudo"
export PATH=$folder/bin:$PATH COLUMNS=100
cd "$folder"
cp "$guides/words.c" .

write_rpc_calls calls.json

# load ADDRESS: requests until it is killed, two at a time
load() {
  local i
  for i in 1 2; do
    while post_rpc_calls calls.json "$1"; do sleep 0.02; done &
    started+=($!)
  done
}

node_on_this_machine() {
  local port=$((20000 + RANDOM % 10000))
  ("$folder/bin/anvil" --host 127.0.0.1 --port "$port" --silent) &
  started+=($!)
  sleep 3
  load "http://127.0.0.1:$port"
  sleep 15
}

# A container with the node, its libraries, and nothing else.
node_in_a_container() {
  mkdir image
  ldd "$anvil" | grep -o '/[^ ]*' | while read -r library; do cp --parents -L "$library" image; done
  cp "$anvil" image/anvil
  printf 'FROM scratch\nCOPY . /\nENTRYPOINT ["/anvil", "--host", "127.0.0.1", "--silent"]\n' >image/Containerfile
  {
    printf '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
    ! command -v runc >/dev/null || printf '[engine]\nruntime = "runc"\n'
  } >containers.conf
  printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/storage"\nrunroot = "%s/run"\n' "$folder" "$folder" >storage.conf
  echo "export CONTAINERS_CONF=$folder/containers.conf CONTAINERS_STORAGE_CONF=$folder/storage.conf" >podman.sh
  . ./podman.sh
  podman build --quiet --tag localhost/anvil image >/dev/null
  # In a storage of its own it is found by its number only.
  container=$(podman run --detach --name op-reth-seq --network=host --stop-signal=KILL localhost/anvil | cut -c1-12)
  sleep 3
  load http://127.0.0.1:8545
  sleep 15
}

# blocks FILE: writes the commands of each block with output to N.commands, and the greatest number of lines to N.lines
blocks() {
  rm -f -- *.commands *.lines
  awk '
    /^```sh$/ { n++; file = n ".commands"; in_commands = 1; next }
    /^```text [0-9]+$/ && after { print $2 > (n ".lines") }
    /^```/ { if (in_commands) { in_commands = 0; after = 1; next } }
    in_commands { print > file; next }
    /./ { after = 0 }' "$1"
}

# with_outputs FILE: the guide with the new outputs in it
with_outputs() {
  awk '
    /^```sh$/ { n++ }
    skipping && /^```$/ { skipping = 0 }
    !skipping { print }
    /^```text [0-9]+$/ {
      while ((getline line < (n ".output")) > 0) print line
      skipping = 1
    }' "$1"
}

for guide in ${*:-reth-memory cpu-waits-heap neard production ci containers-memory}; do
  case $guide in
    containers-memory) node_in_a_container ;;
    ci) ;;
    *) [ -n "${node:-}" ] || { node=yes && node_on_this_machine; } ;;
  esac
  blocks "$guides/$guide.md"
  for lines in $(ls -- *.lines | sort -n); do
    n=${lines%.lines}
    bash <(sed "s/op-reth-seq/${container:-op-reth-seq}/g" "$n.commands") >"$n.all" 2>&1 </dev/null || true
    head -n "$(cat "$lines")" "$n.all" | sed "s|$folder/bin|/usr/local/bin|g; s|${container:-op-reth-seq}[0-9a-f]*|op-reth-seq|g" >"$n.output"
    [ "$(wc -l <"$n.all")" -le "$(cat "$lines")" ] || echo "..." >>"$n.output"
    echo "$guide, block $n: $(wc -l <"$n.all") lines"
  done
  with_outputs "$guides/$guide.md" >guide.md
  cat guide.md >"$guides/$guide.md"
done
