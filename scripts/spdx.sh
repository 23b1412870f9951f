#!/usr/bin/env bash
# Prints what is inside of the static program as an SPDX 2.3 document (tag and value): the archives that the linker took parts of,
# by its map, and the C++ libraries of which headers were compiled in, by the compiler's notes. Names, versions and licences are
# those of the installed Debian packages; nothing is listed here by name but the library that a table is made from.
#
#   scripts/spdx.sh BUILD_FOLDER [LICENSE_FOLDER]     with a folder: the licences are put there as files, too
set -euo pipefail
export LC_ALL=C
here=$(realpath "$(dirname "$0")/..")
build=$(realpath "$1")
licenses=${2:-}
program=$build/static/fathom
map=$build/static/fathom.map
[ -f "$program" ] && [ -f "$map" ] || { echo "spdx: there is no $program" >&2; echo "try: make static" >&2; exit 1; }
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")

# The packages of files. dpkg may know a file below / that is found below /usr.
owners_of() {
  while IFS= read -r file; do
    printf '%s\n%s\n' "$file" "${file#/usr}"
  done | xargs -r -n 200 dpkg-query -S 2>/dev/null | sed 's/: \/.*//; s/,.*//; s/:[a-z0-9]*$//' | sort -u || true
}

linked_files=$(sed -n '/^Archive member included/,/^Discarded input sections/s/^\(\/[^(]*\.a\)(.*/\1/p; s/^LOAD \(\/.*\.o\)$/\1/p' "$map" |
  xargs realpath --quiet | grep -v "^$here/" | sort -u)
# Two libraries are compiled from their source packages (cmake/StaticProgram.cmake), into archives that bear their names.
compiled_libraries=$(sed -n 's/^\(.*\/\)\{0,1\}libfathom_static_\([a-z]*\)\.a(.*/\2/p' "$map" | sort -u)
# Which header each source of the program read; sources of tests are left out.
headers=$(cd "$build" && ninja -t deps 2>/dev/null |
  awk '/^[^ ].*: #deps/ { ours = $1 !~ /_test\.dir|_test_|^tests\/|^bench\/|testing|testdata/ } ours && $1 ~ /^\/usr\/include\/.*/ { print $1 }' | sort -u)
# Headers with code in them, which no archive has: those of C++ libraries. A library may own the other headers of a linked one.
cxx_headers=$(xargs -r grep -lE '^ *(template *<|namespace [a-zA-Z])' <<<"$headers" || true)

linked=$(owners_of <<<"$linked_files")
for library in $compiled_libraries; do
  linked+=$'\n'$(owners_of <<<"$headers" | grep -E "^lib$library[a-z0-9]*-dev$" | head -n 1)
done
header_only=$(owners_of <<<"$cxx_headers" | grep -vxF "$linked" || true)

copyright_of() { # Debian keeps it with the package, or with one of the same source that it depends on
  local package=$1 file=/usr/share/doc/$1/copyright
  [ -f "$file" ] && { realpath "$file"; return; }
  return 1
}

[ -z "$licenses" ] || mkdir -p "$licenses"
cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: fathom-$version
DocumentNamespace: urn:fathom:spdx:$version:$("$here/scripts/build-id.sh" "$program")
Creator: Tool: fathom-scripts/spdx.sh
Created: $(date -u --date="@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$program")}" +%Y-%m-%dT%H:%M:%SZ)

##### The program
PackageName: fathom
SPDXID: SPDXRef-fathom
PackageVersion: $version
PackageFileName: fathom
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageChecksum: SHA256: $(sha256sum <"$program" | cut -d ' ' -f 1)
PackageLicenseConcluded: NOASSERTION
PackageLicenseDeclared: Apache-2.0
PackageCopyrightText: NOASSERTION
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-fathom
END

texts=
describe() { # PACKAGE, RELATIONSHIP, what it means
  local package=$1 relationship=$2 comment=$3 file names
  local id=${package//+/-}
  file=$(copyright_of "$package") || { echo "spdx: $package has no copyright file" >&2; exit 1; }
  names=$(sed -n 's/^License: *\([^ ].*\)$/\1/p' "$file" | sed 's/ *$//' | sort -u | tr '\n' ';' | sed 's/;$//; s/;/; /g')
  cat <<END

##### $package
PackageName: $package
SPDXID: SPDXRef-$id
PackageVersion: $(dpkg-query -W -f='${Version}' "$package")
PackageSupplier: NOASSERTION
PackageOriginator: NOASSERTION
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageSourceInfo: Debian source package $(dpkg-query -W -f='${source:Package} ${source:Version}' "$package")
PackageLicenseConcluded: NOASSERTION
PackageLicenseDeclared: LicenseRef-$id
PackageLicenseComments: <text>$comment Licences of the source package by Debian's names: ${names:-see the text}.</text>
PackageCopyrightText: <text>see LicenseRef-$id</text>
ExternalRef: PACKAGE-MANAGER purl pkg:deb/debian/$(dpkg-query -W -f='${source:Package}@${source:Version}' "$package" | sed 's/+/%2B/g; s/~/%7E/g')?arch=source
Relationship: SPDXRef-fathom $relationship SPDXRef-$id
END
  texts+="$package "
  [ -z "$licenses" ] || cp --no-preserve=mode "$file" "$licenses/$package"
}
for package in $(sort -u <<<"$linked"); do describe "$package" STATIC_LINK "Linked statically."; done
for package in $header_only; do describe "$package" CONTAINS "Compiled in from headers."; done
describe libutf8proc-dev GENERATED_FROM "The widths of characters are taken from it while fathom is built."

# The page of `fathom view` is JavaScript, built from these (web/package-lock.json) and checked in.
jq -r '.packages | to_entries[] | select(.key | test("^node_modules/(@preact/|preact)")) | [.key[13:], .value.version, .value.license] | @tsv' \
  "$here/web/package-lock.json" |
  while IFS=$'\t' read -r name page_version license; do
    id=$(tr -c 'a-zA-Z0-9.\n' - <<<"$name")
    cat <<END

##### $name
PackageName: $name
SPDXID: SPDXRef-npm$id
PackageVersion: $page_version
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageLicenseConcluded: NOASSERTION
PackageLicenseDeclared: $license
PackageCopyrightText: NOASSERTION
ExternalRef: PACKAGE-MANAGER purl pkg:npm/$(sed 's/@/%40/' <<<"$name")@$page_version
Relationship: SPDXRef-fathom CONTAINS SPDXRef-npm$id
END
  done

referred=
for package in $texts; do
  file=$(copyright_of "$package")
  referred+=$(grep -o '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$file" || true)$'\n'
  printf '\nLicenseID: LicenseRef-%s\nLicenseName: as Debian states for %s\nExtractedText: <text>%s</text>\n' \
    "${package//+/-}" "$package" "$(sed 's/<\/\{0,1\}text>//g' "$file")"
done
# The texts that these refer to, which Debian has once for all.
[ -z "$licenses" ] || for file in $(sort -u <<<"$referred"); do
  [ ! -f "$file" ] || cp --no-preserve=mode --dereference "$file" "$licenses/${file##*/}"
done
