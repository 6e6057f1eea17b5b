#!/usr/bin/env python3
"""Holdfast beside what else records Opus here, on the same speech at the same settings, taking turns; and what its parts cost.

  benchmarks/compare.py HOLDFAST BENCHMARKS [--quick] [--results FOLDER]

HOLDFAST is the command, BENCHMARKS the executable HoldfastBenchmarks. Files: a bare libopus loop (bare.c), opusenc, ffmpeg, where
installed. Live, through the scripted card (no sound hardware): the command at 10 and 40 ms periods, `arecord | opusenc`, `ffmpeg -f
alsa`; their CPU by the scheduler's nanoseconds (/proc/PID/task/*/schedstat), which ticks would round away. Then the parts, growth
with length and pauses, recorders side by side, and libopus in a newer version, if --newer names a folder with libopus.so.0.
Prints Markdown; --results writes RESULTS.md and results.json there.
"""
import argparse, glob, json, os, platform, re, resource, shutil, signal, statistics, subprocess, tempfile, time, wave

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)


def cpu_of(command, env=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speech(path, seconds):
    with wave.open(os.path.join(root, "testaudio", "talk.wav")) as source:
        samples = source.readframes(source.getnframes())
    need = seconds * 96000
    samples = (samples * (need // len(samples) + 1))[:need]
    with wave.open(path + ".wav", "wb") as target:
        target.setparams((1, 2, 48000, 0, "NONE", ""))
        target.writeframes(samples)
    with open(path + ".raw", "wb") as target:
        target.write(samples)
    return path + ".wav", path + ".raw"


def schedule(pids):
    """CPU nanoseconds of processes so far, and how often their threads went to sleep."""
    spent = slept = 0
    for pid in pids:
        for task in glob.glob(f"/proc/{pid}/task/*"):
            try:
                spent += int(open(task + "/schedstat").read().split()[0])
                slept += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", open(task + "/status").read(), re.M).group(1))
            except (OSError, AttributeError):
                pass
    return spent, slept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("benchmarks")
    parser.add_argument("--quick", action="store_true", help="under two minutes: shorter, fewer rounds")
    parser.add_argument("--newer", help="a folder with a newer libopus.so.0")
    parser.add_argument("--results", help="where RESULTS.md and results.json go")
    options = parser.parse_args()
    text, data = [], {}

    def say(line=""):
        text.append(line)
        print(line, flush=True)

    def table(title, head, rows):
        say()
        say(f"### {title}")
        say()
        say("| " + " | ".join(head) + " |")
        say("|" + " --- |" * len(head))
        for row in rows:
            say("| " + " | ".join(str(cell) for cell in row) + " |")

    def version(command):
        said = subprocess.run(command, capture_output=True, text=True)
        return (said.stdout + said.stderr).strip().split("\n")[0]

    ours = subprocess.run([options.holdfast, "--version"], capture_output=True, text=True).stdout.replace("\ufffd", "\n").split("\n")
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    data["machine"] = {"processor": model, "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0],
                       "versions": [line.strip() for line in ours if line.strip()]}
    say("## What it costs")
    say()
    say(f"`make bench{' QUICK=1' if options.quick else ''}` on {model}, {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()[0]:.1f} at the "
        "start; " + ", ".join(data["machine"]["versions"]) + ". CPU seconds swing with a shared machine: rivals took turns, medians are shown. "
        "Compare within a table.")

    with tempfile.TemporaryDirectory() as folder:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "opus"], check=True, capture_output=True, text=True).stdout.split()
        bare = os.path.join(folder, "bare")
        subprocess.run(["cc", "-O2", "-o", bare, os.path.join(here, "bare.c"), *flags], check=True)
        take = os.path.join(folder, "o.opus")

        def fresh(path):
            for name in (path, path[:-5] + ".take.json"):
                if os.path.exists(name):
                    os.remove(name)
            return path

        # Files.
        wav, raw = speech(os.path.join(folder, "speech"), 60 if options.quick else 180)
        rivals = {"bare libopus loop": (lambda: [bare, raw], None),
                  "holdfast record": (lambda: [options.holdfast, "record", "--input", "file:" + wav, "-o", fresh(take)], None)}
        if options.newer:
            rivals["holdfast, newer libopus"] = (rivals["holdfast record"][0], dict(os.environ, LD_LIBRARY_PATH=options.newer))
        if shutil.which("opusenc"):
            rivals["opusenc"] = (lambda: ["opusenc", "--quiet", "--speech", "--bitrate", "32", wav, os.path.join(folder, "e.opus")], None)
        if shutil.which("ffmpeg"):
            rivals["ffmpeg"] = (lambda: ["ffmpeg", "-v", "error", "-y", "-i", wav, "-c:a", "libopus", "-b:a", "32k", "-application", "voip",
                                         os.path.join(folder, "f.opus")], None)
        spent = {name: [] for name in rivals}
        for _ in range(3 if options.quick else 7):
            for name, (command, env) in rivals.items():
                spent[name].append(cpu_of(command(), env))
        base = spent["bare libopus loop"]
        rows = []
        for name, values in spent.items():
            ratio = statistics.median(v / b for v, b in zip(values, base))
            rows.append((name, f"{statistics.median(values):.2f}", f"{ratio:.3f}"))
            data.setdefault("files", {})[name] = {"cpu_s": statistics.median(values), "ratio": ratio}
        table(f"{60 if options.quick else 180} s of speech to a file, 32 kb/s, complexity 10", ["", "CPU s", "against the bare loop"], rows)

        # Live.
        card = os.path.join(folder, "card.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-DPIC", "-O2", "-o", card, os.path.join(root, "Tests/tools/scriptmic/scriptmic.c"),
                        "-lasound", "-lm"], check=True)
        with open(os.path.join(folder, "asoundrc"), "w") as file:
            file.write(f'pcm_type.scriptmic {{ lib "{card}" }}\npcm.mic {{ type scriptmic wav "{wav}" script "" }}\n')
        env = dict(os.environ, ALSA_CONFIG_PATH="/usr/share/alsa/alsa.conf:" + folder + "/asoundrc", XDG_DATA_HOME=folder)
        seconds = 8 if options.quick else 30

        def pace():
            """The bare loop at the speed it sounds: a packet each 20 ms, so that a processor that dozes in between counts for all."""
            return [bare, raw, "paced"]
        live = {
            "bare loop, a packet each 20 ms": pace,
            "holdfast, 10 ms periods": lambda: [options.holdfast, "record", "--input", "alsa:mic", "--buffer-ms", "500", "--no-ui", "-o",
                                                fresh(os.path.join(folder, "l10.opus"))],
            "holdfast, 40 ms periods": lambda: [options.holdfast, "record", "--input", "alsa:mic", "--period-ms", "40", "--buffer-ms", "500", "--no-ui",
                                                "-o", fresh(os.path.join(folder, "l40.opus"))]}
        if shutil.which("opusenc") and shutil.which("arecord"):
            live["arecord &#124; opusenc"] = lambda: [
                "sh", "-c", f"arecord -q -D mic -f S16_LE -r 48000 -c 1 -t raw | opusenc --quiet --raw --raw-rate 48000 --raw-chan 1 --speech "
                            f"--bitrate 32 - {folder}/ar.opus"]
        if shutil.which("ffmpeg"):
            live["ffmpeg -f alsa"] = lambda: ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "alsa", "-channels", "1", "-i", "mic", "-c:a",
                                              "libopus", "-b:a", "32k", "-application", "voip", folder + "/fa.opus"]
        found = {}
        for _ in range(1 if options.quick else 3):
            for name, command in live.items():
                child = subprocess.Popen(command(), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         start_new_session=True)
                time.sleep(2)
                pids = [child.pid] + [int(p) for p in subprocess.run(["ps", "-o", "pid=", "--ppid", str(child.pid)], capture_output=True,
                                                                     text=True).stdout.split()]
                (cpu1, slept1), begun = schedule(pids), time.monotonic()
                time.sleep(seconds)
                (cpu2, slept2), length = schedule(pids), time.monotonic() - begun
                memory = sum(int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{p}/status").read()).group(1)) for p in pids
                             if os.path.exists(f"/proc/{p}/status") and "VmRSS" in open(f"/proc/{p}/status").read())
                os.killpg(child.pid, signal.SIGINT)
                child.wait()
                found.setdefault(name, []).append(((cpu2 - cpu1) / 1e7 / length, (slept2 - slept1) / length, memory))
        rows = []
        paced = statistics.median(v[0] for v in found["bare loop, a packet each 20 ms"])
        for name, values in found.items():
            share, wakes, memory = (statistics.median(v[i] for v in values) for i in range(3))
            rows.append((name, f"{share:.2f} %", f"{share - paced:+.2f}", f"{wakes:.0f}", f"{memory / 1024:.1f}"))
            data.setdefault("live", {})[name] = {"percent": share, "above": share - paced, "wakeups": wakes, "rss_kb": memory}
        table(f"Live through the scripted card, {seconds} s", ["", "of a core", "points above the loop", "wake-ups a second", "MB"], rows)

        # Parts.
        def run(*words):
            said = subprocess.run([options.benchmarks, words[0], wav_talk, *map(str, words[1:])], check=True, capture_output=True, text=True)
            return [json.loads(line) for line in said.stdout.splitlines()]
        wav_talk = os.path.join(root, "testaudio", "talk.wav")
        rows = run("stages", 3 if options.quick else 9)
        data["stages"] = rows
        table("Each part alone", ["part", "ns a 48 kHz frame", "of the encoder"],
              [(r["stage"], r["ns_per_frame"], f'{100 * r["share_of_encode"]:.2f} %' if "share_of_encode" in r else "") for r in rows])
        rows = run("length", 1 if options.quick else 8)
        data["length"] = rows
        table("A long take's hours against takes of a minute, without Opus (packets made before), in turns",
              ["hour", "ns a frame", "a minute's", "ratio", "kB grown"],
              [(r["hours"], r["ns_per_frame"], r["ns_per_frame_of_a_minute"], r["ratio"], r["resident_grown_kb"]) for r in rows])
        rows = run("pauses", *([0, 1000] if options.quick else [0, 100, 1000, 10000]))
        data["pauses"] = rows
        table("Ten minutes with pauses, the whole recorder at complexity 0", ["pauses", "ns a frame", "ratio"],
              [(r["pauses"], r["ns_per_frame"], r["ratio"]) for r in rows])
        rows = run("recorders", *([1, 16] if options.quick else [1, 4, 16, 64]))
        data["recorders"] = rows
        table("Recorders side by side in one process, at the speed it sounds", ["recorders", "sealed", "of a core", "each", "most behind, ms", "MB"],
              [(r["recorders"], r["sealed"], f'{r["cpu_percent_of_a_core"]} %', f'{r["percent_each"]} %', r["most_behind_ms"],
                round(r["resident_kb"] / 1024, 1)) for r in rows])
    if options.results:
        with open(os.path.join(options.results, "RESULTS.md"), "w") as file:
            file.write("\n".join(text) + "\n")
        with open(os.path.join(options.results, "results.json"), "w") as file:
            json.dump(data, file, indent=1)
            file.write("\n")


main()
