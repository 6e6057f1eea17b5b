#!/usr/bin/env bash
# Proves that `make record` and `make test` are enough on a new machine: makes a bare Debian 12 in a folder (debootstrap), with make
# and nothing else, binds the Swift toolchain into it read-only, clones the last commit of this repository and runs the two commands.
#   sudo Tests/fresh/run.sh [COMMAND...]        other commands than the two, each one argument
# Needs root, debootstrap, 8 GB under ${TMPDIR:-/tmp} and this machine's own Debian mirror: its apt settings are copied when it runs.
# SWIFT_ROOT=/opt/swift is the toolchain; KEEP=1 leaves the folder and says where.
set -euo pipefail
repo=$(cd "$(dirname "$0")/../.." && pwd)
swift=${SWIFT_ROOT:-/opt/swift}
commands=("$@")
[ $# -gt 0 ] || commands=("make record" "make test")
[ "$(id -u)" -eq 0 ] || { echo "fresh: needs root (sudo $0)" >&2; exit 77; }
command -v debootstrap >/dev/null || "$repo/scripts/need" debootstrap
[ -x "$swift/usr/bin/swift" ] || { echo "fresh: no Swift in $swift; say SWIFT_ROOT=folder" >&2; exit 66; }

. "$repo/Tests/fresh/bare.sh"
bare_namespace fresh "$(realpath "$0")" "${commands[@]}"
bare_debian fresh make,ca-certificates

mkdir -p "$root/opt/swift"
mount --bind "$swift" "$root/opt/swift"
mount -o remount,bind,ro "$root/opt/swift"
git clone -q --no-hardlinks "$repo" "$root/work/holdfast"
git -C "$root/work/holdfast" remote remove origin
echo "fresh: $(in_root dpkg-query -W -f '${Package}\n' | wc -l) packages, commit $(git -C "$repo" rev-parse --short HEAD)"

worst=0
results=()
for command in "${commands[@]}"; do
  echo "fresh: \$ $command"
  start=$SECONDS code=0
  in_root bash -c "cd /work/holdfast && $command" || code=$?
  results+=("fresh: '$command' ended with $code after $((SECONDS - start)) s")
  [ $code -eq 0 ] || worst=1
done
printf '%s\n' "${results[@]}"
in_root bash -c 'cd /work/holdfast && git status --porcelain' 2>/dev/null | sed 's/^/fresh: left in the work tree: /'
exit $worst
