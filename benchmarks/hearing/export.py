#!/usr/bin/env python3
"""Writes the trained net as Swift, and what holds Swift to it: export.py WEIGHTS.npz REPOSITORY"""

import base64, json, os, sys
import numpy as np
import features
from features import INPUTS, inputs, load_weights, measure, recur


def main():
    wi, wh, bi, bh, wo, bo = load_weights(sys.argv[1])
    size = len(wo)
    gates, biases = [], []
    for g in range(0, size, 8):
        rows = [np.arange(g, g + 8) + k * size for k in range(3)]
        for w in (wi, wh):
            for i in range(w.shape[1]):
                gates += [w[r, i] for r in rows]
        r, z, n = rows
        biases += [bi[r] + bh[r], bi[z] + bh[z], bi[n], bh[n]]
    flat = np.concatenate(gates + biases + [wo, [bo]]).astype("<f4")
    text = base64.b64encode(flat.tobytes()).decode()
    lines = "\n".join("      " + text[i : i + 100] for i in range(0, len(text), 100))
    with open(os.path.join(sys.argv[2], "Sources/Signal/Speech/TrainedWeights.swift"), "w") as f:
        f.write("// Written by benchmarks/hearing/export.py; %d weights.\n\nextension SpeechWeights {\n" % len(flat))
        f.write(
            '  static let trained = SpeechWeights(\n    size: %d, inputs: %d,\n    base64: """\n%s\n      """)\n}\n'
            % (size, INPUTS, lines)
        )
    golden(sys.argv[1], sys.argv[2])


def golden(path, repository):
    """Two seconds of arithmetic: a voice's harmonics with syllables, noise under it."""
    t = np.arange(96000) / 48000
    x = np.zeros(96000)
    for h in range(1, 30):
        x += np.sin(2 * np.pi * 140 * h * t + h * h) / h * np.exp(-(((140 * h - 700) / 900) ** 2))
    x *= np.maximum(0, np.sin(2 * np.pi * 2 * t)) ** 0.5 * 0.1
    seed, noise = 1, np.zeros(96000)
    for i in range(96000):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        noise[i] = seed / 2**31 - 1
    x = np.round((x + noise * 0.002) * 32768) / 32768
    bands, per, lag = measure(x)
    values = inputs(bands, per, lag)
    o = recur(values, *load_weights(path))
    out = dict(
        about="Two seconds by GoldenTests.signal(): what the net gets of every tenth hop, and every logit.",
        inputs=[[round(float(v), 4) for v in row] for row in values[5::10]],
        logits=[round(float(v), 3) for v in o],
    )
    with open(os.path.join(repository, "testaudio/speech_golden.json"), "w") as f:
        f.write(json.dumps(out) + "\n")


main()
