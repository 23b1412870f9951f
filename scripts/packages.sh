#!/usr/bin/env bash
# Packs the static program (make packages): a Debian package, an archive for everybody else, an SPDX list of what is inside of the
# program, and SHA-256 sums. All times in them are that of the last commit, so that the same sources make the same bytes.
#
#   scripts/packages.sh BUILD_FOLDER OUTPUT_FOLDER
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC
here=$(realpath "$(dirname "$0")/..")
build=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$here/CHANGELOG.md")}
for program in cpack dpkg-deb gzip jq; do
  command -v $program >/dev/null || { echo "packages: $program is missing" >&2; echo "try: scripts/setup-debian.sh build static" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
DESTDIR=$stage cmake --install "$build" --prefix /usr --component static >/dev/null
documents=$stage/usr/share/doc/fathom

"$here/scripts/spdx.sh" "$build" "$documents/licenses" >"$documents/fathom.spdx"
mv "$documents/LICENSE" "$documents/licenses/fathom"
mv "$documents/LICENSES.page.txt" "$documents/licenses/page-of-fathom-view"
sed "s/@version@/$version/" "$here/packaging/copyright" >"$documents/copyright"

# For everybody else: one folder, in which the program can stay or be copied from.
folder=$work/fathom-$version-x86_64
mkdir -p "$folder"
cp "$stage/usr/bin/fathom" "$build/static/fathom.debug" "$folder/"
cp -R "$documents/." "$folder/"
cp -R "$stage/usr/share/fathom/dashboards" "$folder/dashboards"
mkdir "$folder/man" "$folder/completions"
cp "$stage"/usr/share/man/man1/* "$folder/man/"
(cd "$stage/usr/share" && cp bash-completion/completions/fathom "$folder/completions/fathom.bash" &&
  cp zsh/site-functions/_fathom fish/vendor_completions.d/fathom.fish "$folder/completions/")
sed "s/@version@/$version/" "$here/packaging/INSTALL" >"$folder/INSTALL"

# For Debian: the debug file where debuggers look for it, compressed manual pages.
id=$("$here/scripts/build-id.sh" "$stage/usr/bin/fathom")
install -D -m 644 "$build/static/fathom.debug" "$stage/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
gzip -9n "$stage"/usr/share/man/man1/*.1 "$documents/CHANGELOG.md"
mv "$documents/CHANGELOG.md.gz" "$documents/changelog.gz"

find "$stage" "$folder" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
rm -f "$output"/fathom*
archive=fathom-$version-x86_64.tar.gz
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -cf - "${folder##*/}" |
  gzip -9n >"$output/$archive"
FATHOM_STAGE=$stage cpack -G DEB --config "$here/packaging/cpack.cmake" -D CPACK_PACKAGE_VERSION="$version" -B "$work/cpack" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
cp "$work"/cpack/*.deb "$output/"
cp "$documents/fathom.spdx" "$output/fathom-$version.spdx"
(cd "$output" && sha256sum fathom* >SHA256SUMS && cat SHA256SUMS)
