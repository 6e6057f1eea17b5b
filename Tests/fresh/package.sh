#!/usr/bin/env bash
# Proves the Debian packages on a new machine: a bare Debian 12 in a folder (debootstrap), no Swift, no compiler, no file of this
# repository but the three packages, a clip, the C example and this script. It installs, records, kills, recovers, inspects, plays,
# exports, verifies, compiles examples/recorder.c, and takes all away again; nothing may be left.
#   sudo Tests/fresh/package.sh [FOLDER]     the packages of `make deb`; default .build/deb
# Needs root, debootstrap, 1 GB under ${TMPDIR:-/tmp} and this machine's own Debian mirror. KEEP=1 leaves the folder and says where.
set -euo pipefail
script=$(realpath "$0")

if [ "${1:-}" = --inside ]; then # in the new system
  step() { echo "package: $*"; }
  fail() { echo "package: FAILED: $*" >&2; exit 1; }
  cd /work
  export DEBIAN_FRONTEND=noninteractive XDG_DATA_HOME=/work/data
  command -v swift gcc cc clang >/dev/null && fail "there is a toolchain here"
  apt-get update -qq
  before=$(find / -xdev \( -path /proc -o -path /work -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o -name '*holdfast*' -print)
  [ -z "$before" ] || fail "there already: $before"

  step "apt-get install of holdfast alone"
  apt-get install -y -qq --no-install-recommends ./holdfast_*.deb >/dev/null
  holdfast --version
  if ldd /usr/bin/holdfast | grep -E 'swift|not found'; then fail "that should be inside, or a dependency"; fi

  step "a tone, and a clip"
  holdfast record --input tone:440,-20 --max-ms 2000 -o tone.opus
  holdfast record --input file:talk.wav -o talk.opus
  holdfast inspect talk.opus
  holdfast inspect tone.opus talk.opus

  step "a kill, and the recovery"
  holdfast record --input file:talk.wav --realtime -o crash.opus --no-ui &
  recorder=$!
  sleep 4
  kill -9 $recorder
  wait $recorder || true
  holdfast list .
  holdfast recover crash.opus
  [ "$(holdfast inspect --json crash.opus | grep -o '"duration_ms":[0-9]*' | cut -d: -f2)" -gt 3000 ] || fail "too much is lost"

  step "playing into ALSA's file device"
  printf 'pcm.out { type file slave.pcm null file /work/heard.raw format raw }\n' >asound.conf
  ALSA_CONFIG_PATH=/usr/share/alsa/alsa.conf:/work/asound.conf holdfast play talk.opus --from 00:01 --to 00:03 --output alsa:out
  [ "$(stat -c %s heard.raw)" -ge 192000 ] || fail "2 s of 48 kHz have 192 000 bytes, heard were $(stat -c %s heard.raw)"

  step "exports"
  holdfast export talk.opus --from 00:02.500 --to 00:05 -o clip.opus
  holdfast export talk.opus -o talk.flac
  holdfast inspect clip.opus talk.flac

  step "verify"
  holdfast verify tone.opus talk.opus crash.opus
  holdfast devices

  step "the C library, with a compiler: examples/recorder.c"
  apt-get install -y -qq --no-install-recommends ./libholdfast0_*.deb ./libholdfast-dev_*.deb gcc libc6-dev pkg-config >/dev/null
  gcc -std=c99 -Wall -Wextra -Werror -o recorder recorder.c $(pkg-config --cflags --libs holdfast)
  mkdir c
  ./recorder c tone:440 1500 >events
  grep -q '"event":"sealed"' events || fail "the example sealed nothing"
  holdfast verify c/*.opus

  step "the manual page and the completions are where they are looked for"
  ls /usr/share/man/man1/holdfast.1.gz /usr/share/bash-completion/completions/holdfast >/dev/null 2>&1 ||
    dpkg -L holdfast | grep -q man1/holdfast.1.gz || fail "no manual page"
  dpkg -L holdfast libholdfast0 libholdfast-dev | grep -E 'holdfast|completion' | sort -u

  step "apt-get purge"
  apt-get purge -y -qq holdfast libholdfast0 libholdfast-dev >/dev/null
  after=$(find / -xdev \( -path /proc -o -path /work -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o -name '*holdfast*' -print)
  [ -z "$after" ] || fail "left behind: $after"
  ldconfig -p | grep -q holdfast && fail "the linker still knows it"
  step "done: nothing is left"
  exit 0
fi

repo=$(cd "$(dirname "$0")/../.." && pwd)
packages=$(realpath "${1:-$repo/.build/deb}")
[ "$(id -u)" -eq 0 ] || { echo "package: needs root (sudo $0)" >&2; exit 77; }
ls "$packages"/{holdfast,libholdfast0,libholdfast-dev}_*.deb >/dev/null || { echo "package: no packages in $packages; make deb" >&2; exit 66; }
command -v debootstrap >/dev/null || "$repo/scripts/need" debootstrap

. "$repo/Tests/fresh/bare.sh"
bare_namespace package "$script" "$packages"

echo "package: make install and make uninstall, into a folder"
make -s -C "$repo" install DESTDIR="$FRESH_ROOT/installed" PREFIX=/opt/holdfast >"$FRESH_ROOT/install.log" 2>&1 || { cat "$FRESH_ROOT/install.log" >&2; exit 1; }
"$FRESH_ROOT/installed/opt/holdfast/bin/holdfast" --version | head -1
[ "$(find "$FRESH_ROOT/installed" ! -type d | wc -l)" -eq 10 ] || { echo "package: FAILED: not what was to be installed" >&2; exit 1; }
make -s -C "$repo" uninstall DESTDIR="$FRESH_ROOT/installed" PREFIX=/opt/holdfast >/dev/null
left=$(find "$FRESH_ROOT/installed" ! -type d)
[ -z "$left" ] || { echo "package: FAILED: make uninstall leaves $left" >&2; exit 1; }

bare_debian package ca-certificates
cp "$packages"/*.deb "$repo/testaudio/talk.wav" "$repo/examples/recorder.c" "$script" "$root/work/"
in_root bash /work/package.sh --inside
