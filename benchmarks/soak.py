#!/usr/bin/env python3
"""Records for an hour through the scripted card, with a fault a minute, then accounts for every frame.

  benchmarks/soak.py HOLDFAST [--minutes M] [--every S] [--seed N] [--folder DIR]

The card hears a time-coded signal: any 60 ms of the take name the moment they come from. Every fault is one of: an overrun, a late
device, a suspend, an unplug, errors of reads, short reads, zeros. Every part of the
take then has to be sound that the card played, in order and unbroken, and the parts may only be apart where the manifest tells a
gap or an interruption. Resident memory of the process' own (the card maps its file), descriptors and threads are read every 5 s: the last third may
not lie above the second by more than 2 MB, one descriptor, one thread. `opusinfo`, `verify` and the decoded length judge too.
Ends with 0 where all of it holds. Needs gcc, libasound2-dev, python3-numpy, ffmpeg, opus-tools.
"""
import argparse, json, os, random, shutil, signal, statistics, subprocess, sys, tempfile, time, wave

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy, takes, timecode

FAULTS = ["xrun", "xrun 2400", "suspend 700", "suspend 2500", "unplug 1500", "unplug 6000", "stall 80", "stall 900",
          "err EIO 3", "err EPIPE 3", "err ESTRPIPE 1", "short 7 20", "mute 300"]
NEAR = 60  # ms between where a joint is heard and where the manifest has it: the code is six slots long


def play(path, seconds):
    with wave.open(path, "wb") as out:
        out.setnchannels(1), out.setsampwidth(2), out.setframerate(timecode.FS)
        for first in range(0, seconds * 100, 6000):
            out.writeframes(timecode.pcm16(first, min(6000, seconds * 100 - first), False))


def state(pid):
    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status") if ":" in line)
    return int(status["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])


def heard(path):
    """What the take holds, a minute at a time: (recording frame, frames, played frame), joined where nothing is between them."""
    raw = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-ar", "48000", "-"], stdout=subprocess.PIPE)
    base, before, parts, total = 0, numpy.zeros(0, "<f4"), [], 0
    while True:
        block = raw.stdout.read(48_000 * 60 * 4)
        total += len(block) // 4
        samples = numpy.concatenate([before, numpy.frombuffer(block, "<f4")])
        for a, b, played in timecode.decode(samples):
            parts.append((base + a, b - a, played))
        if not block:
            break
        before = samples[-24_000:]  # the code is looked for across the border too
        base += len(samples) - len(before)
    raw.wait()
    # What two minutes both heard counts once; a shift below a slot can't be placed, and is left to `account`.
    lines = []
    for at, count, played in sorted(parts):
        twice = max(0, lines[-1][0] + lines[-1][1] - at) if lines else 0
        at, count, played = at + twice, count - twice, played + twice
        if count <= 0:
            continue
        if lines and at - lines[-1][0] - lines[-1][1] <= 480 and abs((played - at) - (lines[-1][2] - lines[-1][0])) <= 48:
            lines[-1][1] = at + count - lines[-1][0]
        else:
            lines.append([at, count, played])
    return lines, total


def account(lines, total, manifest, mutes):
    """What doesn't add up; `mutes` are stretches of zeros that the card played."""
    wrong = []
    told = sorted([(g["at_ms"], g["length_ms"], "gap") for g in manifest["gaps"]] + [(i["at_ms"], 0, i["reason"]) for i in manifest["interruptions"]])
    frames = manifest["effective_frames"]
    if total != frames:
        wrong.append(f"{total} frames decode, {frames} are told")
    if any(b[2] < a[2] + a[1] - 480 for a, b in zip(lines, lines[1:])):
        wrong.append("sound is there twice, or out of order")
    for a, b in zip(lines, lines[1:]):
        end, start = (a[0] + a[1]) / 48, b[0] / 48
        # The decoder averages shifts of less than a slot over a part: those may lie anywhere in both.
        if abs((b[2] - b[0]) - (a[2] - a[0])) < timecode.SLOT:
            end, start = a[0] / 48, (b[0] + b[1]) / 48
        if not any(end - NEAR <= at <= start + NEAR for at, _, _ in told) and not any(x <= start and end <= x + ms for x, ms in mutes):
            wrong.append(f"a joint at {end:.0f}-{start:.0f} ms that nothing tells")
    # Where neither silence stands for something nor a joint is told all of the take is sound.
    quiet = [(at, at + length) for at, length, _ in told] + [(at, at + ms) for at, ms in mutes]
    for a, b in zip([[0, 0, 0]] + lines, lines + [[frames, 0, 0]]):
        end, start = (a[0] + a[1]) / 48, b[0] / 48
        hole = start - end - sum(max(0, min(start, y) - max(end, x)) for x, y in quiet)
        if hole > 2 * NEAR:
            wrong.append(f"{hole:.0f} ms at {end:.0f} ms are no sound that was played")
    return wrong, told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("holdfast"), parser.add_argument("--folder")
    parser.add_argument("--minutes", type=float, default=60), parser.add_argument("--every", type=float, default=60), parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="holdfast-soak-")
    os.makedirs(folder, exist_ok=True)
    seconds, chance = int(options.minutes * 60), random.Random(options.seed)
    play(folder + "/signal.wav", seconds + 30)
    plan, at = [], options.every / 2
    while at < seconds - 15:
        # Every kind once before any comes again.
        plan += [(round(at + chance.uniform(0, options.every / 4), 3), FAULTS[len(plan) % len(FAULTS)])]
        at += options.every
    environment = takes.card(folder, takes.tool("scriptmic", folder, "-lasound", "-lm"), folder + "/signal.wav",
                             f'log "{folder}/card" script "' + "; ".join(f"{at} {what}" for at, what in plan) + '"')
    path = folder + "/soak.opus"
    with open(folder + "/events", "w") as events, open(folder + "/said", "w") as said:
        process = subprocess.Popen([os.path.abspath(options.holdfast), "record", "--input", "alsa:mic", "--max-ms", "0", "--json", "--no-ui", "-o", path],
                                   env=dict(os.environ, **environment), stdin=subprocess.DEVNULL, stdout=events, stderr=said)
        rows, end = [], time.monotonic() + seconds
        while time.monotonic() < end and process.poll() is None:
            time.sleep(min(5, max(0.1, end - time.monotonic())))
            if process.poll() is None:
                rows.append(state(process.pid))
        process.send_signal(signal.SIGINT)
        code = process.wait()
    wrong = [] if code == 0 else [f"it ended with {code}: {open(folder + '/said').read()}"]
    for line in open(folder + "/events"):
        json.loads(line)
    manifest = takes.manifest(path.replace(".opus", ".take.json"))
    lines, total = heard(path)
    # Behind zeros the decoder is back after some votes of its own.
    played = lambda s: next((at + s * 48_000 - p for at, n, p in lines if p <= s * 48_000 < p + n + 48_000), s * 48_000) / 48
    mutes = [(played(at) - NEAR, float(what.split()[1]) + 5 * NEAR) for at, what in plan if what.startswith("mute")]
    more, told = account(lines, total, manifest, mutes)
    wrong += more
    if takes.opusinfo_warns(path):
        wrong.append("opusinfo: " + takes.opusinfo_warns(path))
    verified, _, text = takes.holdfast(options.holdfast, "verify", path)
    if verified:
        wrong.append(f"verify: {verified} {text}")
    third = len(rows) // 3
    names, slack = ["resident kB", "descriptors", "threads"], [2_048, 1, 1]
    for index, name in enumerate(names):
        middle, last = (statistics.median(row[index] for row in part) for part in (rows[third:2 * third], rows[2 * third:]))
        print(f"{name}: {rows[0][index]} at first, {middle:.0f} in the second third, {last:.0f} in the last, {max(row[index] for row in rows)} at most")
        if last > middle + slack[index]:
            wrong.append(f"{name} grew from {middle:.0f} to {last:.0f}")
    kinds = {}
    for _, _, kind in told:
        kinds[kind] = kinds.get(kind, 0) + 1
    sound = sum(n for _, n, _ in lines) / 48_000
    print(f"{len(plan)} faults in {seconds} s; told: {kinds}; {total} frames, {len(lines)} unbroken parts, {sound:.1f} s of them sound that was played; load {os.getloadavg()[0]:.1f}")
    for what in wrong:
        print("FAILED", what)
    if not options.folder and not wrong:
        shutil.rmtree(folder)
    elif wrong:
        print("it stands in", folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
