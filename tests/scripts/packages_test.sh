#!/usr/bin/env bash
# make packages: what is in the packages, and that the same program gives the same bytes: packages_test.sh SCRIPTS BUILD_FOLDER
set -euo pipefail
scripts=$1
build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "packages_test: $*" >&2
  exit 1
}
has() { # TEXT FILE
  grep -qF -- "$1" "$2" || fail "'$1' is not in: $(head -n 60 "$2")"
}

"$scripts/packages.sh" "$build" "$folder/first" >/dev/null
sleep 1.1 # so that a time that slips in is another one
(umask 027 && "$scripts/packages.sh" "$build" "$folder/second" >/dev/null)
diff -r "$folder/first" "$folder/second" || fail "built twice, they differ"
(cd "$folder/first" && sha256sum --quiet -c SHA256SUMS) || fail "the sums are not those of the files"

# The Debian package: no dependency, who owns the files, and what is inside.
deb=$(echo "$folder"/first/fathom_*_amd64.deb)
dpkg-deb --info "$deb" >"$folder/info"
has "Recommends: debuginfod" "$folder/info"
! grep -q "Depends:" "$folder/info" || fail "it depends on another package"
dpkg-deb --contents "$deb" >"$folder/contents"
for file in usr/bin/fathom usr/share/man/man1/fathom.1.gz usr/share/man/man1/fathom-record.1.gz usr/share/bash-completion/completions/fathom \
  usr/share/fathom/dashboards/fathom-memory.json usr/share/doc/fathom/copyright usr/share/doc/fathom/licenses/fathom \
  usr/share/doc/fathom/licenses/libc6-dev usr/share/doc/fathom/licenses/LGPL-2.1 usr/share/doc/fathom/fathom.spdx usr/lib/debug/.build-id/; do
  has "./$file" "$folder/contents"
done
! grep -qv ' root/root ' "$folder/contents" || fail "files of others: $(grep -v ' root/root ' "$folder/contents")"
dpkg-deb --extract "$deb" "$folder/tree"
cmp "$folder/tree/usr/bin/fathom" "$build/static/fathom" || fail "the program is another one"
id=$("$scripts/build-id.sh" "$folder/tree/usr/bin/fathom")
[ -s "$folder/tree/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] || fail "the debug file is not found by the build id"
gzip -dc "$folder/tree/usr/share/man/man1/fathom-record.1.gz" | head -n 1 | grep -q '^\.TH' || fail "no manual page"
(cd "$folder/tree" && dpkg-deb --control "$deb" "$folder/control" && md5sum --quiet -c "$folder/control/md5sums") || fail "md5sums"

# The archive: one folder, with the same program and its debug file next to it.
tar -xzf "$folder"/first/fathom-*.tar.gz -C "$folder"
top=$(echo "$folder"/fathom-*-x86_64)
cmp "$top/fathom" "$build/static/fathom" || fail "the program is another one"
"$top/fathom" --version >/dev/null || fail "it does not run"
cmp "$top/fathom.debug" "$build/static/fathom.debug"
for file in INSTALL copyright licenses/fathom fathom.spdx man/fathom.1 completions/fathom.bash dashboards/fathom.rules.yml; do
  [ -s "$top/$file" ] || fail "$file is not in the archive"
done

# The list: each library with the version that is installed here, and its licence.
list=$(echo "$folder"/first/fathom-*.spdx)
for package in libc6-dev libdw-dev libelf-dev libbpf-dev zlib1g-dev libzstd-dev libzydis-dev libfmt-dev libiberty-dev libutf8proc-dev libcli11-dev \
  nlohmann-json3-dev; do
  has "PackageName: $package" "$list"
  has "PackageVersion: $(dpkg-query -W -f='${Version}' "$package")" "$list"
  has "PackageLicenseDeclared: LicenseRef-$package" "$list"
  has "LicenseID: LicenseRef-$package" "$list"
  [ -s "$top/licenses/$package" ] || fail "the licence of $package is missing"
done
! grep -q "PackageName: lib\(gtest\|gmock\|benchmark\)-dev" "$list" || fail "a library of the tests is listed"
has "PackageName: preact" "$list"
has "$(sha256sum <"$top/fathom" | cut -d ' ' -f 1)" "$list"
