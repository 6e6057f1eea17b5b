#!/usr/bin/env python3
"""Records a take and shows what a front end would: examples/watch.py HOLDFAST [record options…]

Reads the events of `holdfast record --json`, one JSON object a line; ctrl-C stops the take, which is sealed all the same.
"""
import json, signal, subprocess, sys

recorder = subprocess.Popen([sys.argv[1], "record", "--json", *sys.argv[2:]], stdout=subprocess.PIPE, text=True)
signal.signal(signal.SIGINT, lambda *_: recorder.send_signal(signal.SIGINT))
for line in recorder.stdout:
    event = json.loads(line)
    kind = event["event"]
    if kind == "level":
        seconds = event["effective_ms"] // 1000
        bars = "".join(" ▁▂▃▄▅▆▇█"[round(8 * height)] for height in event["bars"])
        print(f"\r{seconds // 60:02}:{seconds % 60:02} {event['db']:7.1f} dB {bars}", end="", flush=True)
    elif kind == "sealed":
        print(f"\n{event['path']}: {event['duration_ms']} ms, {event['pause_count']} pauses, sha256 {event['sha256']}")
    elif kind != "state":
        print(f"\n{event}")
sys.exit(recorder.wait())
