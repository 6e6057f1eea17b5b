"""Reference of what the detector hears: bands, periodicity, floors, talker's level; the net; the decisions.

Swift does the same in Sources/Signal/Speech, a sample at a time; golden.json holds both to it.
"""

import numpy as np
from scipy.signal import firwin, upfirdn
from numba import njit
from voices import runs

EDGES = [100, 250, 450, 700, 1050, 1500, 2150, 3000, 4200, 5800, 7600]  # Hz
BIN = 16000 / 512
BINS = [int(np.ceil(e / BIN)) for e in EDGES]  # 4 8 15 23 34 48 69 96 135 186 244
BANDS = len(EDGES) - 1
TAPS = firwin(33, 7000, fs=48000, window=("kaiser", 5.0))  # 48 -> 16 kHz
TAPS4 = firwin(49, 1750, fs=16000, window=("kaiser", 5.0))  # 16 -> 4 kHz
WINDOW = np.hanning(322)[1:-1]
SCALE = 2.0 / (512 * (WINDOW**2).sum())
INPUTS = 2 * BANDS + 2
LOOK_AHEAD = 14  # hops
ON, OFF = 0.3, -0.3


def measure(x):
    """bands [n, 10] in dB, per [n], lag [n] of 48 kHz mono; frame i stands for [10 i, 10 i + 10) ms."""
    x = np.asarray(x, np.float64)
    n = len(x) // 480
    y = upfirdn(TAPS, x, 1, 3)[5 : 5 + len(x) // 3]  # the delay of 16 at 48 kHz is about 5 at 16 kHz
    padded = np.concatenate([np.zeros(80), y, np.zeros(400)])
    frames = padded[np.arange(320)[None, :] + 160 * np.arange(n)[:, None]]
    spectrum = np.abs(np.fft.rfft((frames - frames.mean(1, keepdims=True)) * WINDOW, 512, axis=1)) ** 2
    power = np.stack([spectrum[:, a:b].sum(1) for a, b in zip(BINS, BINS[1:])], 1)
    bands = 10 * np.log10(power * SCALE + 1e-9)
    # Correlation of 30 ms at 4 kHz with itself 10 to 56 samples earlier; 40 samples a hop.
    y4 = upfirdn(TAPS4, y, 1, 4)[6:]
    y4 = np.concatenate([[0], y4[1:] - 0.8 * y4[:-1]])
    length, history = 120, 57
    first = np.arange(n) * 40 + 60 + 8 + history
    padded = np.concatenate([np.zeros(length + history + 8), y4, np.zeros(200)])
    seg = padded[first[:, None] + np.arange(-history, length)[None, :]]
    now = seg[:, history:]
    energy = (now**2).sum(1)
    sums = np.cumsum(np.concatenate([np.zeros((n, 1)), seg**2], 1), 1)
    r = np.zeros((n, history + 1))
    for lag in range(9, history + 1):
        at = history - lag
        before = sums[:, at + length] - sums[:, at]
        r[:, lag] = (now * seg[:, at : at + length]).sum(1) / np.sqrt((energy + 1e-9) * (before + 1e-9))
    inner = r[:, 10:history]
    peaks = np.where((inner >= r[:, 9 : history - 1]) & (inner >= r[:, 11 : history + 1]), inner, 0)
    return bands.astype(np.float32), np.clip(peaks.max(1), 0, 1).astype(np.float32), (peaks.argmax(1) + 10).astype(np.float32)


@njit(cache=True)
def track(bands, per):
    """A floor for each band by minimum statistics (75 to 150 hops), and the level of the talker."""
    n, count = bands.shape
    floors, talker = np.zeros((n, count)), np.zeros(n)
    smooth, floor = bands[0].copy(), np.minimum(bands[0], -58.0)
    low, before, hops, level = np.full(count, 200.0), floor.copy(), 0, -45.0
    for t in range(n):
        energy, above = 0.0, 0.0
        for b in range(count):
            smooth[b] += (bands[t, b] - smooth[b]) * 0.45
            if smooth[b] < low[b]:
                low[b] = smooth[b]
            m = min(low[b], before[b])
            if m < floor[b]:
                floor[b] += (m - floor[b]) * 0.5
            else:
                floor[b] += (m - floor[b]) * 0.03
            if floor[b] < -84.0:
                floor[b] = -84.0
            floors[t, b] = floor[b]
            above += min(max(bands[t, b] - floor[b] - 2.5, 0.0), 18.0)
            if 0 < b < count - 1:
                energy += 10.0 ** (bands[t, b] * 0.1)
        hops += 1
        if hops >= 75:
            before[:] = low
            low[:] = smooth
            hops = 0
        loud = 10 * np.log10(energy + 1e-12)
        if per[t] > 0.5 and above > 3.0 * count and loud > level:
            level += (loud - level) * 0.3
        else:
            level -= 0.03
        if level < -65.0:
            level = -65.0
        talker[t] = level
    return floors, talker


def inputs(bands, per, lag):
    """What the net gets, [n, 22]."""
    bands = bands.astype(np.float64)
    floors, talker = track(bands, per.astype(np.float64))
    return np.concatenate(
        [
            np.clip((bands - floors) / 12, 0, 3),
            np.clip((bands - talker[:, None]) / 20, -3, 1),
            per[:, None],
            (per * (lag - 33) / 23)[:, None],
        ],
        1,
    ).astype(np.float32)


@njit(cache=True)
def recur(x, wi, wh, bi, bh, wo, bo):
    """One GRU layer (r, z, n; the hidden bias inside r) and a logit a hop."""
    n, d = x.shape
    size = wo.shape[0]
    h, out = np.zeros(size, np.float32), np.zeros(n, np.float32)
    a, c = np.zeros(3 * size, np.float32), np.zeros(3 * size, np.float32)
    for t in range(n):
        for j in range(3 * size):
            p, q = bi[j], bh[j]
            for i in range(d):
                p += wi[j, i] * x[t, i]
            for i in range(size):
                q += wh[j, i] * h[i]
            a[j], c[j] = p, q
        o = bo
        for j in range(size):
            r = 1 / (1 + np.exp(-(a[j] + c[j])))
            z = 1 / (1 + np.exp(-(a[size + j] + c[size + j])))
            g = np.tanh(a[2 * size + j] + r * c[2 * size + j])
            h[j] = (1 - z) * g + z * h[j]
            o += wo[j] * h[j]
        out[t] = o
    return out


def load_weights(path):
    z = np.load(path)
    return [np.ascontiguousarray(z[k], dtype=np.float32) for k in ("Wi", "Wh", "bi", "bh", "wo")] + [np.float32(z["bo"])]


def logits(x, weights):
    """The logit of frame i, read LOOK_AHEAD hops later: at the end as if the last frame went on."""
    bands, per, lag = measure(x)
    heard = inputs(bands, per, lag)[:, : weights[0].shape[1]]
    return recur(np.concatenate([heard, np.repeat(heard[-1:], LOOK_AHEAD, 0)]), *weights)[LOOK_AHEAD:]


def decide(o, min_pause=250, on=ON, off=OFF):
    """Speech runs [[start_ms, end_ms], ...]."""
    mask, speaking = np.zeros(len(o), bool), False
    for i in range(len(o)):
        speaking = o[i] > off if speaking else o[i] > on
        mask[i] = speaking
    out = []
    for a, b in runs(mask, 10):
        if out and a - out[-1][1] < min_pause:
            out[-1][1] = int(b)
        else:
            out.append([int(a), int(b)])
    return [s for s in out if s[1] - s[0] >= 60]
