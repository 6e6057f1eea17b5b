#!/usr/bin/env python3
"""Trains the net: train.py OUT.npz FOLDER_OF_MIXES [--size 24] [--steps 4000] [--minutes 0]"""

import argparse, glob, os, time
import jax, jax.numpy as jnp, numpy as np, optax
from features import BANDS, INPUTS, LOOK_AHEAD, inputs

LENGTH = 500  # hops of a sequence


def own_gain(n, r):
    """A microphone's own gain control: steps of 6 dB and more, sudden or over most of a second."""
    at, gain, now = 0, np.zeros(n + 500), 0.0
    while at < n:
        length = int(r.uniform(250, 500))
        gain[at : at + length] = now
        now = float(r.choice([-12, -6, 0, 6, 12]))
        at += length
    m = 2 if r.random() < 0.5 else 80
    return np.convolve(np.pad(gain, (m // 2, m), mode="edge"), np.ones(m) / m, "valid")[:n]


def other_microphone(bands, r):
    """As a darker, brighter, more or less sensitive one gives them: tilts of up to 14 dB, bumps, gain."""
    gain = r.uniform(-14, 9) * np.linspace(0, 1, BANDS)
    gain = gain - gain.mean() * r.uniform(0, 1)
    gain += np.interp(np.arange(BANDS), [0, 3, 6, 9], r.normal(0, 3.5, 4)) + r.uniform(-8, 5)
    gain = np.repeat(gain[None], len(bands), 0)
    if r.random() < 0.35:
        gain += own_gain(len(bands), r)[:, None]
    return np.maximum(bands + gain.astype(np.float32), -90)


def sequences(folder):
    """Each mix as it is, and once more by another microphone."""
    xs, ys, ws, r = [], [], [], np.random.default_rng(77)
    for path in sorted(glob.glob(os.path.join(folder, "*.npz"))):
        z = {k: v for k, v in np.load(path).items()}
        for a, b, other in [(a, b, other) for a, b in zip(z["offsets"], z["offsets"][1:]) for other in (False, True)]:
            bands = other_microphone(z["bands"][a:b], r) if other else z["bands"][a:b]
            x = inputs(bands, z["per"][a:b], z["lag"][a:b])
            y, w = z["label"][a:b].astype(np.float32), z["weight"][a:b].copy()
            for j in np.where(np.diff(y) != 0)[0]:  # where exactly an edge is, nobody knows
                w[j : j + 2] *= 0.4
            y = np.concatenate([np.full(LOOK_AHEAD, y[0]), y[:-LOOK_AHEAD]])
            w = np.concatenate([np.zeros(LOOK_AHEAD, np.float32), w[:-LOOK_AHEAD]])
            for k in range(max(1, len(y) // LENGTH)):
                part = slice(k * LENGTH, (k + 1) * LENGTH)
                xx, yy, ww = np.zeros((LENGTH, INPUTS), np.float32), np.zeros(LENGTH, np.float32), np.zeros(LENGTH, np.float32)
                n = len(y[part])
                xx[:n], yy[:n], ww[:n] = x[part], y[part], w[part]
                if k:
                    ww[:60] = 0  # the state before isn't known
                xs.append(xx)
                ys.append(yy)
                ws.append(ww)
    return np.stack(xs), np.stack(ys), np.stack(ws)


def end_early(x, w, r):
    """Some takes end within a word: from there on what was heard last goes on, as at the end of a take, and no longer."""
    for k in range(len(x) // 8):
        end = int(r.integers(80, LENGTH - 20))
        x[k, end:] = x[k, end - 1]
        w[k, end - 1 : end + LOOK_AHEAD] *= 3
        w[k, end + LOOK_AHEAD :] = 0


def forward(p, x):
    size = p["wo"].shape[0]
    own = x @ p["Wi"].T + p["bi"]

    def step(h, z):
        u = h @ p["Wh"].T + p["bh"]
        r, g = jax.nn.sigmoid(z[:, :size] + u[:, :size]), jax.nn.sigmoid(z[:, size : 2 * size] + u[:, size : 2 * size])
        h = (1 - g) * jnp.tanh(z[:, 2 * size :] + r * u[:, 2 * size :]) + g * h
        return h, h @ p["wo"] + p["bo"]

    return jax.lax.scan(step, jnp.zeros((x.shape[0], size)), jnp.swapaxes(own, 0, 1), unroll=5)[1].T


def loss(p, x, y, w):
    return (w * optax.sigmoid_binary_cross_entropy(forward(p, x), y)).sum() / w.sum()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("out")
    ap.add_argument("folder")
    ap.add_argument("--size", type=int, default=24)
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--rate", type=float, default=6e-3)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--start")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    x, y, w = sequences(a.folder)
    print(x.shape, "speech %.3f" % ((y * w).sum() / w.sum()), flush=True)
    rng, h = np.random.default_rng(a.seed), a.size
    p = dict(
        Wi=rng.normal(0, INPUTS**-0.5, (3 * h, INPUTS)),
        Wh=rng.normal(0, h**-0.5, (3 * h, h)),
        bi=np.zeros(3 * h),
        bh=np.zeros(3 * h),
        wo=rng.normal(0, 0.3, h),
        bo=np.zeros(()),
    )
    if a.start:
        p = dict(np.load(a.start))
    p = {k: jnp.asarray(v, jnp.float32) for k, v in p.items()}
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(a.rate, a.steps, 0.02)))
    state, began, mean, average = rule.init(p), time.time(), None, p

    @jax.jit
    def update(p, state, x, y, w):
        value, grad = jax.value_and_grad(loss)(p, x, y, w)
        change, state = rule.update(grad, state, p)
        return optax.apply_updates(p, change), state, value

    @jax.jit
    def follow(average, p, share):
        return {k: average[k] + (p[k] - average[k]) * share for k in p}

    for i in range(a.steps):
        q = rng.integers(0, len(x), a.batch)
        heard, weight = x[q], w[q]
        end_early(heard, weight, rng)
        p, state, value = update(p, state, heard, y[q], weight)
        average = follow(average, p, max(0.005, 1 / (i + 1)))
        mean = float(value) if mean is None else 0.98 * mean + 0.02 * float(value)
        if i % 50 == 0 or i == a.steps - 1:
            print(i, "%.4f" % mean, "%.0f s" % (time.time() - began), flush=True)
            np.savez(a.out, **{k: np.asarray(v) for k, v in average.items()})
    np.savez(a.out, **{k: np.asarray(v) for k, v in average.items()})


if __name__ == "__main__":
    main()
