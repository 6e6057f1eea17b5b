#!/usr/bin/env python3
"""How long sealing and recovery take, for a short take and for one of hours.

  benchmarks/long.py HOLDFAST [--runs N] [--live N] [--seconds S] [--hours H] [--folder DIR]

live      takes of S seconds from the scripted card, ten at a time; from SIGINT to the end of the seal's last step, as the
          folder's own time has it (this script may be late to read a line)
hours     takes of H hours, fed fast through standard input but for the last half second, which comes once all before it
          is stored; from the last byte to the `sealed` line. At complexity 0: it changes nothing but the encoder's speed
recovery  a take of H hours that was killed behind its last page but one, with its tail and without; the whole command

Caches are warm; all before was synced. Needs gcc, libasound2-dev, python3-numpy.
"""
import argparse, concurrent.futures, os, shutil, signal, statistics, struct, subprocess, sys, tempfile, threading, time, zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import takes, timecode


def told(name, ms):
    ms = sorted(ms)
    print(f"{name}: median {statistics.median(ms):.0f} ms, 95 % {ms[int(0.95 * (len(ms) - 1))]:.0f}, maximum {ms[-1]:.0f} ({len(ms)} runs; load {os.getloadavg()[0]:.1f})", flush=True)


def wait_for(stream, text):
    for line in stream:
        if text in line:
            return time.monotonic(), line
    raise SystemExit(f"no {text}")


def live(options, folder, library, wav, index):
    work = f"{folder}/live{index}"
    os.mkdir(work)
    counter = folder + f"/counter{index}"
    open(counter, "wb").write(bytes(4096))
    process = subprocess.Popen([*(["chrt", "-f", "1"] if options.fifo else []), options.holdfast, "record", "--input", "alsa:mic", "--no-ui", "-o", work + "/take.opus"],
                               env=dict(os.environ, **takes.card(work, library, wav, f'counter "{counter}"')), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while struct.unpack("<d", open(counter, "rb").read(8))[0] == 0 and process.poll() is None:
        time.sleep(0.01)
    time.sleep(options.seconds + index % 10 * 0.3)
    began = time.time()
    process.send_signal(signal.SIGINT)
    process.wait()
    at = os.stat(work).st_mtime_ns / 1e9  # the partial folder has gone: the last step, just before the line
    shutil.rmtree(work)
    return (at - began) * 1000


def hours(options, folder, sound, index):
    path = f"{folder}/hours{index}.opus"
    process = subprocess.Popen([options.holdfast, "record", "--input", "-", "--json", "--no-ui", "--complexity", "0", "-o", path],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    seen, sealed = [0], []

    def listen():
        for line in process.stdout:
            if b'"sealed","path"' in line or b'"event":"sealed"' in line:
                sealed.append(time.monotonic())
            at = line.rfind(b'"effective_ms":')
            if at > 0:
                seen[0] = int(line[at + 15:].split(b",")[0].split(b"}")[0])
    reader = threading.Thread(target=listen)
    reader.start()
    rounds = int(options.hours * 3600 / 60)
    for _ in range(rounds):
        process.stdin.write(sound)
    process.stdin.flush()
    while seen[0] < rounds * 60_000 - 40:
        time.sleep(0.05)
    time.sleep(1.2)  # the sync thread has been by
    process.stdin.write(sound[:48_000])
    process.stdin.flush()
    began = time.monotonic()
    process.stdin.close()
    process.wait()
    reader.join()
    os.unlink(path)
    os.unlink(path.replace(".opus", ".take.json"))
    return (sealed[0] - began) * 1000


def killed(options, folder, sound):
    """Partial takes of hours: without a tail that goes on, and with one."""
    faults = takes.tool("faultdisk", folder)
    base = folder + "/killed"
    os.mkdir(base)
    process = subprocess.Popen([options.holdfast, "record", "--input", "-", "--no-ui", "-o", base + "/take.opus"], stdin=subprocess.PIPE,
                               env=dict(os.environ, LD_PRELOAD=faults, FAULTDISK=f"pwrite[/audio]@{int(options.hours * 3600)}=KILL", FAULTDISK_UNDER=base))
    try:
        for _ in range(int(options.hours * 3600 / 60)):
            process.stdin.write(sound)
        process.stdin.close()
    except BrokenPipeError:
        pass
    process.wait()
    tailed = folder + "/tailed"
    shutil.copytree(base, tailed)
    partial = tailed + "/take.opus.partial/"
    data = open(partial + "audio.opus", "rb").read()
    at = data.rfind(b"OggS")
    page = takes.Page(data, at)
    first = page.granule // takes.PACKET - len(page.packets)
    tail = b"HFtail\0\1" + struct.pack("<I", 1_000_000)
    tail += struct.pack("<I", zlib.crc32(tail))
    for i, packet in enumerate(page.packets):
        record = struct.pack("<Iq", len(packet), first + i) + packet
        tail += struct.pack("<I", zlib.crc32(record)) + record
    open(partial + "tail.0", "wb").write(tail)
    open(partial + "tail.1", "wb").write(b"")
    os.truncate(partial + "audio.opus", at)
    return [("its end in the tail", tailed), ("its end in a page", base)]


def recovery(options, folder, base):
    work = folder + "/work"
    wall, used = [], []
    for _ in range(options.runs):
        shutil.copytree(base, work)
        os.sync()
        began = time.monotonic()
        process = subprocess.Popen([options.holdfast, "recover", work], stdout=subprocess.DEVNULL)
        _, code, usage = os.wait4(process.pid, 0)
        wall.append((time.monotonic() - began) * 1000)
        used.append((usage.ru_utime + usage.ru_stime) * 1000)
        if code:
            raise SystemExit("recover failed")
        shutil.rmtree(work)
    return wall, used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--only", choices=["live", "hours", "recovery"])
    parser.add_argument("--fifo", action="store_true", help="live recorders run before all that is ordinary on this machine (chrt -f 1)")
    parser.add_argument("--folder", help="where takes go; default a temporary folder")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="holdfast-long-", dir=options.folder)
    try:
        sound = timecode.pcm16(0, 6000, False)
        if options.only in (None, "live"):
            wav = folder + "/signal.wav"
            timecode.write_wav(wav, timecode.pcm16(0, int(options.seconds * 100) + 1000, False))
            library = takes.tool("scriptmic", folder, "-lasound", "-lm")
            with concurrent.futures.ThreadPoolExecutor(10) as pool:
                told(f"sealing {options.seconds:g} s, live, from SIGINT", list(pool.map(lambda i: live(options, folder, library, wav, i), range(options.runs))))
        if options.only in (None, "recovery"):
            for name, base in killed(options, folder, sound):
                wall, used = recovery(options, folder, base)
                told(f"recovery of {options.hours:g} h, {name}", wall)
                told("  CPU time of it", used)
        if options.only in (None, "hours"):
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                told(f"sealing {options.hours:g} h, from the last byte", list(pool.map(lambda i: hours(options, folder, sound, i), range(options.runs))))
    finally:
        shutil.rmtree(folder)


main()
