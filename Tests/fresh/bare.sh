# For the scripts beside it: a bare Debian 12 in a folder, in mount and process namespaces of their own.   . bare.sh

# bare_namespace NAME SCRIPT ARGUMENT...: outside, makes $FRESH_ROOT, runs the script again inside the namespaces, and exits with its code;
# inside it returns at once. All mounts go with the namespace, however the script ends (unshare itself ignores TERM, so it is killed).
bare_namespace() {
  [ -z "${FRESH_ROOT:-}" ] || return 0
  local name=$1 inner code=0
  shift
  FRESH_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-$name.XXXXXX")
  export FRESH_ROOT
  trap 'bare_cleanup '"$name" EXIT
  unshare --mount --pid --fork --kill-child --propagation private -- "$@" &
  inner=$!
  trap 'kill -KILL '"$inner"' 2>/dev/null; wait '"$inner"' || true; exit 130' INT TERM HUP
  wait "$inner" || code=$?
  exit $code
}
bare_cleanup() {
  if [ -n "${KEEP:-}" ]; then echo "$1: kept in $FRESH_ROOT"; return; fi
  if grep -q " $FRESH_ROOT/" /proc/mounts; then echo "$1: still mounted below $FRESH_ROOT, left alone" >&2; return; fi
  rm -rf --one-file-system -- "$FRESH_ROOT"
}

# bare_debian NAME PACKAGES: debootstrap's smallest system with some packages (a,b) into $root, and this machine's way to its packages,
# without what it knows of passwords.
bare_debian() {
  local mirror file
  root=$FRESH_ROOT/root
  mirror=$(apt-get indextargets --format '$(REPO_URI)|$(CODENAME)|$(RELEASE)' 'Created-By: Packages' |
    awk -F'|' '$2 == "bookworm" || $3 == "bookworm" { print $1; exit }')
  [ -n "$mirror" ] || { echo "$1: apt knows no bookworm here" >&2; exit 69; }
  echo "$1: a bare Debian 12 in $root"
  debootstrap --variant=minbase --include="$2" bookworm "$root" "$mirror" >"$FRESH_ROOT/debootstrap.log" 2>&1 ||
    { tail -5 "$FRESH_ROOT/debootstrap.log" >&2; exit 69; }
  rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
  mkdir -p "$root/etc/apt/sources.list.d" "$root/etc/apt/apt.conf.d" "$root/etc/apt/keyrings" "$root/work"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] && grep -q bookworm "$file" && cp "$file" "$root$file"
  done
  apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|Max-)' >"$root/etc/apt/apt.conf.d/90-as-outside" || true
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  if [ -d /usr/local/share/ca-certificates ]; then
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    in_root update-ca-certificates >/dev/null 2>&1
  fi
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
}
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true LANG=C.UTF-8 "$@" </dev/null; }
