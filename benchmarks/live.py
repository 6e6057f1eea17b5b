#!/usr/bin/env python3
"""Start and stop to the frame, through a real PulseAudio: holdfast beside arecord, ffmpeg and parecord, in one run.

  benchmarks/live.py HOLDFAST [--runs N]

A null sink plays a signal that says its own time (timecode.py); each recorder in turn records its monitor for a while and
gets SIGINT. A reference reader of the same monitor tells which played moment had been delivered when. Printed, in ms:
  start  process start to the first sample in the file
  tail   sound delivered before the SIGINT that isn't in the file (under the reference's own block of 10 ms: nothing lost)
  holes  sound missing between the two
Needs numpy, pulseaudio, ffmpeg, alsa-utils. Sends nothing anywhere but to its own private server.
"""
import argparse, os, random, signal, statistics, subprocess, sys, tempfile, threading, time
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import timecode

RC = "pcm.mic { type pulse device mic.monitor }\n"


class Rig:
    def __init__(self, folder):
        self.env = dict(os.environ, HOME=folder, XDG_RUNTIME_DIR=folder, PULSE_SERVER=f"unix:{folder}/pulse/native",
                        ALSA_CONFIG_PATH=f"/usr/share/alsa/alsa.conf:{folder}/rc")
        open(f"{folder}/rc", "w").write(RC)
        self.server = subprocess.Popen(
            ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "-L", "module-native-protocol-unix", "-L",
             "module-null-sink sink_name=mic rate=48000 channels=1 norewinds=1"],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            time.sleep(0.05)
            if subprocess.run(["pactl", "info"], env=self.env, capture_output=True).returncode == 0:
                return
        raise SystemExit("the private PulseAudio doesn't answer")

    def play(self, path):
        return subprocess.Popen(["paplay", "--device=mic", path], env=self.env)

    def stop(self):
        self.server.terminate()
        self.server.wait()


class Reference(threading.Thread):
    """Reads the monitor all the time and notes when which byte came."""

    def __init__(self, env):
        super().__init__(daemon=True)
        self.process = subprocess.Popen(
            ["parec", "--device=mic.monitor", "--format=s16le", "--rate=48000", "--channels=1", "--latency-msec=10", "--raw"],
            env=env, stdout=subprocess.PIPE)
        self.times, self.counts, self.data = [], [], bytearray()
        self.start()

    def run(self):
        while True:
            block = os.read(self.process.stdout.fileno(), 65536)
            if not block:
                return
            self.data += block
            self.times.append(time.monotonic())
            self.counts.append(len(self.data) // 2)

    def map(self):
        """Played sample of every reference sample, by the longest agreement."""
        x = np.frombuffer(bytes(self.data[:len(self.data) // 2 * 2]), np.int16).astype(np.float32) / 32768
        return timecode.decode(x)


def at(segments, sample):
    """Played sample that stands at a recording's sample; the nearest segment's line."""
    best = min(segments, key=lambda s: 0 if s[0] <= sample < s[1] else min(abs(sample - s[0]), abs(sample - s[1])))
    return best[2] + sample - best[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(folder)
        tools = {
            "holdfast": (lambda f: [options.holdfast, "record", "--input", "alsa:mic", "-o", f, "--no-ui"], ".opus"),
            "arecord": (lambda f: ["arecord", "-q", "-D", "mic", "-f", "S16_LE", "-r", "48000", "-c", "1", f], ".wav"),
            "ffmpeg": (lambda f: ["ffmpeg", "-v", "error", "-nostdin", "-f", "alsa", "-ac", "1", "-ar", "48000", "-i", "mic",
                                  "-c:a", "libopus", "-b:a", "32k", f], ".opus"),
            "parecord": (lambda f: ["parecord", "--device=mic.monitor", "--rate=48000", "--channels=1", f], ".wav"),
        }
        seconds = options.runs * len(tools) * 3.5 + 20
        wav = os.path.join(folder, "tc.wav")
        timecode.write_wav(wav, timecode.pcm16(0, int(seconds * 100), False))
        player = rig.play(wav)
        time.sleep(0.5)
        reference = Reference(rig.env)
        time.sleep(0.5)
        runs = []
        try:
            for i in range(options.runs):
                for name, (command, ending) in tools.items():
                    out = os.path.join(folder, f"{name}{i}{ending}")
                    born = time.monotonic()
                    process = subprocess.Popen(command(out), env=rig.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(1.2 + random.random() * 0.4)
                    told = time.monotonic()
                    process.send_signal(signal.SIGINT)
                    process.wait()
                    runs.append((name, out, born, told))
                    time.sleep(0.15)
        finally:
            player.kill()
            reference.process.kill()
            reference.join(2)
            rig.stop()
        segments = reference.map()
        print(f"reference: {len(reference.data) / 96000:.0f} s, {len(segments)} segments")
        figures = {name: [] for name in tools}
        for name, out, born, told in runs:
            x, _, _ = timecode.load(out)
            found = timecode.decode(x)
            if not found:
                print(f"{name}: nothing found in {out}")
                continue
            first, last = found[0][2] - found[0][0], found[-1][2] + len(x) - found[-1][0]
            # When the reference had the first sample, and what it had when the signal was sent.
            k = next(i for i, count in enumerate(reference.counts) if at(segments, count) >= first)
            had = at(segments, max(c for t, c in zip(reference.times, reference.counts) if t <= told))
            holes = sum(max(0, (b[2] - a[2]) - (b[0] - a[0])) for a, b in zip(found, found[1:]))
            figures[name].append(((reference.times[k] - born) * 1000, (had - last) / 48, holes / 48))
        print(f"{'':10}{'runs':>5}{'start median / max':>22}{'tail median / max':>22}{'holes max':>12}")
        for name, rows in figures.items():
            s, t, h = zip(*rows)
            print(f"{name:10}{len(rows):5}{statistics.median(s):14.0f} /{max(s):6.0f}{statistics.median(t):14.1f} /{max(t):6.1f}{max(h):12.1f}")


main()
