#!/usr/bin/env python3
"""Draws runs of speech over levels, to be looked at: draw.py HOLDFAST OUT.png FILE…   (needs matplotlib)

Real voices for it: the Debian packages pocketsphinx-testdata, alsa-utils and codec2-examples.
"""

import json, subprocess, sys
import matplotlib
import numpy as np
from voices import load

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main():
    holdfast, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    figure, axes = plt.subplots(len(files), 1, figsize=(18, 2.1 * len(files)), squeeze=False)
    for ax, path in zip(axes[:, 0], files):
        said = json.loads(subprocess.run([holdfast, "inspect", "--json", path], capture_output=True, check=True).stdout)
        power = np.convolve(load(path) ** 2, np.ones(480) / 480, "same")[::240]
        ax.plot(np.arange(len(power)) * 0.005, 10 * np.log10(power + 1e-12), lw=0.6, color="k")
        ax.set_ylim(-90, 0)
        ax.set_title(path.split("/")[-1], fontsize=8, pad=2)
        for start, end in said["speech"]:
            ax.axvspan(start / 1000, end / 1000, color="orange", alpha=0.35)
    figure.tight_layout()
    figure.savefig(out, dpi=55)


main()
