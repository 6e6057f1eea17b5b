#!/usr/bin/env python3
"""Instructions of the whole pipeline, and of a bare libopus loop beside it, for a fixed clip: the figures that don't depend on the
machine's mood.

  benchmarks/instructions.py HOLDFAST [--seconds N] [--check | --store]

Under callgrind. A run of 1 ms is taken off for the start-up. `instructions.json` keeps what they were; --check exits with 1 where
what is ours (less the loop's own, which libopus and the processor's kind decide) makes the whole grow by more than 3 %; --store
writes the new ones.
"""
import argparse, json, os, re, subprocess, sys, tempfile, wave

here = os.path.dirname(os.path.abspath(__file__))
stored = os.path.join(here, "instructions.json")


def instructions(command, folder):
    told = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "cg"), *command],
        capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"{command[0]} ended with {told.returncode} under valgrind: {told.stderr[-500:]}")
    return int(re.search(r"refs:\s+([\d,]+)", told.stderr).group(1).replace(",", ""))


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
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--store", action="store_true")
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
            return [options.holdfast, "record", "--input", source, "-o", take, "--no-ui", *more]

        wav, raw = speech(os.path.join(folder, "clip"), options.seconds)
        rival = instructions([bare, raw], folder)
        start = instructions(record("file:" + wav, "--max-ms", "1"), folder)
        ours = instructions(record("file:" + wav), folder) - start
    ratio = ours / rival
    print(f"instructions for {options.seconds} s of speech: bare loop {rival / 1e6:.1f} M, holdfast {ours / 1e6:.1f} M (start-up {start / 1e6:.1f} M "
          f"more): ratio {ratio:.4f} (to hold: 1.03)")
    if options.store:
        with open(stored, "w") as file:
            json.dump({"seconds": options.seconds, "bare": rival, "holdfast": ours, "start": start, "ratio": round(ratio, 4)}, file, indent=1)
            file.write("\n")
    elif options.check:
        with open(stored) as file:
            before = json.load(file)
        growth = ratio / before["ratio"] - 1
        print(f"stored {before['ratio']:.4f}: {100 * growth:+.2f} %")
        if growth > 0.03:
            sys.exit("the pipeline costs over 3 % more than it did: benchmarks/instructions.json says what that was; --store where it has to be")


main()
