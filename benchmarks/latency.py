#!/usr/bin/env python3
"""How long a sound takes to become a level event: the moment it reaches the device to the line on the command's pipe.

  benchmarks/latency.py HOLDFAST [--seconds N]

Short steps from silence to sound come at odd moments; the level event whose window holds a step's first sample is what
shows it. Its arrival on the pipe less the step's own moment, both on CLOCK_MONOTONIC, is the latency. Printed in ms,
median and maximum, for
  scripted card   the tests' ALSA device, 10 and 40 ms periods: it says when its frame 0 was; to hold: the median at most one
                  window (33.3 ms) and one period
  PulseAudio      a private server whose microphone is a pipe that this script writes 5 ms at a time; measured, with the
                  server's own latency (PULSE_LATENCY_MSEC unset) and at 10
Ends with 1 where a median of the scripted card is over what it has to hold. Needs numpy, gcc, libasound2-dev, pulseaudio.
"""
import argparse, json, os, signal, statistics, subprocess, sys, tempfile, threading, time
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATE, WINDOW, STEP = 48000, 1600, 2880  # a step sounds for 60 ms


def steps(seconds):
    """Frames at which a step begins: never at the same place of a window, a period or a block twice."""
    at, found = RATE // 2, []
    while at < seconds * RATE:
        found.append(at)
        at += RATE // 4 + 977
    return found


def sound(begins, frames):
    """A square wave: its first sample is already loud."""
    x = np.zeros(frames, np.int16)
    for begin in begins:
        n = np.arange(min(STEP, frames - begin))
        x[begin:begin + len(n)] = np.where(n // 24 % 2 == 0, 16000, -16000)
    return x


class Levels(threading.Thread):
    """Records, and notes when which level event came."""

    def __init__(self, command, env):
        super().__init__(daemon=True)
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.events, self.gaps = [], 0
        self.begun = threading.Event()
        self.start()

    def run(self):
        buffer = b""
        while True:
            block = os.read(self.process.stdout.fileno(), 65536)
            now = time.clock_gettime(time.CLOCK_MONOTONIC)
            if not block:
                return
            *lines, buffer = (buffer + block).split(b"\n")
            for line in lines:
                event = json.loads(line)
                self.gaps += event["event"] == "gap"
                if event["event"] == "level":
                    self.events.append((now, event["db"]))
                    self.begun.set()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.join()

    def onsets(self):
        """When each step was first seen."""
        return [now for (_, before), (now, db) in zip(self.events, self.events[1:]) if db > -60 and before < -90]


def pair(moments, seen, bound=1.0):
    """Latency of every step: the first sight after it, as long as it is its own."""
    found = []
    for moment, following in zip(moments, moments[1:] + [float("inf")]):
        sights = [s for s in seen if moment <= s < min(following, moment + bound)]
        if sights:
            found.append((sights[0] - moment) * 1000)
    return found


def scripted(holdfast, folder, seconds, period):
    library = f"{folder}/libscriptmic.so"
    if not os.path.exists(library):
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-DPIC", "-o", library, f"{ROOT}/Tests/tools/scriptmic/scriptmic.c",
                        "-lasound", "-lm"], check=True)
    begins, log = steps(seconds), f"{folder}/log{period}"
    sound(begins, (seconds + 5) * RATE).tofile(f"{folder}/steps.raw")
    with open(f"{folder}/rc", "w") as file:
        file.write(f'pcm_type.scriptmic {{ lib "{library}" }}\n'
                   f'pcm.mic {{ type scriptmic raw "{folder}/steps.raw" loop 0 log "{log}" }}\n')
    levels = Levels([holdfast, "record", "--input", "alsa:mic", "--period-ms", str(period), "--buffer-ms", "1000", "--json",
                     "-o", f"{folder}/card{period}.opus"], dict(os.environ, ALSA_CONFIG_PATH=f"/usr/share/alsa/alsa.conf:{folder}/rc"))
    levels.begun.wait(10)
    time.sleep(seconds)
    levels.stop()
    epoch = next(float(line.split()[2]) for line in open(log) if line.split()[1] == "epoch")
    return pair([epoch + begin / RATE for begin in begins], levels.onsets()), len(begins), levels.gaps


def pulse(holdfast, folder, seconds, latency):
    home = f"{folder}/pulse{latency}"
    os.mkdir(home, 0o700)
    fifo = f"{home}/microphone"
    env = dict(os.environ, HOME=home, XDG_RUNTIME_DIR=home, PULSE_SERVER=f"unix:{home}/pulse/native",
               ALSA_CONFIG_PATH=f"/usr/share/alsa/alsa.conf:{home}/rc")
    with open(f"{home}/rc", "w") as file:
        file.write("pcm.mic { type pulse device microphone }\n")
    server = subprocess.Popen(
        ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "-L", "module-native-protocol-unix", "-L",
         f"module-pipe-source source_name=microphone file={fifo} format=s16le rate={RATE} channels=1"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            time.sleep(0.05)
            if subprocess.run(["pactl", "info"], env=env, capture_output=True).returncode == 0:
                break
        begins = steps(seconds)
        x, moments, block = sound(begins, (seconds + 2) * RATE), [], RATE // 200
        mouth = os.open(fifo, os.O_WRONLY)
        if latency:
            env["PULSE_LATENCY_MSEC"] = str(latency)
        levels = Levels([holdfast, "record", "--input", "alsa:mic", "--json", "-o", f"{home}/take.opus"], env)
        begun = time.clock_gettime(time.CLOCK_MONOTONIC)
        # A frame is heard at its own moment; the block that holds it is handed over at its end.
        for first in range(0, len(x), block):
            due = begun + (first + block) / RATE
            time.sleep(max(0, due - time.clock_gettime(time.CLOCK_MONOTONIC)))
            os.write(mouth, x[first:first + block].tobytes())
        moments = [begun + begin / RATE for begin in begins]
        levels.stop()
        os.close(mouth)
        return pair(moments, levels.onsets()), len(begins), levels.gaps
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    over = False
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':34}{'steps':>7}{'seen':>6}{'median':>9}{'max':>8}{'to hold':>9}{'gaps':>6}")
        rows = [(f"scripted card, {period} ms periods", scripted, period, WINDOW / 48 + period) for period in (10, 40)]
        rows += [(f"PulseAudio, PULSE_LATENCY_MSEC {latency or '-'}", pulse, latency, None) for latency in (0, 10)]
        for name, measure, argument, bound in rows:
            found, count, gaps = measure(options.holdfast, folder, options.seconds, argument)
            if not found:
                raise SystemExit(f"{name}: no step was seen")
            median = statistics.median(found)
            over |= bound is not None and median > bound
            print(f"{name:34}{count:7}{len(found):6}{median:9.1f}{max(found):8.1f}"
                  f"{f'{bound:.1f}' if bound else '-':>9}{gaps:6}", flush=True)
    sys.exit(over)


main()
