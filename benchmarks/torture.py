#!/usr/bin/env python3
"""Kills a recorder, at random instants and at every call to the disk, recovers, and judges what is left.

  benchmarks/torture.py HOLDFAST [--kills N] [--only kills|calls|recovery] [--seconds S] [--seed N] [--folder DIR] [--step N]

kills     SIGKILL at N random instants of a live take, through alsa-lib, of a card that tells its own clock (scriptmic) and
          hears a time-coded signal. A fifth of them while paused, or after a pause. Lost is what the card had captured at
          the instant behind the kill (not what had been read of it), less what `holdfast recover` saves. On a machine that
          has more to do than it can, a recorder's own threads wait for the processor; --fifo takes that out of the figures.
calls     SIGKILL before and behind every call to the disk of a 3 s take, its sealing with it; and writes torn in two.
recovery  `holdfast recover` killed before and behind each of its own calls, and run again: the same bytes.

Every saved take has to be whole (its own reader, `opusinfo` without a warning, `holdfast verify`), and to hold the first
packets of the same signal's undisturbed take. Needs numpy, ffmpeg, opus-tools, gcc, libasound2-dev.
"""
import argparse, concurrent.futures, json, os, random, shutil, signal, statistics, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import takes, timecode

FADE = 240  # frames
ID = "torture"


class Bench:
    def __init__(self, options, folder):
        self.holdfast, self.folder = os.path.abspath(options.holdfast), folder
        self.card = takes.tool("scriptmic", folder, "-lasound", "-lm")
        self.faults = takes.tool("faultdisk", folder)
        self.step = options.step
        self.failures = []

    def signal(self, seconds):
        """A time-coded WAV and its undisturbed take."""
        wav = f"{self.folder}/signal{seconds:g}.wav"
        timecode.write_wav(wav, timecode.pcm16(0, int(seconds * 100), False))
        path = wav.replace(".wav", ".opus")
        if not os.path.exists(path):  # two parts of a run have the same length
            code, _, text = takes.holdfast(self.holdfast, "record", "--input", "file:" + wav, "--take-id", ID, "-o", path)
            if code:
                raise SystemExit(f"the reference take: {text}")
        return wav, takes.Take(path)

    def fail(self, where, what):
        self.failures.append((where, what))
        print(f"FAILED {where}: {what}", flush=True)

    def whole(self, path, reference):
        """A saved take that is as it has to be, or a ValueError."""
        take = takes.Take(path)
        same = sum(1 for _ in iter_same(take.packets, reference.packets))
        if take.frames > 0 and same < len(take.packets):
            raise ValueError(f"differs: packet {same} of {len(take.packets)} isn't the undisturbed take's")
        warns = takes.opusinfo_warns(path)
        if warns:
            raise ValueError("opusinfo: " + warns)
        code, _, text = takes.holdfast(self.holdfast, "verify", path)
        if code:
            raise ValueError(f"verify says {code}: {text}")
        return take


def iter_same(a, b):
    for x, y in zip(a, b):
        if x != y:
            return
        yield x


# ---- SIGKILL at random instants ----
def kill_run(bench, wav, index, plan):
    folder = f"{bench.folder}/kill{index}"
    os.mkdir(folder)
    counter = folder + "/counter"
    open(counter, "wb").write(bytes(4096))
    env = dict(os.environ, **takes.card(folder, bench.card, wav, f'counter "{counter}" log "{folder}/card"'))
    at = lambda: struct.unpack("<dd", open(counter, "rb").read(16))
    with open(folder + "/events", "wb") as events, open(folder + "/said", "wb") as said:
        born = time.monotonic()
        process = subprocess.Popen([*bench.before, bench.holdfast, "record", "--input", "alsa:mic", "--json", "--no-ui", "--take-id", ID, "-o", folder + "/take.opus"],
                                   env=env, stdin=subprocess.DEVNULL, stdout=events, stderr=said)
        while at()[0] == 0 and process.poll() is None and time.monotonic() < born + 20:
            time.sleep(0.002)
        epoch = at()[0]
        for offset in plan["signals"]:
            time.sleep(max(0, epoch + offset - time.monotonic()))
            process.send_signal(signal.SIGUSR1)
        time.sleep(max(0, epoch + plan["kill"] - time.monotonic()))
        before = time.monotonic()
        process.kill()
        after = time.monotonic()
        code = process.wait()
    return dict(plan, index=index, folder=folder, epoch=epoch, before=before, after=after, read=at()[1], code=code)


def captured(records, position):
    """Effective frames of a take when its device was at a position."""
    effective, capture, closed = 0, 0, False
    for kind, c, e, _ in records:
        if kind == "pause":
            effective, closed = e + FADE, True
        elif kind == "resume":
            effective, capture, closed = e, c, False
    return effective if closed else effective + max(0, position - capture)


def kill_check(bench, reference, run):
    """What became of a killed take: a row of figures, or a ValueError."""
    folder, path = run["folder"], run["folder"] + "/take.opus"
    if run["code"] != -signal.SIGKILL:
        raise ValueError(f"ended by itself: {run['code']} {open(folder + '/said').read()}")
    position = (run["after"] - run["epoch"]) * takes.RATE
    code, lines, text = takes.holdfast(bench.holdfast, "recover", "--json", folder)
    if code:
        raise ValueError(f"recover says {code}: {lines} {text}")
    if not lines:
        left = [n for n in os.listdir(folder) if n not in ("asoundrc", "card", "counter", "events", "said")]
        if left:
            raise ValueError(f"nothing recovered, and {left} left")
        return dict(lost=position / 48, kind="before the take", told=0, packets=0)
    story = takes.manifest(folder + "/take.take.json")
    records = story["records"]
    take = takes.Take(path)
    lost = (captured(records, position) - take.frames) / 48
    gates = [r for r in records if r[0] in ("pause", "resume")]
    gaps = [r for r in records if r[0] == "gap"]
    if not gates and not gaps:
        bench.whole(path, reference)
    else:
        untouched = min(r[2] for r in gates + gaps)
        same = sum(1 for _ in iter_same(take.packets, reference.packets))
        if same < min(len(take.packets), (untouched + takes.PRE_SKIP) // takes.PACKET - 1):
            raise ValueError(f"differs: packet {same}, before the first pause")
        warns = takes.opusinfo_warns(path)
        if warns:
            raise ValueError("opusinfo: " + warns)
        code, _, text = takes.holdfast(bench.holdfast, "verify", path)
        if code:
            raise ValueError(f"verify says {code}: {text}")
    if not take.is_cut and take.frames:
        raise ValueError("doesn't end on a packet")
    listen(path, take, gates)
    kind = "gap" if gaps else "paused" if gates and gates[-1][0] == "pause" else "after a pause" if gates else "recording"
    return dict(lost=lost, kind=kind, told=lines[0]["lost_ms_max"], packets=len(take.packets), read=(position - run["read"]) / 48)


def listen(path, take, gates):
    """The right sound in the right place, up to the end: every 50 ms are what was played then, to the frame."""
    x, code, text = timecode.load(path)
    if code or len(x) != take.frames:
        raise ValueError(f"ffmpeg decodes {len(x)} frames of {take.frames}: {text}")
    joints = [(e, c - e) for kind, c, e, _ in gates if kind == "resume"]
    edges = [0] + [e for e, _ in joints] + [take.frames]
    shifts = [0] + [shift for _, shift in joints]
    for begin, end, shift in zip(edges, edges[1:], shifts):
        begin, end = begin + (2 * FADE if shift else 0), min(end, take.frames) - (2 * FADE if end != take.frames or gates else 0)
        for a in list(range(begin, end - 2400, 2400)) + [end - 2400]:
            if a < begin:
                continue
            heard, played = x[a:a + 2400], timecode.render_samples(a + shift, a + shift + 2400)
            alike = float(heard @ played / (((heard @ heard) * (played @ played)) ** 0.5 + 1e-9))
            if alike < 0.8:
                raise ValueError(f"frames {a} to {a + 2400} aren't what was played at {a + shift} ({alike:.2f})")


def kills(bench, options):
    wav, reference = bench.signal(options.seconds + 6)
    rng = random.Random(options.seed)
    plans = []
    for i in range(options.kills):
        plan = dict(signals=[], kill=rng.uniform(0, options.seconds))
        if i % 5 == 4:
            pause = rng.uniform(0.1, options.seconds - 1)
            plan["signals"], plan["kill"] = [pause], pause + rng.uniform(0.02, 1.5)
            if i % 10 == 9:
                plan["signals"].append(pause + 0.6)
                plan["kill"] = pause + 0.6 + rng.uniform(0.02, 2)
        plans.append(plan)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda p: kill_run(bench, wav, *p), enumerate(plans)))
    rows, lost_takes, differing = [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(run, pool.submit(kill_check, bench, reference, run)) for run in runs]
        for run, job in jobs:
            try:
                row = job.result()
            except (ValueError, OSError, KeyError, IndexError) as e:
                where = f"kill {run['index']} at {run['kill']:.3f} s {run['folder']}"
                differing += "differs" in str(e)
                lost_takes += not os.path.exists(run["folder"] + "/take.opus")
                bench.fail(where, e)
                continue
            rows.append(row)
            if row["lost"] > 50:
                late = (run["after"] - run["before"]) * 1000
                bench.fail(f"kill {run['index']} at {run['kill']:.3f} s ({row['kind']})",
                           f"{row['lost']:.1f} ms lost; {row.get('read', 0):.1f} ms of them hadn't been read; the kill took {late:.1f} ms")
            if row["lost"] > row["told"] and row["kind"] != "before the take":
                bench.fail(f"kill {run['index']}", f"{row['lost']:.1f} ms lost, {row['told']} told")
            if row["lost"] <= 50 and not bench.keep:
                shutil.rmtree(run["folder"])
    print(f"kills: {len(runs)} takes, {lost_takes} lost, {differing} that differ from the undisturbed take")
    for kind in ("recording", "paused", "after a pause", "gap", "before the take"):
        lost = sorted(r["lost"] for r in rows if r["kind"] == kind)
        if lost:
            print(f"  {kind:16}{len(lost):5}   lost ms: median {statistics.median(lost):.1f}, 95 % {lost[int(0.95 * (len(lost) - 1))]:.1f}, maximum {lost[-1]:.1f}")
    lost = sorted(r["lost"] for r in rows)
    print(f"  {'all':16}{len(lost):5}   lost ms: median {statistics.median(lost):.1f}, 95 % {lost[int(0.95 * (len(lost) - 1))]:.1f}, maximum {lost[-1]:.1f}")
    for low in range(0, 60, 10):
        print(f"  {low:3}-{low + 10} ms {sum(low <= r < low + 10 for r in lost):5}")


# ---- SIGKILL at every call to the disk ----
def faulty(bench, folder, rules, log):
    return {"LD_PRELOAD": bench.faults, "FAULTDISK": rules, "FAULTDISK_UNDER": folder, "FAULTDISK_LOG": log}


def calls_of(log):
    return [line.split("\t") for line in open(log).read().splitlines()] if os.path.exists(log) else []


def call_run(bench, wav, reference, name, rules):
    """One take killed by rules: what it says of itself, or a ValueError."""
    work = f"{bench.folder}/call-{name}"
    folder, log = work + "/takes", work + "/log"
    os.makedirs(folder)
    env = dict(os.environ, **takes.card(work, bench.card, wav, "on_demand 1"), **faulty(bench, folder, rules, log))
    said = subprocess.run([bench.holdfast, "record", "--input", "alsa:mic", "--no-ui", "--take-id", ID, "--max-ms", "3000", "-o", folder + "/take.opus"],
                          env=env, stdin=subprocess.DEVNULL, capture_output=True)
    steps = calls_of(log)
    if not rules:
        if said.returncode:
            raise ValueError(f"{said.returncode}: {said.stderr.decode()}")
        return steps
    if said.returncode not in (0, -signal.SIGKILL):
        raise ValueError(f"ended with {said.returncode}: {said.stderr.decode()}")
    partial, path = folder + "/take.opus.partial", folder + "/take.opus"
    there, sealed, stood = os.path.isdir(partial), os.path.exists(path), takes.packets_in(partial)
    stopped = any(r[0] == "stop" for r in takes.ledger_records(takes.read(partial + "/ledger")))
    code, lines, text = takes.holdfast(bench.holdfast, "recover", "--json", folder)
    if code:
        raise ValueError(f"recover says {code}: {lines} {text}")
    names = sorted(n for n in os.listdir(folder) if n != ".holdfast-trash")
    if not there and not sealed:
        if names or stood:
            raise ValueError(f"no take, and {names} left")
        if any(s[1] == "pwrite" and "tail" in s[3] for s in steps):
            raise ValueError("a take that had begun is lost")
        kind = "before the take"
    else:
        if names != ["take.opus", "take.take.json"]:
            raise ValueError(f"left: {names}")
        take = bench.whole(path, reference)
        if not sealed and len(take.packets) != max(1, stood):
            raise ValueError(f"{len(take.packets)} packets of {stood} that stood on the disk")
        if (sealed or stopped and stood == len(reference.packets)) and take.sha256 != reference.sha256:
            raise ValueError("the whole take was there, and the sealed file isn't the undisturbed one")
        kind = "sealed before" if sealed else "while sealing" if stopped and stood == len(reference.packets) else "recording"
    shutil.rmtree(work)
    return kind


def calls(bench, options):
    wav, reference = bench.signal(3)
    steps = call_run(bench, wav, reference, "none", "")
    jobs = []
    for n in range(1, len(steps) + 1, bench.step):
        jobs += [(f"{n}-before", f"any@{n}=KILL"), (f"{n}-behind", f"any@{n}=KILLAFTER")]
        if steps[n - 1][1] == "pwrite":
            size = int(steps[n - 1][4])
            for keep in sorted({1, size // 2, size - 1} & set(range(1, size))):
                jobs.append((f"{n}-torn{keep}", f"any@{n}=SHORT:{keep};any@{n + 1}=KILL"))
    outcomes = {}
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for (name, rules), job in [(j, pool.submit(call_run, bench, wav, reference, *j)) for j in jobs]:
            try:
                kind = job.result()
            except (ValueError, OSError, KeyError, IndexError) as e:
                bench.fail(f"FAULTDISK='{rules}'", e)
                kind = "FAILED"
            outcomes[kind] = outcomes.get(kind, 0) + 1
    print(f"calls: {len(steps)} calls to the disk in a 3 s take, {len(jobs)} kills: "
          + ", ".join(f"{outcomes[k]} {k}" for k in sorted(outcomes)))


# ---- recovery killed ----
def stands(bench, wav, work):
    """Partial takes of every kind, by name, each in a folder of its own."""
    env = takes.card(work, bench.card, wav, "on_demand 1")
    out = {}

    def make(name, rules, change=None):
        folder = f"{work}/{name}"
        os.mkdir(folder)
        subprocess.run([bench.holdfast, "record", "--input", "alsa:mic", "--no-ui", "--take-id", ID, "--max-ms", "3000", "-o", folder + "/take.opus"],
                       env=dict(os.environ, **env, **faulty(bench, folder, rules, "")), stdin=subprocess.DEVNULL, capture_output=True)
        if change:
            change(folder + "/take.opus.partial")
        out[name] = folder

    def edit(path, change):
        data = bytearray(takes.read(path))
        change(data)
        open(path, "wb").write(data)

    def starts(data):
        return [i for i in range(len(data)) if data[i:i + 4] == b"OggS"]

    middle = "pwrite[/audio]@4=KILL"
    make("recording", middle)
    make("no-packet", "pwrite[/tail]@1=KILL")
    make("torn-page", "pwrite[/audio]@4=SHORT:700;pwrite[/audio]@5=KILL")
    make("torn-tail", "pwrite[/tail]@25=SHORT:30;pwrite[/tail]@26=KILL")
    make("torn-ledger", "pwrite[/ledger]@4=SHORT:9;pwrite[/ledger]@5=KILL")
    make("no-ledger", middle, lambda p: os.unlink(p + "/ledger"))
    make("no-tails", middle, lambda p: [os.unlink(f"{p}/tail.{i}") for i in (0, 1)])
    make("hole", middle, lambda p: edit(p + "/audio.opus", lambda d: d.__setitem__(starts(d)[2] + 200, d[starts(d)[2] + 200] ^ 85)))
    make("no-head", middle, lambda p: edit(p + "/audio.opus", lambda d: d.__setitem__(30, d[30] ^ 255)))
    make("no-audio", middle, lambda p: os.unlink(p + "/audio.opus"))
    make("junk", middle, lambda p: [open(f"{p}/{n}", "wb").write(b"junk") for n in ("audio.opus", "ledger", "tail.0", "tail.1")])
    make("last-page", "openat[/manifest]@1=KILL")
    make("torn-manifest", "pwrite[/manifest]@1=SHORT:300;pwrite[/manifest]@2=KILL")
    make("manifest", "renameat2[/audio.opus]@1=KILL")
    make("committed", "renameat2[/audio.opus]@1=KILLAFTER")
    make("moved", "renameat2[/manifest]@1=KILLAFTER")
    make("half-cleaned", "unlinkat[/ledger]@1=KILLAFTER")
    for name, folder in out.items():
        if not os.path.isdir(folder + "/take.opus.partial"):
            raise SystemExit(f"recovery: {name} couldn't be made: {os.listdir(folder)}")
    return out


def outcome(folder):
    """What recovery has left: every file's bytes but for what differs by its nature."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in files:
            path = os.path.relpath(os.path.join(at, name), folder)
            if path.startswith(".holdfast-trash"):
                path = ".holdfast-trash/" + name
            found[path] = open(os.path.join(at, name), "rb").read()
    return found


def again(bench, base, name, rules):
    work = f"{bench.folder}/again-{name}-" + "".join(c if c.isalnum() else "-" for c in rules)
    folder = work + "/takes"
    shutil.copytree(base, folder)  # times with it
    log = work + "/log"
    said = subprocess.run([bench.holdfast, "recover", "--json", folder], env=dict(os.environ, **faulty(bench, folder, rules, log)), capture_output=True)
    steps = len(calls_of(log))
    code = said.returncode
    if rules:
        if code not in (-signal.SIGKILL, 0, 65):
            raise ValueError(f"recover under {rules}: {code} {said.stderr.decode()}")
        code = takes.holdfast(bench.holdfast, "recover", "--json", folder)[0]
    left = outcome(folder)
    shutil.rmtree(work)
    return steps, code, left


def recovery(bench, options):
    work = bench.folder + "/stands"
    os.mkdir(work)
    wav, reference = bench.signal(3)
    bases = stands(bench, wav, work)
    total, times = 0, set()
    for name, base in bases.items():
        steps, first, want = again(bench, base, name, "")
        jobs = [f"any@{n}={how}" for n in range(1, steps + 1) for how in ("KILL", "KILLAFTER")]
        total += len(jobs)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for rules, job in [(r, pool.submit(again, bench, base, name, r)) for r in jobs]:
                try:
                    _, code, left = job.result()
                except (ValueError, OSError) as e:
                    bench.fail(f"recovery of {name}, FAULTDISK='{rules}'", e)
                    continue
                if code not in (0, first):
                    bench.fail(f"recovery of {name}, FAULTDISK='{rules}'", f"the second run says {code}")
                visible = lambda d: {k for k in d if not k.startswith(".holdfast-trash")}
                if visible(left) != visible(want):
                    bench.fail(f"recovery of {name}, FAULTDISK='{rules}'", f"left {sorted(visible(left))}, not {sorted(visible(want))}")
                elif left.get("take.opus") != want.get("take.opus"):
                    bench.fail(f"recovery of {name}, FAULTDISK='{rules}'", "other audio")
                elif left.get("take.take.json") != want.get("take.take.json"):
                    a, b = json.loads(left["take.take.json"]), json.loads(want["take.take.json"])
                    other = sorted(k for k in a if a[k] != b.get(k))
                    times.add((name, tuple(other)))
                    if set(other) - {"ended_at", "interruptions", "ledger"}:
                        bench.fail(f"recovery of {name}, FAULTDISK='{rules}'", f"another manifest: {other}")
                missing = set(want) - set(left)
                if missing:
                    bench.fail(f"recovery of {name}, FAULTDISK='{rules}'", f"missing in the trash: {sorted(missing)}")
        print(f"  recovery of {name:14} {steps:3} calls, exit code {first}", flush=True)
    for name, other in sorted(times):
        print(f"  note: {name}: the manifest's {', '.join(other)} depend on where recovery was killed")
    print(f"recovery: {len(bases)} kinds of partial takes, {total} kills, each run again")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", choices=["kills", "calls", "recovery"])
    parser.add_argument("--seconds", type=float, default=6, help="a take's longest")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--step", type=int, default=1, help="every Nth call")
    parser.add_argument("--folder", help="where takes go; default a temporary folder")
    parser.add_argument("--fifo", action="store_true", help="live recorders run before all that is ordinary on this machine (chrt -f 1)")
    parser.add_argument("--keep", action="store_true", help="keeps the takes")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="holdfast-torture-", dir=options.folder)
    bench = Bench(options, folder)
    bench.keep, bench.before = options.keep, ["chrt", "-f", "1"] if options.fifo else []
    print(f"seed {options.seed}, {folder}")
    for name, body in (("kills", kills), ("calls", calls), ("recovery", recovery)):
        if options.only in (None, name):
            began = time.monotonic()
            body(bench, options)
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
    if not bench.failures and not options.keep:
        shutil.rmtree(folder)
    print("all held" if not bench.failures else f"{len(bench.failures)} FAILED")
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
