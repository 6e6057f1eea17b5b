"""Everything that isn't speech: background of the sets, and wider families of it to train with."""

import glob, os, subprocess
import numpy as np
from scipy.signal import butter, sosfilt
from voices import BABBLE, FS, MUSIC, clips, fetch, load


def db(v):
    return 10 ** (v / 20)


def shaped(n, r, gain):
    size = 1 << int(np.ceil(np.log2(n)))
    spectrum = np.fft.rfft(r.standard_normal(size))
    return np.fft.irfft(spectrum * gain(np.maximum(np.fft.rfftfreq(size, 1 / FS), 1e-3)), size)[:n]


def band(x, low, high, order=2):
    return sosfilt(butter(order, [low, high], "bandpass", fs=FS, output="sos"), x)


def white(n, r, **_):
    return r.standard_normal(n)


def pink(n, r, **_):
    return shaped(n, r, lambda f: np.where(f > 20, f**-0.5, 0))


def brown(n, r, **_):
    return shaped(n, r, lambda f: np.where(f > 20, 1 / f, 0))


def hum(n, r, **_):
    t, x = np.arange(n) / FS, np.zeros(n)
    f0 = 50.0 * (1 + r.uniform(-1e-3, 1e-3))
    for h in range(1, 16):
        a = r.uniform(0.3, 1) * h**-1.2
        x += a * np.sin(2 * np.pi * f0 * h * t + r.uniform(0, 6.28))
    return x / x.std() + 0.02 * r.standard_normal(n)


def fan(n, r, **_):
    t = np.arange(n) / FS
    x = shaped(n, r, lambda f: f**-0.5 / (1 + (f / 500) ** 2) * (f > 25))
    x /= x.std()
    x *= 1 + 0.15 * np.sin(2 * np.pi * 5.3 * t)
    for h in (1, 2, 3):
        x += 0.35 / h * np.sin(2 * np.pi * 117 * h * t + r.uniform(0, 6))
    return x + 0.1 * r.standard_normal(n)


def babble(n, r, split="dev", cache="cache", **_):
    out = np.zeros(n)
    pools = (
        BABBLE[split] if split != "train" else [BABBLE[split][i] for i in r.permutation(len(BABBLE[split]))[: r.integers(3, 8)]]
    )
    for pool in pools:
        known, parts, length = clips(pool, cache), [], 0
        while length < n + FS:
            c = known[r.integers(len(known))]
            gap = int(FS * r.uniform(0.05, 0.35))
            parts += [c["x"], np.zeros(gap)]
            length += len(c["x"]) + gap
        y = np.concatenate(parts)
        start = r.integers(0, FS // 2)
        y = y[start : start + n]
        out += y / y.std() * 10 ** (r.uniform(-4, 2) / 20)
    return out


def keyboard(n, r, **_):
    x, t = np.zeros(n + FS), 0.2 * FS

    def click(level):
        m = int(0.03 * FS)
        tt = np.arange(m) / FS
        high = band(r.standard_normal(m), 2000, 8000) * np.exp(-tt / 0.004) * 2
        return level * (high + 0.5 * np.sin(2 * np.pi * r.uniform(150, 300) * tt) * np.exp(-tt / 0.012))

    while t < n:
        for _ in range(r.integers(3, 14)):
            if t >= n:
                break
            c = click(10 ** (r.uniform(-8, 0) / 20))
            x[int(t) : int(t) + len(c)] += c
            t += FS * (r.uniform(0.09, 0.28))
        t += FS * r.uniform(0.3, 1.8)
    return x[:n]


def breath(n, r, pauses=(), **_):
    x = np.zeros(n)
    for a, b in pauses:
        if b - a < 650:
            continue
        length = int(r.uniform(250, min(650, (b - a) * 0.7)))
        end = b - int(r.uniform(40, 150))
        start = max(a + 50, end - length)
        m = (end - start) * 48
        if m < 4800:
            continue
        y = band(r.standard_normal(m), 350, 3500, 1)
        y = y / y.std() * np.hanning(m) ** 0.7
        y = y[: n - start * 48]
        x[start * 48 : start * 48 + len(y)] += y * 10 ** (r.uniform(-4, 2) / 20)
    return x


def chords(n, r, **_):
    x, i, k = np.zeros(n), 0, 0
    bar = int(FS * r.uniform(0.9, 1.6))
    root = r.choice([196, 220, 247, 262])
    while i < n:
        base = root * 2 ** ([0, 5, 7, 9, 0, 4, 5, 7][k % 8] / 12)
        m = min(bar * 2, n - i)
        tt = np.arange(m) / FS
        for step in (0, 4, 7, 12, -12):
            f = base * 2 ** (step / 12)
            for h in range(1, 7):
                x[i : i + m] += np.sin(2 * np.pi * f * h * tt + r.uniform(0, 6)) * np.exp(-tt * (0.8 + 0.5 * h)) / h
        for j in range(4):
            q = i + j * bar // 4
            mm = min(int(0.05 * FS), n - q)
            if mm > 10:
                x[q : q + mm] += 0.5 * r.standard_normal(mm) * np.exp(-np.arange(mm) / FS / 0.012)
        i += bar
        k += 1
    return x


def any_spectrum(n, r, **_):
    points = np.sort(np.exp(r.uniform(np.log(50), np.log(16000), 7)))
    gains, tilt = np.cumsum(r.normal(0, 7, 7)), r.uniform(-8, 2)

    def gain(f):
        smooth = np.interp(np.log(np.maximum(f, 20)), np.log(points), gains)
        return 10 ** ((smooth + tilt * np.log2(np.maximum(f, 20) / 1000)) / 20) * (f > 20)

    x, t = shaped(n, r, gain), np.arange(n) / FS
    a = r.uniform(0, 0.5) * (r.random() < 0.6)
    return x * (1 + a * np.sin(2 * np.pi * r.uniform(0.3, 15) * t + r.uniform(0, 6)))


def tones(n, r, **_):
    t, x, f0 = np.arange(n) / FS, np.zeros(n), r.uniform(45, 700)
    for h in range(1, r.integers(2, 25)):
        f = f0 * h
        if f < 9000:
            wobble = 1 + r.uniform(-1, 1) * 1e-3 * np.sin(2 * np.pi * 0.2 * t)
            x += r.uniform(0.1, 1) * h ** -r.uniform(0.2, 1.5) * np.sin(2 * np.pi * f * t * wobble + r.uniform(0, 6))
    return x / x.std() + r.uniform(0.01, 0.4) * r.standard_normal(n)


def events(n, r, **_):
    x, t = np.zeros(n + 2 * FS), FS * r.uniform(0.1, 1)
    while t < n:
        i, kind = int(t), r.integers(5)
        d = int(FS * r.choice([0.005, 0.02, 0.05, 0.12, 0.3, 0.5]) * r.uniform(0.6, 1.5))
        tt = np.arange(d) / FS
        if kind == 0:
            y = any_spectrum(d + 64, r)[:d] * np.exp(-tt / (d / FS / 4))
        elif kind == 1:
            y = np.sin(2 * np.pi * r.uniform(60, 250) * tt) * np.exp(-tt / (d / FS / 4))
        elif kind == 2:
            y = any_spectrum(d + 64, r)[:d] * np.hanning(d)
        elif kind == 3:
            edge = np.minimum(1, np.minimum(tt / 0.01, (d / FS - tt) / 0.01))
            y = np.sin(2 * np.pi * r.uniform(400, 3000) * tt) * edge
        else:
            y = sum(np.sin(2 * np.pi * f * tt) * np.exp(-tt / 0.02) for f in r.uniform(300, 7000, 4))
        x[i : i + d] += y / (np.abs(y).max() + 1e-9) * 10 ** (r.uniform(-12, 0) / 20)
        t += FS * r.choice([0.08, 0.2, 0.6, 1.5]) * r.uniform(0.5, 1.5)
    return x[:n]


def melody(n, r, **_):
    """Random notes, chords, timbres, vibrato, with and without drums."""
    x, i = np.zeros(n), 0
    beat = int(FS * r.uniform(0.15, 0.75))
    scale = np.array([0, 2, 4, 5, 7, 9, 11, 12, 14, 16])
    root, partials, roll = r.uniform(80, 330), r.integers(2, 14), r.uniform(0.5, 2)
    decay, vibrato, drums = r.uniform(0.1, 3), r.uniform(0, 0.006), r.random() < 0.6
    voices = r.integers(1, 5)
    while i < n:
        m = min(int(beat * r.choice([0.5, 1, 2, 3])), n - i)
        mm = min(int(m * 1.3), n - i)
        tt = np.arange(mm) / FS
        env = np.minimum(1, tt / r.choice([0.005, 0.03, 0.15])) * np.exp(-tt / decay)
        if r.random() < 0.9:
            for _ in range(r.integers(1, voices + 1)):
                f = root * 2 ** ((scale[r.integers(10)] + 12 * r.integers(-1, 2)) / 12)
                for h in range(1, partials):
                    if f * h < 9000:
                        phase = 2 * np.pi * f * h * tt + vibrato * f * h / 5 * np.sin(2 * np.pi * 5 * tt) + r.uniform(0, 6)
                        x[i : i + mm] += env * np.sin(phase) * h**-roll * 0.3
        if drums:
            d = min(int(0.08 * FS), n - i)
            x[i : i + d] += r.uniform(0.2, 1.5) * r.standard_normal(d) * np.exp(-np.arange(d) / FS / r.choice([0.01, 0.03]))
        i += m
    return x


def rain(n, r, **_):
    x = shaped(n, r, lambda f: f**-0.3 * (f > 200))
    x /= x.std()
    for _ in range(int(n / FS * r.uniform(8, 40))):  # drops
        i, d = r.integers(n), int(FS * r.uniform(0.003, 0.03))
        y = np.sin(2 * np.pi * r.uniform(500, 5000) * np.arange(d) / FS) * np.exp(-np.arange(d) / (d / 5))
        x[i : i + d] += (y * 10 ** (r.uniform(-6, 14) / 20))[: n - i]
    return x


def traffic(n, r, **_):
    """Cars that come and go, each with a rumble and a hiss."""
    x = 0.15 * shaped(n, r, lambda f: 1 / f * (f > 25))
    x /= x.std() * 4
    t, at = np.arange(n) / FS, r.uniform(-1, 2)
    while at < n / FS:
        bell = np.exp(-(((t - at) / r.uniform(0.6, 2)) ** 2))
        y = shaped(n, r, lambda f: 1 / (1 + (f / 120) ** 1.5) * (f > 30))
        y += 0.3 * shaped(n, r, lambda f: 1.0 * ((f > 600) & (f < 4000)))
        f0 = r.uniform(40, 110)
        y = y / y.std() + 0.5 * sum(np.sin(2 * np.pi * f0 * h * (t - 0.002 * t * t) + h * h) / h for h in range(1, 9))
        x += bell * y * r.uniform(0.3, 1)
        at += r.uniform(1, 4)
    return x


def crickets(n, r, **_):
    t, x = np.arange(n) / FS, 0.03 * r.standard_normal(n)
    for _ in range(r.integers(2, 6)):
        chirp = (np.sin(2 * np.pi * r.uniform(0.8, 3) * t + r.uniform(0, 6)) > r.uniform(-0.3, 0.6)) * 1.0
        trill = 0.5 + 0.5 * np.sin(2 * np.pi * r.uniform(18, 45) * t)
        x += r.uniform(0.2, 1) * chirp * trill * np.sin(2 * np.pi * r.uniform(2200, 6000) * t)
    return x


def engine(n, r, **_):
    """A motor under changing load: harmonics that glide, and their noise."""
    t = np.arange(n) / FS
    speed = np.interp(t, np.linspace(0, t[-1], 8), r.uniform(0.7, 1.4, 8)) * r.uniform(25, 90)
    phase, x = 2 * np.pi * np.cumsum(speed) / FS, np.zeros(n)
    for h in range(1, 20):
        x += r.uniform(0.2, 1) / h**0.7 * np.sin(h * phase + r.uniform(0, 6))
    return x / x.std() + 0.5 * pink(n, r) * (1 + 0.5 * np.sin(phase))


def applause(n, r, **_):
    x, rate = np.zeros(n + FS), r.uniform(20, 120)
    for _ in range(int(n / FS * rate)):
        i, d = r.integers(n), int(FS * 0.02)
        y = band(r.standard_normal(d), r.uniform(500, 1000), r.uniform(1500, 4000), 1)
        x[i : i + d] += y * np.exp(-np.arange(d) / FS / r.uniform(0.002, 0.006)) * r.uniform(0.2, 1)
    return x[:n] + 0.01 * r.standard_normal(n)


STAMPS = "usr/share/tuxpaint/stamps"
_effects = {}


def effect_files(split, cache):
    """Animals, machines, instruments: every other one to train with."""
    if split not in _effects:
        folder, found = os.path.join(fetch("tuxpaint-stamps-default", cache), STAMPS), []
        for part in ("animals", "household", "hobbies", "seasonal", "vehicles", "naturalforces", "space"):
            found += glob.glob(os.path.join(folder, part, "**", "*.ogg"), recursive=True)
        found = sorted(f for f in found if "_desc_" not in f)
        found = found[split == "check" :: 2]
        if split == "check":
            more = os.path.join(fetch("unknown-horizons", cache), "usr/share/unknown-horizons/content/audio/sounds")
            found += sorted(f for f in glob.glob(os.path.join(more, "*.ogg")) if os.path.getsize(f) > 12000)
        _effects[split] = found
    return _effects[split]


_loaded = {}


def effects(n, r, cache="cache", split="train", **_):
    files, x, t = effect_files("check" if split == "check" else "train", cache), np.zeros(n), FS * r.uniform(0, 1)
    pace = r.choice([0.1, 0.5, 1.5])
    while t < n:
        f = files[r.integers(len(files))]
        if f not in _loaded:
            try:
                _loaded[f] = load(f, 8)
            except subprocess.CalledProcessError:
                _loaded[f] = np.zeros(0)
        y = _loaded[f]
        if len(y) > 480 and y.std() > 1e-4:
            y = y[: n - int(t)] / y.std()
            x[int(t) : int(t) + len(y)] += y * 10 ** (r.uniform(-8, 0) / 20)
        t += len(y) + FS * pace * r.uniform(0.2, 2)
    return x + 1e-4 * r.standard_normal(n)


_music = {}


def music_files(split, cache):
    if split not in _music:
        found = []
        for package in MUSIC[split]:
            folder = fetch(package, cache)
            files = [f for e in ("ogg", "mp3", "opus") for f in glob.glob(os.path.join(folder, "**", "*." + e), recursive=True)]
            found.append(sorted(f for f in files if os.path.getsize(f) > 6e5 and "/sound/" not in f)[:12])
        _music[split] = [f for f in found if f]
    return _music[split]


def recorded_music(n, r, cache="cache", split="train", **_):
    """Of a Debian game's music: each package as likely, however many pieces it has."""
    packages = music_files("train" if split == "dev" else split, cache)
    files = packages[r.integers(len(packages))]
    f = files[r.integers(len(files))]
    kept = os.path.join(cache, "pool", "music_" + os.path.basename(f) + ".npy")
    if not os.path.exists(kept):
        try:
            y = load(f, 60)
        except subprocess.CalledProcessError:  # a package's link to nowhere
            return melody(n, r)
        part = kept + ".%d.npy" % os.getpid()
        np.save(part, y.astype(np.float16))
        os.replace(part, kept)
    y = np.load(kept, mmap_mode="r")
    if len(y) < n + FS:
        y = np.tile(y, 1 + (n + FS) // len(y))
    start = r.integers(0, len(y) - n)
    y = np.asarray(y[start : start + n], np.float64)
    return y if y.std() > 1e-3 else melody(n, r)


NOISES = dict(
    white=white,
    pink=pink,
    brown=brown,
    hum=hum,
    fan=fan,
    babble=babble,
    keyboard=keyboard,
    breath=breath,
    music=chords,
    any_spectrum=any_spectrum,
    tones=tones,
    events=events,
    melody=melody,
    recorded_music=recorded_music,
    rain=rain,
    traffic=traffic,
    crickets=crickets,
    engine=engine,
    applause=applause,
    effects=effects,
)
