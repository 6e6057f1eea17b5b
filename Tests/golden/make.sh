#!/usr/bin/env bash
# Makes the golden takes of one format version: Tests/golden/make.sh HOLDFAST FOLDER. They are made once, when a version
# of the format is new, and never again: every later version of the program must read them as they are.
set -euo pipefail
holdfast=$1 out=$2
audio=$(cd "$(dirname "$0")/../../testaudio" && pwd)
mkdir -p "$out" && cd "$out"
# Two pauses, a mark, a limit, a context.
"$holdfast" record --input "file:$audio/talk.wav" --realtime -o pauses.opus --take-id golden-pauses --session golden --round 1 \
  --min-valid-ms 20000 --no-ui & pid=$!
for signal in USR1 USR1 USR2 USR1 USR1 INT; do sleep 0.6; kill -$signal $pid; done
wait $pid
"$holdfast" record --input "file:$audio/talk.wav" --max-ms 3210 -o limit.opus --take-id golden-limit
"$holdfast" record --input - -o empty.opus --take-id golden-empty </dev/null
"$holdfast" record --input "file:$audio/dialogue_44100_stereo.wav" --channel mix --max-ms 2000 -o mix.opus --take-id golden-mix
"$holdfast" record --input "file:$audio/bad_floats.wav" -o faults.opus --take-id golden-faults
# Killed: a partial take, as it lay on the disk.
"$holdfast" record --input "file:$audio/talk.wav" --realtime -o killed.opus --take-id golden-killed --no-ui & pid=$!
sleep 2.3; kill -USR1 $pid; sleep 0.3; kill -USR1 $pid; sleep 0.5; kill -KILL $pid
wait $pid || true
rm killed.opus.partial/reserve  # 64 KiB of nothing
for f in *.opus killed.opus; do "$holdfast" inspect --json "$f" || true; done >inspect.ndjson
