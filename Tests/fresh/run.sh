#!/usr/bin/env bash
# Proves that `make record` and `make test` are enough on a new machine: makes a bare Debian 12 in a folder (debootstrap), with make
# and nothing else, binds the Swift toolchain into it read-only, clones the last commit of this repository and runs the two commands.
#   sudo Tests/fresh/run.sh [COMMAND...]        other commands than the two, each one argument
# Needs root, debootstrap, 8 GB under ${TMPDIR:-/tmp} and this machine's own Debian mirror: its apt settings are copied when it runs.
# SWIFT_ROOT=/opt/swift is the toolchain; KEEP=1 leaves the folder and says where. All mounts live in a mount namespace of their own
# and go with it, however this script ends (unshare itself ignores TERM, so it is killed).
set -euo pipefail
repo=$(cd "$(dirname "$0")/../.." && pwd)
swift=${SWIFT_ROOT:-/opt/swift}
commands=("$@")
[ $# -gt 0 ] || commands=("make record" "make test")
[ "$(id -u)" -eq 0 ] || { echo "fresh: needs root (sudo $0)" >&2; exit 77; }
command -v debootstrap >/dev/null || "$repo/scripts/need" debootstrap
[ -x "$swift/usr/bin/swift" ] || { echo "fresh: no Swift in $swift; say SWIFT_ROOT=folder" >&2; exit 66; }

if [ -z "${FRESH_ROOT:-}" ]; then  # outside: makes the folder, enters a mount namespace, removes the folder afterwards
  FRESH_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-fresh.XXXXXX")
  export FRESH_ROOT
  cleanup() {
    if [ -n "${KEEP:-}" ]; then echo "fresh: kept in $FRESH_ROOT"; return; fi
    if grep -q " $FRESH_ROOT/" /proc/mounts; then echo "fresh: still mounted below $FRESH_ROOT, left alone" >&2; return; fi
    rm -rf --one-file-system -- "$FRESH_ROOT"
  }
  trap cleanup EXIT
  unshare --mount --pid --fork --kill-child --propagation private -- "$0" "${commands[@]}" &
  inner=$!
  trap 'kill -KILL "$inner" 2>/dev/null; wait "$inner" || true; exit 130' INT TERM HUP
  code=0
  wait "$inner" || code=$?
  exit $code
fi

root=$FRESH_ROOT/root
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true LANG=C.UTF-8 "$@" </dev/null; }

# The mirror: whatever apt asks here for bookworm's base.
mirror=$(apt-get indextargets --format '$(REPO_URI)|$(CODENAME)|$(RELEASE)' 'Created-By: Packages' |
  awk -F'|' '$2 == "bookworm" || $3 == "bookworm" { print $1; exit }')
[ -n "$mirror" ] || { echo "fresh: apt knows no bookworm here" >&2; exit 69; }
echo "fresh: a bare Debian 12 in $root"
debootstrap --variant=minbase --include=make,ca-certificates bookworm "$root" "$mirror" >"$FRESH_ROOT/debootstrap.log" 2>&1 ||
  { tail -5 "$FRESH_ROOT/debootstrap.log" >&2; exit 69; }

# This machine's way to its packages, without what it knows of passwords.
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
mkdir -p "$root/etc/apt/sources.list.d" "$root/etc/apt/apt.conf.d" "$root/etc/apt/keyrings"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.list; do
  [ -e "$file" ] && grep -q bookworm "$file" && cp "$file" "$root$file"
done
apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|Max-)' >"$root/etc/apt/apt.conf.d/90-as-outside" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
[ -d /usr/local/share/ca-certificates ] && cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" && in_root update-ca-certificates >/dev/null 2>&1

mkdir -p "$root/opt/swift" "$root/work"
mount --bind "$swift" "$root/opt/swift"
mount -o remount,bind,ro "$root/opt/swift"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
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
