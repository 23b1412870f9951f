#!/usr/bin/env bash
# fathom without a processor (make stub-arch): what needs one is refused in words, and all that reads recordings works.
#
#   scripts/check-stub.sh FATHOM
set -uo pipefail
fathom=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
# expect STATUS TEXT COMMAND...: checks its exit status and output.
expect() {
  local status=$1 text=$2 said
  shift 2
  said=$("$@" 2>&1 </dev/null)
  local got=$?
  if [ $got -ne "$status" ] || ! grep -qF -- "$text" <<<"$said"; then
    printf 'check-stub: %s\n  ended with %d instead of %d, or did not say "%s":\n%s\n' "$*" $got "$status" "$text" "$said"
    failures=$((failures + 1))
  fi
}

expect 1 "fathom knows too little of this processor" "$fathom" record --cpu -o "$folder/cpu.fathom" -- true
expect 1 "fathom knows too little of this processor" "$fathom" record --heap=exact -o "$folder/heap.fathom" -- true
expect 4 "machines cannot be profiled yet" "$fathom" doctor
expect 0 "CPU" "$fathom" report src/model/store/testdata/version_1_7.fathom
expect 0 "<svg" "$fathom" flamegraph src/model/store/testdata/version_1_7.fathom -o -

[ -z "$(ls -A "$folder")" ] || { echo "check-stub: a recording was left behind"; failures=$((failures + 1)); }
[ $failures -eq 0 ] || exit 1
echo "check-stub: what needs a processor is refused in words, and recordings are read"
