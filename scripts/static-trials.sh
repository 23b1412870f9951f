#!/usr/bin/env bash
# Tries the static program where fathom has nothing of its own: in Debian 11, 12 and 13 as debootstrap makes them, in a root with
# nothing but /proc, /sys and /dev, and as a child of PID 1 in a container without a libc. In each: record, report, flamegraph, the
# heap of a dynamic and of a static target, names by the reader of names, view as a file and served, tui.
#
#   scripts/static-trials.sh FATHOM [PLACE...]      places: debian11 debian12 debian13 empty container; default: all
#
# Needs root, debootstrap and a Debian mirror (scripts/trials/roots.sh); the roots are kept below build/roots.
set -uo pipefail
fathom=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")/..")
places=("$@")
[ ${#places[@]} -gt 0 ] || places=(debian11 debian12 debian13 empty container)
. "$here/scripts/trials/roots.sh"
[ "$(id -u)" = 0 ] || { echo "static-trials: needs root, to change roots" >&2; exit 2; }

# In mounts of its own, so that whatever happens nothing stays mounted.
if [ "${FATHOM_TRIAL_INSIDE:-}" != yes ]; then
  make_trial_roots "${places[@]}" || exit 1
  FATHOM_TRIAL_INSIDE=yes exec unshare --mount --propagation private "$0" "$fathom" "${places[@]}"
fi

work=$(mktemp -d)
targets=()
cleanup() {
  [ ${#targets[@]} -eq 0 ] || kill -9 "${targets[@]}"
  wait
  umount -R -l "$work"/root.*
  rm -rf --one-file-system "$work"
}
trap 'cleanup 2>/dev/null' EXIT
gcc -O1 -g -static "$here/scripts/trials/target.c" -o "$work/target" &&
  gcc -O1 -static "$here/scripts/trials/pivot.c" -o "$work/pivot" || exit 2

failures=0
check() { # NAME COMMAND...: a line of the result
  local name=$1 said
  shift
  if said=$("$@" 2>&1); then
    printf '%-10s good    %s\n' "$place" "$name"
  else
    printf '%-10s FAILED  %s\n%s\n' "$place" "$name" "$(tail -n 15 <<<"$said")"
    failures=$((failures + 1))
  fi
}

run() { env -i "${enter[@]}" "$@"; } # in the root of the place, without an environment

holds() { # TEXT COMMAND...: it succeeds, and its output has the text
  local text=$1 said
  shift
  said=$("$@" 2>&1) || { printf '%s\n' "$said"; return 1; }
  grep -qF -- "$text" <<<"$said" || { printf 'does not say "%s":\n%s\n' "$text" "$said"; return 1; }
}

# The page that `view` serves, fetched through loopback at the address that it prints.
served() { # FILE
  local url port path viewer
  env -i "${enter[@]}" /fathom view "$1" --no-open >"$work/address" 2>/dev/null &
  viewer=$!
  for _ in $(seq 100); do
    read -r url <"$work/address" && break
    sleep 0.1
  done
  port=${url#http://127.0.0.1:} path=/${url#http://*/}
  exec 9<>"/dev/tcp/127.0.0.1/${port%%/*}" || { kill "$viewer"; return 1; }
  printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$path" "${port%%/*}" >&9
  timeout 20 cat <&9 >"$work/answer"
  exec 9>&-
  kill "$viewer"
  wait "$viewer"
  head -c 500 "$work/answer"
  head -n 1 "$work/answer" | grep -qa ' 200 ' && [ "$(wc -c <"$work/answer")" -gt 50000 ]
}

# In a pseudo-terminal of which no database knows; left as soon as the name is on the screen.
browsed() { # FILE
  : >"$work/screen"
  until_shown() {
    for _ in $(seq 200); do
      grep -qa spin_here "$work/screen" && break
      sleep 0.1
    done
    printf q
    sleep 1
  }
  until_shown | TERM=unknown-to-all timeout 40 script -qfec "${enter[*]} /fathom tui $1" /dev/null >"$work/screen"
  grep -qa spin_here "$work/screen" || { head -c 500 "$work/screen"; return 1; }
}

trial() { # PID of a static target, PID of a dynamic one, a function of the latter
  local static=$1 dynamic=$2 name=$3
  check "--version: needs no shared library" holds "needs no shared library" run /fathom --version
  check "doctor" run /fathom doctor
  check "record a static target" run /fathom record -p "$static" -d 2 -o /trial/cpu.fathom
  check "report names its function" holds spin_here run /fathom report /trial/cpu.fathom
  check "flamegraph names it too" holds spin_here run /fathom flamegraph /trial/cpu.fathom -o -
  check "record a dynamic target" run /fathom record -p "$dynamic" -d 2 -o /trial/dynamic.fathom
  check "report names its function" holds "$name" run /fathom report /trial/dynamic.fathom
  check "heap of the static target" run /fathom record --heap=exact -p "$static" -d 2 -o /trial/heap.fathom
  check "report names who allocates" holds keep_block run /fathom report /trial/heap.fathom --metric heap-live
  check "heap of the dynamic target" run /fathom record --heap=exact -p "$dynamic" -d 2 -o /trial/dynamic-heap.fathom
  check "report names who allocates" holds "$name" run /fathom report /trial/dynamic-heap.fathom --metric heap-allocated
  check "both targets live on" kill -0 "$static" "$dynamic"
  check "a command that fathom launches" run /fathom record -o /trial/launched.fathom -- /fathom --version
  check "view as one file" run /fathom view /trial/cpu.fathom --html /trial/page.html
  check "which is a whole page" grep -q '</html>' "$root/trial/page.html"
  check "view as a served page" served /trial/cpu.fathom
  check "tui without a terminal database" browsed /trial/cpu.fathom
}

allocate_in_perl='my @kept; for (my $i = 0;; ++$i) { my %h = map { $_ => "x" x 100 } 1 .. 2000; push @kept, \%h if $i < 500; select(undef, undef, undef, 0.001) }'

for place in "${places[@]}"; do
  if [ "$place" = container ] && [ $$ != 1 ]; then
    FATHOM_TRIAL_INSIDE=yes unshare --pid --fork --mount-proc "$0" "$fathom" container || failures=$((failures + 1))
    continue
  fi
  root=$work/root.$place
  mount_trial_root "$place" "$root" || exit 2
  mkdir "$root/trial"
  enter=(/usr/sbin/chroot "$root")
  [ "$place" = container ] && enter=(/usr/bin/unshare --mount --propagation private "$work/pivot" "$root")
  own_root=/ # of the dynamic target
  [ -z "$(trial_suite "$place")" ] || own_root=$root
  cp "$fathom" "$root/fathom"
  "$work/target" &
  static=$!
  chroot "$own_root" /usr/bin/perl -e "$allocate_in_perl" &
  dynamic=$!
  targets+=("$static" "$dynamic")
  sleep 0.5
  trial "$static" "$dynamic" Perl_
done

[ $failures -eq 0 ] || exit 1
echo "static-trials: all good in ${places[*]}"
