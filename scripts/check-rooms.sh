#!/usr/bin/env bash
# The rooms of the source include each other only as the table in docs/architecture.md says: rooms above their own, every arrow
# named, and no arrow named that no include needs. Tests and what is for tests only may include what they like.
#
#   scripts/check-rooms.sh [SOURCE TREE]      prints each include that the table does not allow, and fails then
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# "room<TAB>room it may include", in the order of the table; a room without arrows is a line of its own.
table=$(sed -n 's/^| \[`\([a-z]*\)`\][^|]*|[^|]*|\(.*\)|$/\1\t\2/p' docs/architecture.md | tr -d ' ')
[ -n "$table" ] || { echo "check-rooms: docs/architecture.md has no table of rooms" >&2; exit 2; }
folders=$(find src -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
if [ "$(cut -f 1 <<<"$table" | sort)" != "$folders" ]; then
  echo "check-rooms: the rooms of the table are not the folders of src:"
  diff <(cut -f 1 <<<"$table" | sort) <(echo "$folders") || true
  exit 1
fi

find src -type f \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) | grep -vE '(_test\.cpp|testing[^/]*|/testdata/.*|/testing/.*)$' |
  xargs grep -HoE '^ *# *include "[a-z]+/[^"]+"' | TABLE=$table awk '
  BEGIN {
    rows = split(ENVIRON["TABLE"], row, "\n")
    for (i = 1; i <= rows; ++i) {
      split(row[i], column, "\t")
      place[column[1]] = i
      count = split(column[2], names, ",")
      for (k = 1; k <= count; ++k) {
        allowed[column[1] " " names[k]] = 1
        if (!(names[k] in place) || names[k] == column[1]) { print "the table lets " column[1] " include " names[k] ", which is not above it"; bad = 1 }
      }
    }
  }
  {
    split($0, part, ":")
    split(part[1], from, "/")
    match($0, /"[a-z]+\//)
    to = substr($0, RSTART + 1, RLENGTH - 2)
    if (!(to in place) || to == from[2]) next
    ++arrows[from[2] " " to]
    if (!((from[2] " " to) in allowed)) { print $0; bad = 1 }
  }
  END {
    for (arrow in allowed) if (!(arrow in arrows)) { print "no include needs the arrow: " arrow; bad = 1 }
    for (arrow in arrows) ++total
    if (bad) { print "check-rooms: the table in docs/architecture.md says otherwise"; exit 1 }
    print "check-rooms: " rows " rooms, " total " arrows, all as in docs/architecture.md"
  }'
