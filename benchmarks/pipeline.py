#!/usr/bin/env python3
"""The whole pipeline against a bare libopus loop: CPU seconds, interleaved, and instructions under callgrind.

  benchmarks/pipeline.py HOLDFAST [--minutes N] [--rounds N] [--no-callgrind]

Speech from testaudio, repeated. CPU seconds swing with the machine: each round runs the rivals one after another, and
the ratio is the median over the rounds. Instruction counts don't swing; a run of 1 ms is taken off for the start-up.
"""
import argparse, os, re, resource, statistics, subprocess, tempfile, wave

here = os.path.dirname(os.path.abspath(__file__))


def cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(command, folder):
    told = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "cg"), *command],
        check=True, capture_output=True, text=True).stderr
    return int(re.search(r"refs:\s+([\d,]+)", told).group(1).replace(",", ""))


def speech(path, seconds):
    with wave.open(os.path.join(here, "..", "testaudio", "talk.wav")) as source:
        assert source.getparams()[:3] == (1, 2, 48000)
        samples = source.readframes(source.getnframes())
    need = seconds * 48000 * 2
    samples = (samples * (need // len(samples) + 1))[:need]
    with wave.open(path + ".wav", "wb") as target:
        target.setparams((1, 2, 48000, 0, "NONE", ""))
        target.writeframes(samples)
    with open(path + ".raw", "wb") as target:
        target.write(samples)
    return path + ".wav", path + ".raw"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("--minutes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-callgrind", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bare = os.path.join(folder, "bare")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "opus"], check=True, capture_output=True, text=True)
        subprocess.run(["cc", "-O2", "-o", bare, os.path.join(here, "bare.c"), *flags.stdout.split()], check=True)
        take = os.path.join(folder, "o.opus")

        def record(source, *more):
            for name in (take, take[:-5] + ".take.json"):
                if os.path.exists(name):
                    os.remove(name)
            return [options.holdfast, "record", "--input", source, "-o", take, *more]

        wav, raw = speech(os.path.join(folder, "speech"), options.minutes * 60)
        ratios = []
        for _ in range(options.rounds):
            rival = cpu([bare, raw])
            ours = cpu(record("file:" + wav))
            ratios.append(ours / rival)
            print(f"bare {rival:.2f} s, holdfast {ours:.2f} s, ratio {ratios[-1]:.3f}")
        print(f"CPU seconds: median ratio {statistics.median(ratios):.3f} over {options.rounds} rounds (to hold: 1.03)")
        if options.no_callgrind:
            return
        wav, raw = speech(os.path.join(folder, "short"), 20)
        rival = instructions([bare, raw], folder)
        start = instructions(record("file:" + wav, "--max-ms", "1"), folder)
        ours = instructions(record("file:" + wav), folder)
        print(f"instructions for 20 s: bare {rival / 1e6:.0f} M, holdfast {ours / 1e6:.0f} M of which start-up "
              f"{start / 1e6:.0f} M: ratio {(ours - start) / rival:.3f}")


main()
