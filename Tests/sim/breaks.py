#!/usr/bin/env python3
"""Eight broken builds, each of which the simulator has to find.

  Tests/sim/breaks.py [--scratch DIR] [--sessions N] [NUMBER…]

Copies the tree, applies one patch of Tests/sim/breaks after the other, builds the simulator and lets it look for a session
that breaks a rule. Says the seed, or that none was found; exit 0 where all were found. The first build takes minutes.
"""
import argparse, filecmp, glob, os, re, shutil, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
options = argparse.ArgumentParser()
options.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "holdfast-breaks"))
options.add_argument("--sessions", type=int, default=20000)
options.add_argument("numbers", nargs="*")
options = options.parse_args()

tree = os.path.join(options.scratch, "tree")
os.makedirs(tree, exist_ok=True)
files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=True).stdout
for name in filter(None, files.decode().split("\0")):
    source, target = os.path.join(root, name), os.path.join(tree, name)
    if not os.path.isfile(source) or os.path.isfile(target) and filecmp.cmp(source, target, shallow=False):
        continue
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)


def build():
    done = subprocess.run(["scripts/steady", "swift", "build", "-c", "release", "--product", "HoldfastSim"], cwd=tree, capture_output=True, text=True)
    if done.returncode:
        sys.exit("it doesn't build:\n" + done.stdout[-3000:])


missed = 0
for path in sorted(glob.glob(os.path.join(here, "breaks", "*.patch"))):
    name = os.path.basename(path)[:-6]
    if options.numbers and name.split("-")[0] not in options.numbers:
        continue
    subprocess.run(["patch", "-s", "-p1", "-i", path], cwd=tree, check=True)
    try:
        build()
        done = subprocess.run([os.path.join(tree, ".build/release/HoldfastSim"), "--first", "--sessions", str(options.sessions)], capture_output=True, text=True)
        found = re.search(r"^seed (\d+): (.*)", done.stdout, re.M)
        missed += not found
        print(f"{name}: " + (f"seed {found[1]}: {found[2][:160]}" if found else f"NOT FOUND in {options.sessions} sessions"), flush=True)
    finally:
        subprocess.run(["patch", "-s", "-R", "-p1", "-i", path], cwd=tree, check=True)
sys.exit(1 if missed else 0)
