#!/usr/bin/env python3
"""Random mixes of the training voices and noises, measured: make_train.py FIRST_SEED COUNT FOLDER [--cache cache]

Writes a file for every 25 mixes (6 min). Run several at once, with seeds of their own.
"""

import argparse, os
from fractions import Fraction
import numpy as np
from scipy.signal import butter, fftconvolve, iirpeak, lfilter, resample_poly, sosfilt
import make_set as sets
from features import measure
from noises import NOISES, db
from voices import FS, SETS

KINDS = (
    ["white", "pink", "brown", "hum", "fan", "babble", "babble", "babble", "keyboard", "breath", "music"]
    + ["any_spectrum"] * 3
    + ["tones"]
    + ["events"]
    + ["melody"] * 2
    + ["recorded_music"] * 4
    + ["effects"] * 2
    + ["none"] * 3
)
ALONE = (
    ["recorded_music"] * 9
    + ["melody"] * 4
    + ["music"] * 2
    + ["events"] * 2
    + ["effects"] * 3
    + ["tones", "any_spectrum", "keyboard", "fan", "hum"]
)


def at_speed(x, segs, speed):
    """As other people might say it: pitch and pace moved together."""
    if speed == 1.0:
        return x, segs
    ratio = Fraction(speed).limit_denominator(20)
    return resample_poly(x, ratio.numerator, ratio.denominator), [(int(a * ratio), int(b * ratio)) for a, b in segs]


def microphone(x, r):
    """Some other microphone: two resonances, a telephone's or a cheap one's band."""
    if r.random() < 0.6:
        for _ in range(2):
            f, g = np.exp(r.uniform(np.log(120), np.log(7000))), db(r.uniform(-9, 9))
            b, a = iirpeak(f, r.uniform(0.5, 2), fs=FS)
            x = x + (g - 1) * lfilter(b, a, x)
    if r.random() < 0.2:
        x = sosfilt(butter(6, r.choice([3400, 3900, 5500, 7500]), fs=FS, output="sos"), x)
    if r.random() < 0.2:
        x = sosfilt(butter(2, r.uniform(80, 350), "highpass", fs=FS, output="sos"), x)
    return x


def swell(y, r):
    t = np.arange(len(y)) / FS
    return y * 10 ** (np.interp(t, np.sort(r.uniform(0, t[-1], 6)), r.uniform(-10, 10, 6)) / 20)


def one(seed, cache):
    r = np.random.default_rng([99, seed])
    speed = float(r.choice([1.0, 0.75, 0.8, 0.85, 0.9, 1.1, 1.2, 1.3]))
    pools = SETS["train"]
    what = r.random()
    if what < 0.2:  # nobody speaks
        n = int(FS * r.uniform(10, 20))
        y = NOISES[r.choice(ALONE)](n, r, cache=cache, split="train")
        y = microphone(y / (y.std() + 1e-9) * db(r.uniform(-55, -14)), r)
        if r.random() < 0.3:
            y = swell(y, r)
        return np.clip(y + r.standard_normal(n) * db(r.uniform(-90, -60)), -1, 1), []
    if what < 0.82:
        kind, pool, level = r.choice(KINDS), pools[r.integers(len(pools))], int(r.integers(-48, -13))
        second = pools[r.integers(len(pools))] if r.random() < 0.3 else None
        x, segs = sets.compose(
            cache,
            r,
            pool,
            level,
            float(r.uniform(10, 20)),
            second,
            float(r.uniform(-8, 8)),
            int(r.choice([20, 200, 700, 1500, 3000])),
            r.random() < 0.2,
        )
        x, segs = at_speed(x, segs, speed)
        x = microphone(x, r)
        n = len(x)
        if r.random() < 0.25:
            x = fftconvolve(x, sets.room(r, r.uniform(0.15, 0.9), r.uniform(3, 14)))[:n]
        if kind == "none":
            y = x + (r.standard_normal(n) * db(r.uniform(-92, -72)) if r.random() < 0.6 else 0)
        else:
            snr = float(r.uniform(0, 16) if r.random() < 0.5 else r.uniform(0, 38)) + (3 if kind == "babble" else 0)
            y = sets.mix(x, segs, kind, snr, level, r, "train", cache)
            if r.random() < 0.3:
                y = sets.mix(
                    y, segs, str(r.choice(["any_spectrum", "pink", "fan"])), float(r.uniform(10, 40)), level, r, "train", cache
                )
        return np.clip(swell(y, r) if r.random() < 0.15 else y, -1, 1), segs
    special = [s for s in sets.specs("dev") if s["group"] in ("artifact", "nosignal", "clean")]
    return sets.build(dict(special[r.integers(len(special))]), int(r.integers(10**6)), "train", cache, 18.0, seed, pools)


def measured(seed, cache):
    y, segs = one(seed, cache)
    bands, per, lag = measure(np.round(y * 32768).clip(-32768, 32767) / 32768)
    label, weight = np.zeros(len(per), np.int8), np.ones(len(per), np.float32)
    for p, q in segs:
        label[int(round(p / 10)) : int(round(q / 10))] = 1
    for j in range(len(segs) - 1):  # a short gap is neither
        p, q = segs[j][1], segs[j + 1][0]
        if q - p < 200:
            weight[int(round(p / 10)) : int(round(q / 10))] = 0.25 if q - p < 140 else 0.5
    return dict(bands=bands, per=per, lag=lag, label=label, weight=weight)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("first", type=int)
    ap.add_argument("count", type=int)
    ap.add_argument("folder")
    ap.add_argument("--cache", default="cache")
    a = ap.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    for first in range(a.first, a.first + a.count, 25):
        mixes = [measured(seed, a.cache) for seed in range(first, min(first + 25, a.first + a.count))]
        offsets = np.cumsum([0] + [len(m["per"]) for m in mixes])
        path = os.path.join(a.folder, "mixes_%d.npz" % first)
        np.savez(path, offsets=offsets, **{k: np.concatenate([m[k] for m in mixes]) for k in mixes[0]})
        print(path, "%.1f min" % (offsets[-1] / 6000), flush=True)


if __name__ == "__main__":
    main()
