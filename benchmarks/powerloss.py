#!/usr/bin/env python3
"""Power cuts: what `holdfast recover` makes of everything a disk may hold after one.

  benchmarks/powerloss.py HOLDFAST [--seconds S] [--subsets N] [--quick] [--seed N] [--only model|mount]

model   A preloaded library (Tests/tools/logdisk.c) logs what a recorder does to the disk, with the data and the times. The
        power is cut behind every entry of the log, the seal's and those behind it too, and the folder is made as a disk may
        hold it then. What was synced before is certain; of what wasn't, each may be there or not:
          posix   a file's data by a sync of that file, a name by a sync of its folder; any subset of the other operations on
                  names, in any order of reaching the disk; a rename is one step
          ext4    names in their order, all earlier ones brought by any sync that commits the journal
        A file's unsynced writes: none, all, some, the first few and a torn one, its size without its data (zeros), each
        sector of 512 bytes as some moment had it. N random subsets a cut and model, and the extremes (nothing, everything).
        The same with a take that replaces another (--force), and with a recovery whose power is cut.
        At most 1 s may be lost of what the card had captured, nothing once `sealed` was printed, and what is saved has to
        be whole and hold the undisturbed take's first packets.
mount   The cross-check on a real one, where mounts are allowed: an ext4 image in a file, copied while a take is recorded
        onto it (at 5, 12, 25, 45, 70 s, and 0.3 s after the stop), checked, mounted, recovered.

Needs gcc, opus-tools, libasound2-dev; for the mount root or user namespaces with loop devices, and e2fsprogs.
"""
import argparse, concurrent.futures, hashlib, json, os, random, shutil, signal, statistics, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import takes

ID, SECTOR = "powerloss", 512


class Node:
    """A file or a folder, with what was done to it."""

    def __init__(self, folder, data=b""):
        self.folder, self.first = folder, data
        self.data_ops = []  # indices of W, T, A
        self.entries = {}   # of the start


class Op:
    pass


class Log:
    """A recorder's doings, resolved to nodes."""

    def __init__(self, path, root, start):
        self.ops, self.known = [], {}
        nodes = dict(start)
        self.root = root
        raw, at = open(path, "rb").read(), 0
        while at + 40 <= len(raw):
            size, kind, t, inode, a, b = struct.unpack("<IBxxxQQQQ", raw[at:at + 40])
            data = raw[at + 40:at + size]
            at += size
            op = Op()
            op.kind, op.time, op.a, op.data = chr(kind), t, a, data
            if op.kind in "FO":
                continue
            if op.kind in "CM":
                nodes[inode] = Node(op.kind == "M")
                op.parent, op.name = nodes[a], data.decode()
            elif op.kind in "UD":
                op.parent, op.name = nodes[a], data.decode()
            elif op.kind == "R":
                op.flags = struct.unpack("<I", data[:4])[0]
                names = data[4:].split(b"\0")
                op.parent, op.name, op.target, op.new = nodes[a], names[0].decode(), nodes[b], names[1].decode()
            op.node = nodes.get(inode)
            if op.kind in "WTA":
                op.node.data_ops.append(len(self.ops))
            self.ops.append(op)

    def certain(self, cut, journal):
        key = (cut, journal)
        if key not in self.known:
            self.known = {key: self._certain(cut, journal)}
        return self.known[key]

    def _certain(self, cut, journal):
        """Indices of the operations that a power cut behind the first `cut` can't take."""
        begun, sure = {}, set()
        pending = []      # on names, not sure yet
        for i, op in enumerate(self.ops[:cut]):
            if op.kind in "CMRUD":
                pending.append(i)
            elif op.kind == "S":
                begun[op.a] = i
            elif op.kind == "E":
                at = begun.pop(op.a)
                own = [k for k in op.node.data_ops if k < at and k not in sure]
                sure.update(own)
                if journal:
                    if own or any(self.touches(k, op.node) for k in pending if k < at):
                        sure.update(k for k in pending if k < at)
                else:
                    sure.update(k for k in pending if k < at and self.holder(k) is op.node)
                pending = [k for k in pending if k not in sure]
        return sure

    def holder(self, i):
        op = self.ops[i]
        return op.target if op.kind == "R" else op.parent

    def touches(self, i, node):
        op = self.ops[i]
        return op.node is node or self.holder(i) is node or op.parent is node


def apply_data(node, ops, chosen):
    data = bytearray(node.first)
    for i in chosen:
        write(data, ops[i])
    return data


def write(data, op, keep=None):
    if op.kind == "W":
        piece = op.data if keep is None else op.data[:keep]
        if len(data) < op.a:
            data.extend(bytes(op.a - len(data)))
        data[op.a:op.a + len(piece)] = piece
    elif op.kind == "T":
        if len(data) > op.a:
            del data[op.a:]
        else:
            data.extend(bytes(op.a - len(data)))
    elif op.kind == "A" and len(data) < op.a:
        data.extend(bytes(op.a - len(data)))


def content(log, node, cut, sure, how, rng):
    """A file's bytes behind a cut."""
    mine = [i for i in node.data_ops if i < cut]
    loose = [i for i in mine if i not in sure]
    if how == "all" or not loose:
        return apply_data(node, log.ops, mine)
    firm = [i for i in mine if i in sure]
    if how == "none":
        return apply_data(node, log.ops, firm)
    way = rng.randrange(6)
    if way == 0:
        return apply_data(node, log.ops, firm)
    if way == 1:
        return apply_data(node, log.ops, mine)
    if way == 2:  # some
        share = rng.choice((0.2, 0.5, 0.8))
        return apply_data(node, log.ops, [i for i in mine if i in sure or rng.random() < share])
    k = rng.randrange(len(loose))
    begun = apply_data(node, log.ops, firm + loose[:k])
    if way == 3:  # the first few, and a torn one
        op = log.ops[loose[k]]
        if op.kind == "W":
            write(begun, op, rng.randrange(len(op.data) + 1))
        return begun
    full = apply_data(node, log.ops, mine)
    if way == 4:  # the size, and zeros
        if len(full) > len(begun):
            begun.extend(bytes(len(full) - len(begun)))
        return begun
    # Each sector as some moment had it.
    versions = [apply_data(node, log.ops, firm + loose[:j]) for j in sorted(rng.sample(range(len(loose) + 1), min(6, len(loose) + 1)))]
    size = len(rng.choice(versions))
    if rng.random() < 0.5:
        size = max(min(map(len, versions)), len(apply_data(node, log.ops, firm)), size // 4096 * 4096)
    out = bytearray()
    while len(out) < size:
        piece = rng.choice(versions)[len(out):len(out) + SECTOR]
        out += piece + bytes(SECTOR - len(piece))
    return out[:size]


def tree(log, cut, journal, how, rng):
    """Everything below the folder behind a cut: bytes by path; None for a folder."""
    sure = log.certain(cut, journal)
    entries = {}

    def of(node):
        return entries.setdefault(node, dict(node.entries))
    names = [i for i in range(cut) if log.ops[i].kind in "CMRUD"]
    loose = [i for i in names if i not in sure]
    if how == "none":
        kept = set()
    elif how == "all":
        kept = set(loose)
    elif journal:
        kept = set(loose[:rng.randrange(len(loose) + 1)])
    else:
        share = rng.choice((0.2, 0.5, 0.8))
        kept = {i for i in loose if rng.random() < share}
    for i in names:
        if i not in sure and i not in kept:
            continue
        op = log.ops[i]
        if op.kind in "CM":
            of(op.parent)[op.name] = op.node
        elif op.kind in "UD":
            if of(op.parent).get(op.name) is op.node:
                del of(op.parent)[op.name]
        elif op.flags == 2:  # exchange
            a, b = of(op.parent).get(op.name), of(op.target).get(op.new)
            if a and b:
                of(op.parent)[op.name], of(op.target)[op.new] = b, a
        else:
            if of(op.parent).get(op.name) is op.node:
                del of(op.parent)[op.name]
            of(op.target)[op.new] = op.node
    out = {}

    def walk(node, path, depth=0):
        for name, child in of(node).items():
            if child.folder:
                out[path + name] = None
                if depth < 6:
                    walk(child, path + name + "/", depth + 1)
            else:
                out[path + name] = bytes(content(log, child, cut, sure, how, rng))
    walk(log.root, "")
    return out


def scan(folder):
    """A folder as nodes by inode, its root first."""
    nodes = {}

    def visit(path):
        node = Node(True)
        nodes[os.stat(path).st_ino] = node
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                node.entries[entry.name] = visit(entry.path)
            else:
                child = node.entries[entry.name] = Node(False, open(entry.path, "rb").read())
                nodes[entry.inode()] = child
        return node
    return visit(folder), nodes


class Bench:
    def __init__(self, options, folder, fast):
        self.holdfast, self.folder, self.fast, self.options = os.path.abspath(options.holdfast), folder, fast, options
        self.card, self.logger = takes.tool("scriptmic", folder, "-lasound", "-lm"), takes.tool("logdisk", folder)
        self.failures, self.seen, self.number = [], {}, 0

    def fail(self, where, what):
        self.failures.append((where, what))
        if len(self.failures) < 40:
            print(f"FAILED {where}: {what}", flush=True)

    def signal(self, seconds):
        """Noise that moves: every packet is another."""
        rng = random.Random(3)
        level, x, out = 3000, 0.0, []
        for i in range(int(seconds * takes.RATE)):
            if i % 480 == 0:
                level = rng.randrange(200, 9000)
            x = 0.9 * x + 0.1 * rng.uniform(-level, level)
            out.append(int(x))
        wav = f"{self.folder}/signal.wav"
        data = struct.pack(f"<{len(out)}h", *out)
        open(wav, "wb").write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, takes.RATE, 2 * takes.RATE, 2, 16)
                              + b"data" + struct.pack("<I", len(data)) + data)
        path = f"{self.folder}/signal.opus"
        code, _, text = takes.holdfast(self.holdfast, "record", "--input", "file:" + wav, "--take-id", ID, "-o", path)
        if code:
            raise SystemExit(f"the reference take: {text}")
        self.wav, self.reference = wav, takes.Take(path)

    def record(self, name, seconds, *more, kill=False, old=False):
        """Records a take with its doings logged: the log, the folder at its start, the card's epoch, the folder."""
        name = name.replace(" ", "-")
        work = f"{self.folder}/{name}"
        folder, log, counter = work + "/takes", f"{self.fast}/{name}.log", f"{self.fast}/{name}.counter"
        os.makedirs(folder)
        open(counter, "wb").write(bytes(4096))
        if old:
            takes.holdfast(self.holdfast, "record", "--input", "tone:300", "--max-ms", "1500", "-o", folder + "/take.opus")
        root, start = scan(folder)
        env = dict(os.environ, **takes.card(work, self.card, self.wav, f'counter "{counter}"'),
                   LD_PRELOAD=self.logger, LOGDISK=log, LOGDISK_UNDER=os.path.realpath(folder))
        with open(work + "/said", "wb") as said:
            process = subprocess.Popen([self.holdfast, "record", "--input", "alsa:mic", "--json", "--no-ui", "--take-id", ID, "-o", folder + "/take.opus", *more],
                                       env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            while struct.unpack("<d", open(counter, "rb").read(8))[0] == 0 and process.poll() is None:
                time.sleep(0.005)
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
            code = process.wait()
        if code not in (0, -9):
            raise SystemExit(f"{name}: {code} {open(work + '/said').read()}")
        epoch = struct.unpack("<d", open(counter, "rb").read(8))[0]
        return Log(log, root, start), epoch, folder

    def build(self, files):
        self.number += 1
        folder = f"{self.fast}/cut{self.number}"
        os.mkdir(folder, 0o700)
        for path in sorted(files):
            if files[path] is None:
                os.makedirs(f"{folder}/{path}", 0o700, exist_ok=True)
            else:
                open(f"{folder}/{path}", "wb").write(files[path])
        return folder

    def recover(self, files):
        """What recovery makes of a folder: (frames saved, packets right, what is wrong with it, the folder's files)."""
        folder = self.build(files)
        try:
            code, lines, text = takes.holdfast(self.holdfast, "recover", "--json", folder)
            left = {}
            for at, _, names in os.walk(folder):
                for name in names:
                    left[os.path.relpath(os.path.join(at, name), folder)] = open(os.path.join(at, name), "rb").read()
            top = set(os.listdir(folder)) - {".holdfast-trash"}
            aside = [n for n in top if ".unreadable" in n]
            wrong = []
            if code not in (0, 65, 1) or code and not aside:
                wrong.append(f"recover says {code}: {lines} {text}")
            if top - {"take.opus", "take.take.json", "take-2.opus", "take-2.take.json"} - set(aside):
                wrong.append(f"left: {sorted(top)}")
            frames = 0
            path = next((p for p in (folder + "/take-2.opus", folder + "/take.opus") if os.path.exists(p)), None)
            new = path is not None
            if new:
                take = takes.Take(path)
                frames = take.frames
                warns = takes.opusinfo_warns(path)
                if warns:
                    wrong.append("opusinfo: " + warns)
                verified, told, text = takes.holdfast(self.holdfast, "verify", path)
                if verified:
                    wrong.append(f"verify says {verified}: {told} {text}")
            return frames, takes.Take(path) if new else None, wrong, left, bool(aside)
        except ValueError as e:
            return 0, None, [f"not whole: {e}"], {}, False
        finally:
            shutil.rmtree(folder)


def cuts(bench, name, log, judge, points):
    """Cuts the power at every point, in every way, and judges each different disk once."""
    ops, seen, jobs, total = log.ops, {}, [], 0
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for cut in points:
            for journal in (False, True):
                for how in ["none", "all"] + list(range(bench.options.subsets)):
                    rng = random.Random(f"{bench.options.seed} {cut} {journal} {how}")
                    files = tree(log, cut, journal, how, rng)
                    total += 1
                    digest = hashlib.sha256()
                    for path in sorted(files):
                        digest.update(repr((path, files[path])).encode())
                    key = digest.digest()
                    if key not in seen:
                        seen[key] = pool.submit(bench.recover, files)
                    jobs.append((cut, journal, how, seen[key]))
            if len(jobs) > 300:
                for job in jobs:
                    judge(job)
                jobs = []
        for job in jobs:
            judge(job)
    print(f"{name}: {len(ops)} logged operations, {len(points)} cuts, {total} disks, {len(seen)} of them different", flush=True)


def where(name, job):
    return f"{name}, cut {job[0]}, {'ext4' if job[1] else 'posix'}, {job[2]}"


def recorded(bench, name, seconds, *more, old=False):
    log, epoch, folder = bench.record(name, seconds, *more, old=old)
    final = takes.Take(folder + "/take.opus")
    ops = log.ops
    sealed = next(i for i, op in enumerate(ops) if op.kind == "P" and b'"event":"sealed"' in op.data)
    syncs, lengths, rounds = {}, [], {}
    for op in ops:
        if op.kind == "S":
            syncs[op.a] = op.time
        elif op.kind == "E":
            lengths.append((op.time - syncs[op.a]) / 1e6)
            if not op.node.folder:
                rounds.setdefault(op.node, []).append((syncs[op.a], op.time))
    # The promise is for syncs that take under 400 ms. A machine too busy to come to them is told, and judged by that.
    apart = max([b[1] - a[0] for times in rounds.values() for a, b in zip(times, times[1:])], default=0) / 1e6
    limit = 1000 if apart < 950 else apart + 100
    previous = {n: d for n, d in ((n, c.first) for n, c in log.root.entries.items() if not c.folder)}
    figures = dict(loss=[], aside=0, aside_sealed=0, worst=(0, ""))

    def judge(job):
        cut, journal, how, future = job
        frames, take, wrong, left, aside = future.result()
        at = where(name, job)
        for text in wrong:
            bench.fail(at, text)
        if old:
            for n, data in previous.items():
                if data not in left.values():
                    bench.fail(at, f"the old {n} is gone")
            if take and take.bytes == previous["take.opus"]:
                frames, take = 0, None
        if take and take.bytes != final.bytes and take.frames:
            if take.packets not in (bench.reference.packets[:len(take.packets)], final.packets[:len(take.packets)]):
                bench.fail(at, "differs from the undisturbed take")
        next_time = ops[min(cut, len(ops) - 1)].time / 1e9
        had = min(final.frames, max(0, (next_time - epoch) * takes.RATE))
        loss = (had - frames) / 48
        if cut > sealed:
            if not take or take.bytes != final.bytes:
                bench.fail(at, f"sealed was told, and {'another take' if take else 'no take'} is there")
            elif "take.take.json" not in left:
                bench.fail(at, "sealed was told, and there is no manifest")
            if aside:
                bench.fail(at, "sealed was told, and what is left is called unreadable")
            figures["aside_sealed"] += aside
        elif loss > limit:
            bench.fail(at, f"{loss:.0f} ms lost of {had / 48:.0f}")
        figures["aside"] += aside
        figures["loss"].append(loss)
        figures["worst"] = max(figures["worst"], (loss, at))

    points = range(1, len(ops) + 1)
    if bench.options.quick:
        keep = random.Random(bench.options.seed).sample(range(1, sealed - 25), 12)
        points = sorted(set(keep) | set(range(max(1, sealed - 25), len(ops) + 1)))
    cuts(bench, name, log, judge, points)
    loss = sorted(figures["loss"])
    print(f"  lost of what had been captured: median {statistics.median(loss):.0f} ms, 95 % {loss[int(.95 * (len(loss) - 1))]:.0f}, maximum {loss[-1]:.0f} ({figures['worst'][1]});"
          f" after the sealed event: nothing" if not bench.failures else "  with failures")
    print(f"  set aside as unreadable: {figures['aside']} ({figures['aside_sealed']} after the sealed event); syncs took {statistics.median(lengths):.1f} ms (median), {max(lengths):.1f} at most"
          + ("" if limit == 1000 else f"; THE MACHINE WAS BUSY: {apart:.0f} ms from a sync's begin to the next one's end, {limit:.0f} ms allowed"))


def recovering(bench):
    """A recovery whose power is cut, and another behind it."""
    _, _, folder = bench.record("killed", 2.3, kill=True)
    for kind in ("whole", "torn"):
        if kind == "torn":
            with open(folder + "/take.opus.partial/audio.opus", "ab") as f:
                f.write(b"OggS\0\0torn")
        work = f"{bench.folder}/recover-{kind}"
        shutil.copytree(folder, work)
        root, start = scan(work)
        log = f"{bench.fast}/recover-{kind}.log"
        code, _, text = takes.holdfast(bench.holdfast, "recover", "--json", work, env=dict(LD_PRELOAD=bench.logger, LOGDISK=log, LOGDISK_UNDER=os.path.realpath(work)))
        if code:
            bench.fail("recover", text)
            continue
        final = takes.Take(work + "/take.opus")
        name = f"recovery of a {kind} partial take"
        loose = 0

        def judge(job):
            nonlocal loose
            frames, take, wrong, left, aside = job[3].result()
            for text in wrong:
                bench.fail(where(name, job), text)
            if not take or take.bytes != final.bytes:
                bench.fail(where(name, job), "other audio" if take else "no audio")
            loose += aside
        doings = Log(log, root, start)
        cuts(bench, name, doings, judge, range(0, len(doings.ops) + 1))
        print(f"  set aside as unreadable though sealed: {loose}")


# ---- a real one ----
def mounts(bench):
    """Inside a mount namespace of its own."""
    times = [5, 12] if bench.options.quick else [5, 12, 25, 45, 70]
    image, point = bench.folder + "/disk.img", bench.folder + "/mnt"
    os.mkdir(point)
    said = subprocess.run(["sh", "-ec", f"truncate -s 64M {image}; mkfs.ext4 -q -F {image}; mount -o loop {image} {point}"], capture_output=True, text=True)
    if said.returncode:
        print(f"mount: left out, mounts aren't allowed here: {said.stderr.strip().splitlines()[-1] if said.stderr.strip() else said.returncode}")
        return
    work = bench.folder + "/mounted"
    os.mkdir(work)
    copies = []
    try:
        counter = bench.fast + "/mount.counter"
        open(counter, "wb").write(bytes(4096))
        env = dict(os.environ, **takes.card(work, bench.card, bench.wav, f'counter "{counter}"'))
        events = open(work + "/events", "wb")
        process = subprocess.Popen([bench.holdfast, "record", "--input", "alsa:mic", "--json", "--no-ui", "--take-id", ID, "-o", point + "/take.opus"],
                                   env=env, stdin=subprocess.DEVNULL, stdout=events)
        while struct.unpack("<d", open(counter, "rb").read(8))[0] == 0 and process.poll() is None:
            time.sleep(0.005)
        epoch = struct.unpack("<d", open(counter, "rb").read(8))[0]

        def copy(name):
            before = time.monotonic()
            subprocess.run(["cp", "--reflink=never", "--sparse=always", image, f"{bench.folder}/copy-{name}.img"], check=True)
            copies.append((name, before, time.monotonic()))
        for t in times:
            time.sleep(max(0, epoch + t - time.monotonic()))
            copy(f"{t} s")
        process.send_signal(signal.SIGINT)
        process.wait()
        stopped = time.monotonic()
        time.sleep(max(0, stopped + 0.3 - time.monotonic()))
        copy("0.3 s after the stop")
        final = takes.Take(point + "/take.opus")
    finally:
        subprocess.run(["umount", point])
    for name, before, after in copies:
        copied = f"{bench.folder}/copy-{name}.img"
        subprocess.run(["e2fsck", "-fy", copied], capture_output=True)
        if subprocess.run(["mount", "-o", "loop", copied, point], capture_output=True).returncode:
            bench.fail(f"mount, {name}", "the copy can't be mounted")
            continue
        try:
            code, lines, text = takes.holdfast(bench.holdfast, "recover", "--json", point)
            path = point + "/take.opus"
            take = takes.Take(path) if os.path.exists(path) else None
            frames = take.frames if take else 0
            had = min(final.frames, (before - epoch) * takes.RATE)
            loss = (had - frames) / 48
            if take and (takes.opusinfo_warns(path) or takes.holdfast(bench.holdfast, "verify", path)[0]):
                bench.fail(f"mount, {name}", f"opusinfo or verify: {takes.opusinfo_warns(path)}")
            if take and take.bytes != final.bytes and take.packets != bench.reference.packets[:len(take.packets)]:
                bench.fail(f"mount, {name}", "differs from the undisturbed take")
            if loss > 1000 or code or "after" in name and (not take or take.bytes != final.bytes):
                bench.fail(f"mount, {name}", f"{loss:.0f} ms lost, recover says {code} {text}")
            print(f"  copied at {name}: {frames / 48000:.2f} s saved, {max(0, loss):.0f} ms lost (the copy took {(after - before) * 1000:.0f} ms)", flush=True)
        finally:
            subprocess.run(["umount", point])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("--seconds", type=float, default=7)
    parser.add_argument("--subsets", type=int, default=6, help="random ones a cut and model")
    parser.add_argument("--quick", action="store_true", help="some cuts of short takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["model", "mount"])
    parser.add_argument("--folder", help="where takes are recorded; default a temporary folder, on a disk that syncs")
    options = parser.parse_args()
    if options.quick:
        options.subsets = min(options.subsets, 2)
    folder = tempfile.mkdtemp(prefix="holdfast-powerloss-", dir=options.folder)
    fast = tempfile.mkdtemp(prefix="holdfast-powerloss-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    bench = Bench(options, folder, fast)
    try:
        bench.signal(6 if options.quick else 80 if options.only != "model" else options.seconds + 4)
        if options.only != "mount":
            recorded(bench, "a take", 2.2 if options.quick else options.seconds)
            recorded(bench, "a take that replaces another", 1.6 if options.quick else 2.5, "--force", old=True)
            recovering(bench)
        if options.only == "mount" or not options.quick and options.only is None:
            said = subprocess.run(["unshare", "-m" if os.geteuid() == 0 else "-rm", "true"], capture_output=True)
            if "HOLDFAST_MOUNTS" in os.environ:
                mounts(bench)
            elif said.returncode:
                print(f"mount: left out, no mount namespace is given here: {said.stderr.decode().strip()}")
            else:
                again = subprocess.run(["unshare", "-m" if os.geteuid() == 0 else "-rm", sys.executable, os.path.abspath(__file__), os.path.abspath(options.holdfast), "--only", "mount"],
                                       env=dict(os.environ, HOLDFAST_MOUNTS="1"))
                if again.returncode:
                    bench.failures.append(("mount", "failed"))
    finally:
        shutil.rmtree(fast)
        shutil.rmtree(folder, ignore_errors=True)
    print("all held" if not bench.failures else f"{len(bench.failures)} FAILED")
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
