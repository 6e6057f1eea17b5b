#!/usr/bin/env python3
"""Makes the inputs of the test cases.   make_inputs.py OUT [--only B,C,E,G]
Needs only Python; opusenc and ffmpeg for the Opus and FLAC files (left out and noted in manifest.json if absent).
The same call gives the same bytes each time; OUT/manifest.json says what is true of every file."""
import argparse, os, sys
here = os.path.dirname(os.path.abspath(__file__)); sys.path.insert(0, os.path.join(here, 'gen'))
sys.dont_write_bytecode = True
import common, hand
ap = argparse.ArgumentParser(description=__doc__); ap.add_argument('out')
ap.add_argument('--only', default='', metavar='GROUPS', help='letters of the groups to make, e.g. B,C,E,G')
a = ap.parse_args()
only = [g for g in a.only.split(',') if g]
bad = [g for g in only if g not in tuple('ABCDEFGHI')]
if bad: ap.error('no such group: ' + ', '.join(bad))
root = os.path.abspath(a.out); os.makedirs(root, exist_ok=True)
o = common.Out(root); hand.make(o, only); o.save()
print('%d files in %s, %d left out' % (len(o.items), root, len(o.skipped)))
