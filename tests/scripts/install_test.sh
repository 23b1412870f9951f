#!/usr/bin/env bash
# make install and make uninstall honour PREFIX and DESTDIR, and nothing is left: install_test.sh INSTALL_SCRIPT BUILD_FOLDER
set -euo pipefail
install=$1
build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "install_test: $*" >&2
  exit 1
}
everything_in() { (cd "$1" && find . | LC_ALL=C sort); }

# Into a staging folder, and out of it.
mkdir "$folder/stage"
DESTDIR=$folder/stage "$install" install "$build" /opt/own >/dev/null
for file in bin/fathom share/man/man1/fathom.1 share/man/man1/fathom-record.1 share/bash-completion/completions/fathom \
  share/zsh/site-functions/_fathom share/fish/vendor_completions.d/fathom.fish share/fathom/dashboards/fathom.rules.yml \
  share/doc/fathom/LICENSE; do
  [ -s "$folder/stage/opt/own/$file" ] || fail "$file is missing below DESTDIR and PREFIX"
done
[ -x "$folder/stage/opt/own/bin/fathom" ] || fail "the program is not executable"
DESTDIR=$folder/stage "$install" uninstall /opt/own
[ -z "$(ls -A "$folder/stage")" ] || fail "left behind: $(everything_in "$folder/stage")"

# Into a prefix that others use: their files and folders stay, and also those that share a folder with ours.
mkdir -p "$folder/prefix/bin" "$folder/prefix/share/man/man1"
echo other >"$folder/prefix/share/man/man1/other.1"
before=$(everything_in "$folder/prefix")
"$install" install "$build" "$folder/prefix" >/dev/null
"$install" install "$build" "$folder/prefix" >/dev/null # again, over it
"$folder/prefix/bin/fathom" --version >/dev/null
"$install" uninstall "$folder/prefix"
[ "$(everything_in "$folder/prefix")" = "$before" ] || fail "the prefix is not as it was: $(everything_in "$folder/prefix")"

# A prefix that did not exist is gone again.
"$install" install "$build" "$folder/fresh" >/dev/null
"$install" uninstall "$folder/fresh"
[ ! -e "$folder/fresh" ] || fail "left behind: $(everything_in "$folder/fresh")"

# Readable by all, also where the user's files are not.
(umask 077 && "$install" install "$build" "$folder/private" >/dev/null)
[ -z "$(find "$folder/private" ! -perm -444)" ] || fail "not readable by all: $(find "$folder/private" ! -perm -444)"

# A list that names files elsewhere is not followed.
mkdir -p "$folder/bad/share/fathom"
echo precious >"$folder/precious"
printf '../precious\n' >"$folder/bad/share/fathom/installed"
! "$install" uninstall "$folder/bad" 2>/dev/null || fail "a list with ../ was followed"
[ -e "$folder/precious" ] || fail "a file outside of the prefix was removed"
! "$install" uninstall "$folder/nothing" 2>/dev/null || fail "nothing was installed there, and that was no error"
