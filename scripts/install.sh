#!/usr/bin/env bash
# Installs what a build folder has, and removes it again. DESTDIR, where it is set, stands before PREFIX.
#
#   scripts/install.sh install BUILD_FOLDER PREFIX
#   scripts/install.sh uninstall PREFIX
#
# PREFIX/share/fathom/installed lists what was installed: files, and folders that were made for them (these end in `/`), so that
# uninstalling needs no build folder and leaves folders alone that were there before.
set -euo pipefail
umask 022
give_up() {
  printf 'install: %s\ntry: %s\n' "$1" "$2" >&2
  exit 1
}
[ $# -ge 2 ] || give_up "too few arguments" "scripts/install.sh install build/release /usr/local"
action=$1
shift
prefix=${*: -1}
[[ $prefix = /* ]] || give_up "PREFIX is no absolute path: $prefix" "PREFIX=/usr/local"
list=share/fathom/installed

remove_all() { # what the list of an installation has, then the list; folders last, the deepest first
  local top=$1 entry
  [ -f "$top/$list" ] || return 0
  while IFS= read -r entry; do
    case $entry in
      *..* | /*) give_up "$top/$list names a file elsewhere: $entry" "remove the files by hand" ;;
    esac
  done <"$top/$list"
  while IFS= read -r entry; do
    [[ $entry = */ ]] || rm -f -- "$top/$entry"
  done <"$top/$list"
  local folders
  folders=$(grep '/$' "$top/$list" | sort -r || true)
  rm -f -- "$top/$list"
  while IFS= read -r entry; do
    [ -z "$entry" ] || rmdir --ignore-fail-on-non-empty -- "$top/${entry#./}" 2>/dev/null || true
  done <<<"$folders"
}

top=${DESTDIR:-}$prefix
case $action in
  install)
    build=$1
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    DESTDIR=$stage cmake --install "$build" --prefix "$prefix" --component program >/dev/null
    # Folders that an earlier installation made are still ours.
    made=$( (grep '/$' "$top/$list" 2>/dev/null || true))
    remove_all "$top"
    mkdir -p "$stage$prefix/share/fathom"
    [ -d "$top" ] || made+=$'\n./'
    (cd "$stage$prefix" && find . -type d -printf '%P/\n' | sed 's|^/$|./|' | LC_ALL=C sort) |
      while IFS= read -r folder; do
        if [ ! -d "$top/$folder" ]; then echo "$folder"; elif grep -qxF -- "$folder" <<<"$made"; then echo "$folder"; fi
      done >"$stage/list"
    (cd "$stage$prefix" && find . -type f -printf '%P\n' | LC_ALL=C sort) >>"$stage/list"
    mv "$stage/list" "$stage$prefix/$list"
    mkdir -p "$top"
    cp -R --no-preserve=ownership "$stage$prefix/." "$top/"
    echo "installed $(grep -cv '/$' "$top/$list") files below $top; make uninstall removes them"
    ;;
  uninstall)
    [ -f "$top/$list" ] || give_up "nothing was installed below $top" "make uninstall with the PREFIX and DESTDIR of make install"
    remove_all "$top"
    # A staging folder loses what it was given; elsewhere PREFIX goes where it was made.
    folder=$prefix
    while [ -n "${DESTDIR:-}" ] && [ "$folder" != / ]; do
      [ ! -d "$DESTDIR$folder" ] || rmdir --ignore-fail-on-non-empty -- "$DESTDIR$folder"
      folder=$(dirname "$folder")
    done
    ;;
  *) give_up "unknown action '$action'" "install or uninstall" ;;
esac
