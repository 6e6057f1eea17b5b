#!/usr/bin/env python3
"""Builds a test set whose truth is exact by construction: 72 items, about 27 min, 48 kHz mono s16.

  make_set.py [--split dev|check|held] [--out set] [--cache cache]     writes OUT/SPLIT/ID.wav and OUT/SPLIT/labels.json

Voices and noises come from Debian packages (fetched, not installed) and from arithmetic. `held` has voices and music that the training
never sees. labels.json: an item's speech [[start_ms, end_ms], ...] (gaps of 60 ms and more
kept), nosignal (AC level under -72 dBFS for 2 s and more), quiet_grey (under -64 dBFS), group, noise, snr, level. SNR is
RMS of active speech over RMS of the noise, both in 50-8000 Hz (keyboard, breath: the loudest 5 % of frames).
"""

import argparse, hashlib, json, os
import numpy as np
import soundfile as sf
from scipy.signal import butter, fftconvolve, sosfilt
from noises import NOISES, db
from voices import FS, SETS, clips, runs

HERE = os.path.dirname(os.path.abspath(__file__))
PAUSES = [150, 250, 350, 400, 400, 700, 700, 1200, 1200, 3000]
_AUDIBLE = butter(3, [50, 8000], "bandpass", fs=FS, output="sos")


def level_of(x, bursts=False):
    y = sosfilt(_AUDIBLE, x)
    if not bursts:
        return np.sqrt((y**2).mean()) + 1e-12
    power = (y[: len(y) // 480 * 480].reshape(-1, 480) ** 2).mean(1)
    return np.sqrt(np.sort(power)[-max(3, len(power) // 20) :].mean()) + 1e-12


def compose(cache, rng, pool, level, seconds, pool2=None, level2=0, lead=None, long_pause=False):
    """Speech with known pauses on digital silence: samples and the true segments in ms."""
    pauses = list(rng.permutation(PAUSES))
    if long_pause:
        pauses.insert(rng.integers(1, 4), 8000)
    lead = int(rng.choice([300, 900, 1500])) if lead is None else lead
    first, second = clips(pool, cache), clips(pool2, cache) if pool2 else None
    first = [c for c in first if c["dur"] >= 500] or first
    parts, segs, t, i, used, pending = [(lead, None)], [], lead, 0, set(), None
    while t < seconds * 1000:
        other = second and i % 2
        known = second if other else first
        gain = db(level + (level2 if other else 0) + rng.uniform(-1.5, 1.5))
        unused = [c for c in known if c["dur"] <= 4500 and id(c) not in used] or known
        weight = np.array([min(c["dur"], 1500) for c in unused], float)
        c = unused[rng.choice(len(unused), p=weight / weight.sum())]
        used.add(id(c))
        if pending is not None:
            gap = max(0, pending - c["segs"][0][0])
            parts.append((gap, None))
            t += gap
        segs += [(t + a, t + b) for a, b in c["segs"]]
        parts.append((c["dur"], c["x"][: c["dur"] * 48] * gain))
        t += c["dur"]
        # A pause runs from the last ms of speech to the next: the clips' margins count.
        pending = int(pauses[i % len(pauses)]) - (c["dur"] - c["segs"][-1][1])
        i += 1
    tail = int(rng.choice([600, 1200, 2000]))
    parts.append((tail, None))
    t += tail
    x, at = np.zeros(t * 48), 0
    for length, y in parts:
        if y is not None:
            x[at * 48 : at * 48 + len(y)] += y
        at += length
    joined = []
    for a, b in segs:
        if joined and a - joined[-1][1] < 60:
            joined[-1] = [joined[-1][0], int(b)]
        else:
            joined.append([int(a), int(b)])
    return x, joined


def pauses_of(segs):
    return [(segs[i][1], segs[i + 1][0]) for i in range(len(segs) - 1)]


def mix(x, segs, kind, snr, level, rng, split, cache):
    n = len(x)
    noise = NOISES[kind](n, rng, split=split, pauses=pauses_of(segs), cache=cache)
    if np.abs(noise).max() > 0:
        noise = noise / level_of(noise, kind in ("keyboard", "breath", "effects")) * db(level - snr)
    return x + noise + rng.standard_normal(n) * db(-78)


ARTIFACTS = (
    "dc clip agc agc2 noise_on noise_off fade gate gate2 reverb4 reverb8 two_levels dropouts start_at_once " "hp_thin"
).split()
NO_SIGNAL = "mute_mid mute_start mute_lsb mute_dc hiss_only fan_only hum_only music_only quiet50_ok".split()


OTHER_STEADY = ["rain", "traffic", "engine", "crickets", "applause"]  # of `check`: none of them is in the training


def specs(split):
    out, levels = [], [-20, -26, -32, -38]

    def add(group, noise, snr, level):
        out.append(dict(group=group, noise=noise, snr=snr, level=level))

    other = split == "check"
    for k, noise in enumerate(OTHER_STEADY if other else ["white", "pink", "brown", "hum", "fan"]):
        for j, snr in enumerate([40, 30, 20, 10, 5]):
            add("stationary", noise, snr, levels[(k + j) % 4])
    changing = ["babble", "effects" if other else "keyboard", "breath", "music" if split == "dev" else "recorded_music"]
    for k, noise in enumerate(changing):
        for j, snr in enumerate([30, 20, 10, 5]):
            add("nonstationary", noise, snr, levels[(k + j + 1) % 4])
    for level in (-12, -20, -30, -40, -50):
        add("clean", "none", None, level)
    add("clean", "selfnoise", None, -40)
    add("clean", "selfnoise", None, -50)
    for name in ARTIFACTS:
        add("artifact", name, None, -26)
    for name in NO_SIGNAL:
        add("nosignal", name, None, -26)
    if split in ("held", "check"):
        for _ in range(8):
            add("nosignal", "recorded_music_only", None, -26)
    for i, s in enumerate(out):
        s["id"] = "%s_%02d_%s%s" % (split[0], i, s["noise"], "" if s["snr"] is None else "_%d" % s["snr"])
    return out


def room(rng, t60, direct_to_reverb):
    n = int(t60 * FS)
    h = rng.standard_normal(n) * 10 ** (-3 * np.arange(n) / FS / t60)
    h[: int(0.004 * FS)] = 0
    h /= np.sqrt((h**2).sum())
    h *= db(-direct_to_reverb)
    h[0] = 1
    return h


def gain_steps(n, rng, fast):
    """A microphone's own gain control: steps of 6 dB, sudden or over most of a second."""
    t, gain, now = 0, np.zeros(n), 0.0
    while t < n:
        d = int(FS * rng.uniform(2.5, 5))
        gain[t : t + d] = now
        now = float(rng.choice([-12, -6, 0, 6, 12]))
        t += d
    m = int(FS * (0.02 if fast else 0.8))
    if fast:
        return np.convolve(np.pad(gain, (m // 2, m - m // 2 - 1), mode="edge"), np.ones(m) / m, "valid")
    coarse = np.convolve(np.pad(gain[::480], (m // 960, m // 960), mode="edge"), np.ones(m // 480 + 1) / (m // 480 + 1), "same")
    return np.interp(np.arange(n), np.arange(0, n, 480), coarse[m // 960 : m // 960 + len(gain[::480])])


def artifact(kind, x, segs, level, rng, split, cache):
    n = len(x)

    def noisy(noise, snr, y=x):
        return mix(y, segs, noise, snr, level, rng, split, cache)

    if kind == "dc":
        return noisy("pink", 30) + 0.05
    if kind == "clip":
        return np.clip(noisy("pink", 30) * db(20), -0.5, 0.5)
    if kind in ("agc", "agc2"):
        y = noisy("fan" if kind == "agc" else "pink", 20)
        return y * 10 ** (gain_steps(n, rng, kind == "agc") / 20)
    if kind in ("noise_on", "noise_off"):
        noise = NOISES["fan"](n, rng)
        noise = noise / level_of(noise) * db(level - 12)
        on = np.zeros(n)
        on[n // 2 :] = 1
        on = on if kind == "noise_on" else 1 - on
        return x + noise * np.convolve(on, np.ones(960) / 960, "same") + rng.standard_normal(n) * db(-75)
    if kind == "fade":
        return noisy("pink", 25) * 10 ** (np.linspace(6, -24, n) / 20)
    if kind in ("gate", "gate2"):
        y, open_ = noisy("pink" if kind == "gate" else "fan", 20), np.zeros(n)
        hold = (200, 120)[kind == "gate2"]
        for a, b in segs:
            open_[max(0, a - 15) * 48 : (b + hold) * 48] = 1
        open_ = np.convolve(open_, np.ones(1440) / 1440, "same")
        return y * open_ if kind == "gate" else y * (open_ * 0.98 + 0.02)
    if kind == "reverb4":
        return noisy("pink", 30, fftconvolve(x, room(rng, 0.4, 6))[:n])
    if kind == "reverb8":
        return noisy("pink", 20, fftconvolve(x, room(rng, 0.8, 4))[:n])
    if kind == "dropouts":
        y = noisy("pink", 30)
        for _ in range(40):
            a = rng.integers(0, n - 6000)
            y[a : a + int(FS * rng.uniform(0.01, 0.05))] = 0
        return y
    if kind == "hp_thin":
        return noisy("pink", 25, sosfilt(butter(4, [450, 3400], "bandpass", fs=FS, output="sos"), x))
    return noisy("fan", 15) if kind == "start_at_once" else noisy("pink", 30)


def no_signal(kind, x, segs, level, rng, split, cache):
    n = len(x)
    y = mix(x, segs, "pink", 25, level, rng, split, cache)
    if kind.startswith("mute"):
        a, b = (0, FS * 7) if kind == "mute_start" else (n // 3, n // 3 + FS * 9)
        muted = np.full(b - a, 0.003 if kind == "mute_dc" else 0.0)
        if kind == "mute_lsb":
            muted = np.round(rng.uniform(-1, 1, b - a)) / 32768
        y[a:b] = muted[: max(0, min(n, b) - a)]
        first, last, left = a // 48, b // 48, []
        for p, q in segs:
            if q <= first or p >= last:
                left.append([p, q])
                continue
            if p < first - 30:
                left.append([p, first])
            if q > last + 30:
                left.append([last, q])
        return y, left
    if kind == "quiet50_ok":
        return x * db(-50 - level) + rng.standard_normal(n) * db(-76), segs
    n = FS * 18
    if kind == "hiss_only":
        return rng.standard_normal(n) * db(-80), []
    name, level = {
        "fan_only": ("fan", -45),
        "hum_only": ("hum", -40),
        "music_only": ("music", -35),
        "recorded_music_only": ("recorded_music", -30),
    }[kind]
    y = NOISES[name](n, rng, cache=cache, split=split)
    return y / y.std() * db(level), []


def build(s, i, split, cache, seconds, seed, pools=None):
    rng = np.random.default_rng([seed, i])
    pools = pools or SETS[split]
    pool = pools[(i * 5 + seed) % len(pools)]
    level, group, kind = s["level"], s["group"], s["noise"]
    second = pools[(i * 5 + 3 + seed) % len(pools)] if (i % 4 == 3 or kind == "two_levels") else None
    second = None if second == pool else second
    s["pool"], s["pool2"] = pool, second
    x, segs = compose(
        cache,
        rng,
        pool,
        level,
        seconds,
        second,
        -12 if kind == "two_levels" else 0,
        40 if kind == "start_at_once" else None,
        i % 5 == 2,
    )
    if group in ("stationary", "nonstationary"):
        y = mix(x, segs, kind, s["snr"], level, rng, split, cache)
    elif group == "clean":
        y = x if kind == "none" else x + rng.standard_normal(len(x)) * db(-80)
    elif group == "artifact":
        y = artifact(kind, x, segs, level, rng, split, cache)
    else:
        y, segs = no_signal(kind, x, segs, level, rng, split, cache)
    return np.clip(y, -1, 32767 / 32768), segs


def levels_100ms(y):
    z = sosfilt(butter(2, 20, "highpass", fs=FS, output="sos"), y)
    m = len(z) // 4800
    return 10 * np.log10((z[: m * 4800].reshape(m, 4800) ** 2).mean(1) + 1e-13)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--split", default="dev")
    ap.add_argument("--out", default=os.path.join(HERE, "set"))
    ap.add_argument("--cache", default=os.path.join(HERE, "cache"))
    ap.add_argument("--seed", type=int, default=11)
    a = ap.parse_args()
    folder = os.path.join(a.out, a.split)
    os.makedirs(folder, exist_ok=True)
    items, total = [], 0
    for i, s in enumerate(specs(a.split)):
        y, segs = build(s, i, a.split, a.cache, 20.0, a.seed)
        q = np.round(y * 32768).clip(-32768, 32767).astype(np.int16)
        sf.write(os.path.join(folder, s["id"] + ".wav"), q, FS, subtype="PCM_16")
        levels = levels_100ms(q / 32768.0)
        silent = [[p * 100, e * 100] for p, e in runs(levels < -72) if e - p >= 20]
        grey = [[p * 100, e * 100] for p, e in runs(levels < -64)]
        digest = hashlib.sha1(q.tobytes()).hexdigest()[:12]
        items.append(dict(s, dur_ms=len(q) // 48, speech=segs, nosignal=silent, quiet_grey=grey, sha1=digest))
        total += len(q) / FS
    labels = dict(split=a.split, seed=a.seed, fs=FS, minutes=round(total / 60, 2), items=items)
    with open(os.path.join(folder, "labels.json"), "w") as f:
        json.dump(labels, f, indent=0, default=lambda o: o.item() if hasattr(o, "item") else str(o))
    count = sum(1 for it in items for a, b in pauses_of(it["speech"]) if b - a >= 250)
    print(a.split, len(items), "items,", round(total / 60, 1), "min,", count, "pauses of 250 ms and more")


if __name__ == "__main__":
    main()
