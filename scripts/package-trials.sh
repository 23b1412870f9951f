#!/usr/bin/env bash
# Installs the Debian package in Debian 11, 12 and 13 as debootstrap makes them, uses it, purges it, and compares what is left with
# what was there before: scripts/package-trials.sh PACKAGE.deb [PLACE...]
set -uo pipefail
deb=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")/..")
places=("$@")
[ ${#places[@]} -gt 0 ] || places=(debian11 debian12 debian13)
. "$here/scripts/trials/roots.sh"
[ "$(id -u)" = 0 ] || { echo "package-trials: needs root, to change roots" >&2; exit 2; }
if [ "${FATHOM_TRIAL_INSIDE:-}" != yes ]; then
  make_trial_roots "${places[@]}" || exit 1
  FATHOM_TRIAL_INSIDE=yes exec unshare --mount --propagation private "$0" "$deb" "${places[@]}"
fi
work=$(mktemp -d)
trap 'umount -R -l "$work"/root.* 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
files_in() { # without what dpkg writes down about itself
  (cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./var/lib/dpkg -o -path ./var/log \) -prune -o -print | sort)
}
failures=0
for place in "${places[@]}"; do
  root=$work/root.$place
  mount_trial_root "$place" "$root" || exit 2
  files_in "$root" >"$work/before"
  cp "$deb" "$root/fathom.deb"
  run() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$root" "$@" >"$work/said" 2>&1 || { echo "$place: $*"; tail -n 15 "$work/said"; return 1; }; }
  run dpkg --install /fathom.deb && run fathom --version && run fathom doctor && cat "$work/said" >/dev/null &&
    run fathom record -o /root/a.fathom -- perl -e 'for (1 .. 3e6) { $x .= chr($_ % 64) }' && run fathom report /root/a.fathom &&
    grep -q Perl_ "$work/said" && run dpkg --verify fathom && run dpkg --purge fathom || failures=$((failures + 1))
  rm -rf "$root/fathom.deb" "$root/root/a.fathom" "$root/root/.cache"
  files_in "$root" >"$work/after"
  if diff "$work/before" "$work/after"; then echo "$place: installed, used, purged; nothing is left"; else failures=$((failures + 1)); fi
done
[ $failures -eq 0 ]
