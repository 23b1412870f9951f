#!/usr/bin/env bash
# Makes a container image of the static program: scripts/image.sh FATHOM [NAME]. With podman, or docker where there is no podman.
set -euo pipefail
here=$(realpath "$(dirname "$0")/..")
fathom=$1
name=${2:-localhost/fathom}
for tool in podman docker; do
  command -v $tool >/dev/null && break
  tool=
done
[ -n "$tool" ] || { echo "image: neither podman nor docker is here" >&2; echo "try: apt-get install podman" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -m 755 "$fathom" "$folder/fathom"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$here/CHANGELOG.md")}
touch --date="@$epoch" "$folder/fathom"
options=()
[ $tool = docker ] || options=(--timestamp "$epoch")
$tool build "${options[@]}" --tag "$name:$("$fathom" --version | sed -n '1s/^fathom \([^ ]*\).*/\1/p')" --tag "$name:latest" \
  --file "$here/packaging/Containerfile" "$folder"
