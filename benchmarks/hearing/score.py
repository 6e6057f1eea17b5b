#!/usr/bin/env python3
"""Score a pause/VAD tool.   score.py --holdfast PATH | --cmd '/path/tool {wav}' | --py others.py:silero  [--split dev] [--items] [--causal 10] [--json OUT]
The tool reads a 48 kHz mono s16 WAV and prints (last line) a JSON object:
  {"speech":[[start_ms,end_ms],...], "pauses":[[start_ms,end_ms],...], "nosignal":[[s,e],...], "cpu_s":0.001}
"speech" or "pauses" suffices (if pauses is absent it is the gaps >=250 ms between speech segments; leading/trailing
non-speech is never a pause). "nosignal" and "cpu_s" are optional.  Rules:
 frames 10 ms; +-50 ms collar at each true boundary and true gaps <250 ms are not scored.
 pauses: true gaps >=300 ms are required, 200..300 ms are optional (neither hit nor miss nor false);
 a reported pause (>=250 ms) matches with IoU>=0.5; reported pauses lying mostly in leading/trailing non-speech are ignored;
 Pauses may carry a third number, decided_at_ms (audio time consumed when the tool reported the END of the pause): decision delays are then printed.
 --causal N reruns the tool on N items cut at a random point; every edge older than 400 ms before the cut must already be the same.
 gaps that are mostly 'no signal' (mute) are optional.
"""

import argparse, importlib, json, os, shlex, subprocess, sys, time
import numpy as np
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
MINP = 250


def gaps(s):
    return [(s[i][1], s[i + 1][0]) for i in range(len(s) - 1)]


def ov(a, b):
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def iou(a, b):
    o = ov(a, b)
    return o / ((a[1] - a[0]) + (b[1] - b[0]) - o) if o else 0.0


def mask(segs, n):
    m = np.zeros(n, bool)
    for a, b in [q[:2] for q in segs]:
        m[max(0, int(round(a / 10))) : max(0, int(round(b / 10)))] = True
    return m


def group(it):
    g = it["group"]
    if g == "stationary":
        return {40: "stat40+30", 30: "stat40+30", 20: "stat20", 10: "stat10", 5: "stat5"}[it["snr"]]
    if g == "nonstationary":
        return {30: "nonst30+20", 20: "nonst30+20", 10: "nonst10", 5: "nonst5"}[it["snr"]]
    return g


def score_item(it, r):
    n = it["dur_ms"] // 10
    S = it["speech"]
    o = {"id": it["id"], "group": group(it), "sec": it["dur_ms"] / 1e3}
    G = gaps(S)
    care = np.ones(n, bool)
    t = mask(S, n)
    for a, b in S:
        for e in (a, b):
            care[max(0, (e - 50) // 10) : max(0, (e + 50 + 9) // 10)] = False
    for a, b in G:
        if b - a < MINP:
            care[a // 10 : -(-b // 10)] = False
    sp = r.get("speech")
    det = r.get("pauses")
    if sp is None:  # speech is what is not a pause, between first and last true speech
        sp = []
        if S:
            care[: S[0][0] // 10] = False
            care[S[-1][1] // 10 :] = False
        m = ~mask(det, n)
    else:
        m = mask(sp, n)
    o.update(
        tp=int((m & t & care).sum()),
        fp=int((m & ~t & care).sum()),
        fn=int((~m & t & care).sum()),
        tn=int((~m & ~t & care).sum()),
    )
    if det is None:
        det = gaps(sorted([q[:2] for q in sp]))
    o["delay"] = [d[2] - d[1] for d in det if len(d) > 2]
    det = sorted([tuple(d[:2]) for d in det if d[1] - d[0] >= MINP - 1e-6])
    lead = (-1e9, S[0][0]) if S else (-1e9, 1e9)
    tail = (S[-1][1], 1e9) if S else (1e9, 1e9)
    edge = [d for d in det if ov(d, lead) + ov(d, tail) > 0.5 * (d[1] - d[0])]
    det = [d for d in det if d not in edge]
    if not S:
        det, edge = [], []  # no speech at all: pauses are meaningless, frames tell
    ns = it.get("nosignal", [])
    req = []
    opt = []
    for g in G:
        d = g[1] - g[0]
        if d < 200:
            continue
        # a mute gap is optional only in the mute items (there speech was cut off by the mute)
        if d < 300 or ("mute" in it["id"] and sum(ov(g, q) for q in ns) > 0.5 * d):
            opt.append(g)
        else:
            req.append(g)
    cand = sorted([(iou(d, g), i, j) for i, d in enumerate(det) for j, g in enumerate(req) if iou(d, g) >= 0.5], reverse=True)
    ud = set()
    ug = set()
    pairs = []
    for q, i, j in cand:
        if i in ud or j in ug:
            continue
        ud.add(i)
        ug.add(j)
        pairs.append((det[i], req[j]))
    free = [d for i, d in enumerate(det) if i not in ud]
    fp = []
    optm = 0
    for d in free:
        if any(iou(d, g) >= 0.3 or ov(d, g) >= 0.6 * (d[1] - d[0]) for g in opt):
            optm += 1
        else:
            fp.append(d)
    o.update(
        ptp=len(pairs),
        pfp=len(fp),
        pfn=len(req) - len(pairs),
        nreq=len(req),
        ndet=len(pairs) + len(fp),
        ds=[d[0] - g[0] for d, g in pairs],
        de=[d[1] - g[1] for d, g in pairs],
        miss=[g for j, g in enumerate(req) if j not in ug],
        false=fp,
        hit_len=[g[1] - g[0] for _, g in pairs],
    )
    if S:
        lo, hi = S[0][0], S[-1][1]
        rt = sum(b - a for a, b in G if b - a >= MINP)
        dt = sum(max(0, min(b, hi) - max(a, lo)) for a, b in det if min(b, hi) - max(a, lo) >= 200)
        o.update(rt=rt, dt=dt)
    else:
        o.update(rt=0, dt=0)
    if r.get("nosignal") is not None:
        N = [d for d in r["nosignal"] if d[1] - d[0] > 0]
        gq = it.get("quiet_grey", [])
        o["ns_fa"] = sum(1 for d in N if (d[1] - d[0]) - sum(ov(d, q) for q in gq) > 300)
        R = [q for q in ns if q[1] - q[0] >= 3000]
        o["ns_n"] = len(R)
        o["ns_hit"] = sum(1 for q in R if sum(ov(q, d) for d in N) >= 0.5 * (q[1] - q[0]))
    o["cpu"] = r.get("cpu_s")
    return o


def agg(L):
    a = {}
    tp, fp, fn, tn = (sum(o[k] for o in L) for k in ("tp", "fp", "fn", "tn"))
    P = tp / max(1, tp + fp)
    R = tp / max(1, tp + fn)
    a["f_prec"], a["f_rec"], a["f_f1"] = P, R, 2 * P * R / max(1e-9, P + R)
    a["f_err"] = (fp + fn) / max(1, tp + fp + fn + tn)
    a["f_miss"] = fn / max(1, tp + fn)
    a["f_fa"] = fp / max(1, fp + tn)
    ptp, pfp, pfn = (sum(o[k] for o in L) for k in ("ptp", "pfp", "pfn"))
    P = ptp / max(1, ptp + pfp)
    R = ptp / max(1, ptp + pfn)
    a["p_prec"], a["p_rec"], a["p_f1"] = P, R, 2 * P * R / max(1e-9, P + R)
    a["p_n"] = ptp + pfn
    ds = np.array(sum((o["ds"] for o in L), []) or [np.nan])
    de = np.array(sum((o["de"] for o in L), []) or [np.nan])
    a["s_bias"], a["e_bias"] = float(np.median(ds)), float(np.median(de))
    a["s_med"], a["e_med"] = float(np.median(abs(ds))), float(np.median(abs(de)))
    a["s_p95"], a["e_p95"] = float(np.percentile(abs(ds), 95)), float(np.percentile(abs(de), 95))
    a["cnt_err"] = sum(abs(o["ndet"] - o["nreq"]) for o in L) / max(1, sum(o["nreq"] for o in L))
    rt = sum(o["rt"] for o in L)
    a["time_err"] = sum(abs(o["dt"] - o["rt"]) for o in L) / max(1, rt)
    a["time_bias"] = (sum(o["dt"] for o in L) - rt) / max(1, rt)
    if any("ns_fa" in o for o in L):
        a["ns_fa"] = sum(o.get("ns_fa", 0) for o in L)
        a["ns_rec"] = "%d/%d" % (sum(o.get("ns_hit", 0) for o in L), sum(o.get("ns_n", 0) for o in L))
    sec = sum(o["sec"] for o in L)
    c = [o["cpu"] for o in L if o["cpu"] is not None]
    a["cpu_s_per_h"] = sum(c) / sec * 3600 if len(c) == len(L) else None
    a["min"] = sec / 60
    return a


GROUPS = [
    "clean",
    "stat40+30",
    "stat20",
    "stat10",
    "stat5",
    "nonst30+20",
    "nonst10",
    "nonst5",
    "artifact",
    "nosignal",
    "natural",
]
HARD = ("stat5", "nonst5", "nonst10")


def core(o):
    return o["group"] not in HARD


def run(split, fn, jobs=1, setdir=None):
    d = os.path.join(setdir or os.path.join(HERE, "set"), split)
    L = json.load(open(os.path.join(d, "labels.json")))["items"]
    with ThreadPoolExecutor(jobs) as ex:
        R = list(ex.map(lambda it: fn(os.path.join(d, it["id"] + ".wav")), L))
    return [score_item(it, r) for it, r in zip(L, R)]


def cmd_fn(t):
    def cpu(args):
        p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        out = p.stdout.read()
        _, st, ru = os.wait4(p.pid, 0)
        p.returncode = st
        return out, ru.ru_utime + ru.ru_stime

    def f(wav):
        out, c = cpu([a.replace("{wav}", wav) for a in shlex.split(t)])
        r = None
        for line in out.decode().strip().splitlines()[::-1]:
            try:
                r = json.loads(line)
                break
            except Exception:
                pass
        if r is None:
            r = json.loads(out)
        r.setdefault("cpu_s", c)
        return r

    return f


def holdfast_fn(path):
    """`holdfast inspect` as a tool; its CPU time holds decoding, levels and loudness too."""
    run_tool = cmd_fn(shlex.quote(path) + " inspect --json {wav}")

    def f(wav):
        r = run_tool(wav)
        return dict(speech=r["speech"], pauses=r["speech_pauses"], nosignal=r["silences"], cpu_s=r["cpu_s"])

    return f


def py_fn(spec, kw):
    p, f = spec.split(":")
    p = p if os.path.exists(p) else os.path.join(HERE, p)
    sys.path.insert(0, os.path.dirname(os.path.abspath(p)))
    m = importlib.import_module(os.path.splitext(os.path.basename(p))[0])
    g = getattr(m, f)
    return lambda w: g(w, **kw)


HEAD = (
    "| tool | set | frame F1 | err % | miss % | FA % | pause P | pause R | pause F1 | start err med/p95 (bias) | end err med/p95 (bias) | count err % | time err % (bias) | nosig FA, rec | CPU s/h |\n|"
    + "---|" * 15
)


def row(name, g, a):
    return (
        "| %s | %s | %.3f | %.1f | %.1f | %.1f | %.3f | %.3f | **%.3f** | %.0f/%.0f (%+.0f) | %.0f/%.0f (%+.0f) | %.0f | %.0f (%+.0f) | %s | %s |"
        % (
            name,
            g,
            a["f_f1"],
            100 * a["f_err"],
            100 * a["f_miss"],
            100 * a["f_fa"],
            a["p_prec"],
            a["p_rec"],
            a["p_f1"],
            a["s_med"],
            a["s_p95"],
            a["s_bias"],
            a["e_med"],
            a["e_p95"],
            a["e_bias"],
            100 * a["cnt_err"],
            100 * a["time_err"],
            100 * a["time_bias"],
            ("%d, %s" % (a["ns_fa"], a["ns_rec"]) if "ns_fa" in a else "-"),
            ("%.2f" % a["cpu_s_per_h"] if a["cpu_s_per_h"] is not None else "-"),
        )
    )


def table(name, O, groups=True):
    s = [
        row(name, "ALL", agg(O)),
        row(name, "CORE", agg([o for o in O if core(o)])),
        row(name, "HARD", agg([o for o in O if not core(o)])),
    ]
    if groups:
        for g in GROUPS:
            L = [o for o in O if o["group"] == g]
            if L:
                s.append(row(name, g, agg(L)))
    return "\n".join(s)


def causal(split, fn, N, setdir=None, D=400):
    import wave, random, tempfile

    d = os.path.join(setdir or os.path.join(HERE, "set"), split)
    L = json.load(open(os.path.join(d, "labels.json")))["items"]
    r = random.Random(5)
    bad = []
    n = 0
    for it in r.sample([i for i in L if i["speech"]], N):
        w = os.path.join(d, it["id"] + ".wav")
        cut = r.randint(it["dur_ms"] // 3, it["dur_ms"] - 1000)
        with wave.open(w) as f:
            p = f.getparams()
            data = f.readframes(cut * 48)
        with tempfile.TemporaryDirectory() as td:
            t = os.path.join(td, it["id"] + "_cut.wav")
            with wave.open(t, "wb") as f:
                f.setparams(p)
                f.writeframes(data)
            A, B = fn(w), fn(t)
        E = [
            sorted(e for q in (R.get("pauses") if R.get("speech") is None else R["speech"]) for e in q[:2] if e < cut - D)
            for R in (A, B)
        ]
        for X, Y in (E, E[::-1]):
            for e in X:
                n += 1
                if not any(abs(e - y) <= 20 for y in Y):
                    bad.append((it["id"], cut, e))
    return n, bad


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--split", default="dev")
    ap.add_argument("--cmd")
    ap.add_argument("--holdfast")
    ap.add_argument("--py")
    ap.add_argument("--kw", default="{}")
    ap.add_argument("--jobs", type=int, default=1)
    ap.add_argument("--name", default="tool")
    ap.add_argument("--set")
    ap.add_argument("--nogroups", action="store_true")
    ap.add_argument("--items", action="store_true")
    ap.add_argument("--json")
    ap.add_argument("--causal", type=int, default=0)
    a = ap.parse_args()
    fn = holdfast_fn(a.holdfast) if a.holdfast else cmd_fn(a.cmd) if a.cmd else py_fn(a.py, json.loads(a.kw))
    t = time.time()
    O = run(a.split, fn, a.jobs, a.set)
    print(HEAD)
    print(table(a.name, O, not a.nogroups))
    dl = sum((o["delay"] for o in O), [])
    if dl:
        print("decision delay of pause ends: median %.0f p95 %.0f max %.0f ms" % (np.median(dl), np.percentile(dl, 95), max(dl)))
    if a.causal:
        n, bad = causal(a.split, fn, a.causal, a.set)
        print("causality: %d edges compared, %d differ" % (n, len(bad)), bad[:5])
    if a.items:
        for o in O:
            print(
                "%-26s err %5.1f%% (m%d f%d) pauses req %d hit %d false %d  miss %s false %s"
                % (
                    o["id"],
                    100 * (o["fp"] + o["fn"]) / max(1, o["tp"] + o["fp"] + o["fn"] + o["tn"]),
                    o["fn"],
                    o["fp"],
                    o["nreq"],
                    o["ptp"],
                    o["pfp"],
                    o["miss"],
                    o["false"],
                )
            )
    if a.json:
        json.dump(dict(items=O, all=agg(O)), open(a.json, "w"))
