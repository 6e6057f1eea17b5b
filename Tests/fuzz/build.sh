#!/bin/bash
# build.sh OUTPUT: the fuzzers, with AddressSanitizer and coverage, beside the package's own build: SwiftPM can't link them.
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$1 work=$1.build
mkdir -p "$work"
libraries="opus ogg sndfile samplerate libcrypto libebur128 alsa"
flags=()
for flag in $(pkg-config --cflags $libraries); do flags+=(-Xcc "$flag"); done
for folder in Sources/C*/; do
  if [ -f "$folder/module.modulemap" ]; then flags+=(-Xcc "-fmodule-map-file=$PWD/${folder}module.modulemap"); fi
done
common=(-O -wmo -swift-version 6 -parse-as-library -package-name holdfast -sanitize=fuzzer,address -I "$work" "${flags[@]}")
objects=()
for module in Platform Session Signal Encoding Capture Store Holdfast; do
  mapfile -t sources < <(find "Sources/$module" -name '*.swift' | sort)
  object=$work/$module.o
  objects+=("$object")
  # Where one is made anew, so are those that come behind it.
  if [ -z "${anew:-}" ] && [ -f "$object" ] && [ -z "$(find "Sources/$module" -name '*.swift' -newer "$object")" ]; then continue; fi
  anew=yes
  swiftc "${common[@]}" -module-name "$module" -emit-module -emit-module-path "$work/$module.swiftmodule" -c "${sources[@]}" -o "$object"
done
swiftc "${common[@]}" -module-name Fuzz -c Tests/fuzz/Fuzz.swift Sources/HoldfastCommand/Table/*.swift -o "$work/Fuzz.o"
swiftc -sanitize=fuzzer,address "${objects[@]}" "$work/Fuzz.o" $(pkg-config --libs $libraries) -ldl -o "$output"
