"""Where the speech comes from: Debian packages, fetched and unpacked under a cache, never installed or shipped.

A pool is one speaker or a group of them. A clip has its true speech segments by energy, found while it is clean.
"""

import glob, os, pickle, subprocess
import numpy as np
from scipy.signal import butter, sosfiltfilt
from texts import TEXT

FS = 48000
_BAND = butter(2, [80, 8000], "bandpass", fs=FS, output="sos")

AST = "asterisk-core-sounds-%s-g722/usr/share/asterisk/sounds/*/*.g722"
# name of a pool: (package, pattern below it)
RECORDED = {
    "ast_en": ("asterisk-core-sounds-en-g722", AST % "en"),
    "ast_es": ("asterisk-core-sounds-es-g722", AST % "es"),
    "ast_fr": ("asterisk-core-sounds-fr-g722", AST % "fr"),
    "ast_it": ("asterisk-core-sounds-it-g722", AST % "it"),
    "ast_ru": ("asterisk-core-sounds-ru-g722", AST % "ru"),
    "armelle": ("asterisk-prompt-fr-armelle", "asterisk-prompt-fr-armelle/usr/share/asterisk/sounds/**/*.*"),
    "es_co": ("asterisk-prompt-es-co", "asterisk-prompt-es-co/usr/share/asterisk/sounds/**/*.*"),
    "menardi": ("asterisk-prompt-it-menardi-wav", "asterisk-prompt-it-menardi-wav/usr/share/asterisk/sounds/**/*.wav"),
    "fillets_cs": ("fillets-ng-data-cs", "fillets-ng-data-cs/usr/share/games/fillets-ng/sound/**/cs/*.ogg"),
    "fillets_nl": ("fillets-ng-data-nl", "fillets-ng-data-nl/usr/share/games/fillets-ng/sound/**/nl/*.ogg"),
}
HEDGEHOGS = "hedgewars-data/usr/share/games/hedgewars/Data/Sounds/voices/%s/*.ogg"
for _v in (
    "British",
    "Classic",
    "Default",
    "Default_es",
    "Default_pl",
    "Default_ru",
    "Default_uk",
    "HillBilly",
    "Mobster",
    "Pirate",
    "Russian",
    "Russian_pl",
    "Surfer",
):
    RECORDED["hog_" + _v] = ("hedgewars-data", HEDGEHOGS % _v)
KTUBERLING = "ktuberling-data/usr/share/ktuberling/sounds/%s/*"
for _l in "fr en de wa gl nds sr sv pt nl it ga fi ro".split():
    RECORDED["kt_" + _l] = ("ktuberling-data", KTUBERLING % _l)
KLETTRES = "klettres-data/usr/share/klettres/%s/*/*"
for _l in "cs da de en_GB es fr hu it lt nds nl pt_BR ru tn".split():
    RECORDED["kl_" + _l] = ("klettres-data", KLETTRES % _l)
TUXPAINT = "tuxpaint-stamps-default/usr/share/tuxpaint/stamps/**/*_desc_%s.ogg"
for _l in "fr ru ro bg es be el da lt nl".split():
    RECORDED["tux_" + _l] = ("tuxpaint-stamps-default", TUXPAINT % _l)
SKIP = (
    "beep",
    "tone",
    "monkeys",
    "silence",
    "ring",
    "click",
    "tada",
    "haha",
    "laugh",
    "music",
    "nightmare",
    "echo-",
    "screaming",
    "hello-world-x",
)
MUSIC = {
    "train": ("hyperrogue-music", "singularity-music", "wesnoth-1.16-music", "warzone2100-music", "asc-music", "fillets-ng-data"),
    "held": ("nexuiz-music", "lincity-ng-data", "pingus-data"),
    "check": ("unknown-horizons", "drascula-music"),
}

# name: (engine, voice, words a minute, pitch, language)
SYNTHETIC = {
    "es_us": ("espeak", "en-us", 165, 45, "en"),
    "es_gb": ("espeak", "en-gb+f3", 175, 55, "en"),
    "es_de": ("espeak", "de", 160, 40, "de"),
    "es_fr": ("espeak", "fr+f2", 165, 60, "fr"),
    "es_pt": ("espeak", "pt+m3", 170, 45, "pt"),
    "es_pl": ("espeak", "pl+f4", 155, 50, "pl"),
    "fl_rms": ("flite", "rms", None, None, "en"),
    "fl_slt": ("flite", "slt", None, None, "en"),
    "fl_awb": ("flite", "awb", None, None, "en"),
    "fl_kal": ("flite", "kal16", None, None, "en"),
    "es_f4": ("espeak", "en-us+f4", 150, 60, "en"),
    "es_m7": ("espeak", "en+m7", 190, 30, "en"),
    "es_m2": ("espeak", "en-gb+m2", 140, 35, "en"),
    "es_whisper": ("espeak", "en-us+whisper", 160, 50, "en"),
    "es_croak": ("espeak", "en-us+croak", 150, 50, "en"),
    "es_it": ("espeak", "it+f1", 160, 55, "it"),
    "es_cs": ("espeak", "cs+m4", 160, 40, "cs"),
    "es_nl": ("espeak", "nl+m6", 165, 35, "nl"),
    "es_ru": ("espeak", "ru+f5", 165, 50, "ru"),
    "es_zh": ("espeak", "cmn+f2", 160, 60, "zh"),
    "es_hu": ("espeak", "hu+m1", 160, 45, "hu"),
    "es_sv": ("espeak", "sv+f3", 165, 50, "sv"),
    "es_tr": ("espeak", "tr+m5", 160, 40, "tr"),
    "es_ro": ("espeak", "ro+m3", 165, 45, "ro"),
    "es_id": ("espeak", "id+f4", 170, 50, "id"),
    "es_el": ("espeak", "el+m4", 165, 45, "el"),
    "es_ja": ("espeak", "ja+f2", 165, 55, "ja"),
    "es_ar": ("espeak", "ar+m1", 155, 40, "ar"),
    "es_sw": ("espeak", "sw+f5", 160, 50, "sw"),
    "es_vi": ("espeak", "vi+m7", 165, 45, "vi"),
    **{"es_any%d" % k: ("espeak", "any", k, None, None) for k in range(6)},  # another voice for every sentence
    "fe_kal": ("festival", "kal_diphone", None, None, "en"),
    "fe_ked": ("festival", "ked_diphone", None, None, "en"),
    "fe_slt": ("festival", "cmu_us_slt_arctic_hts", None, None, "en"),
    "fe_lp": ("festival", "lp_diphone", None, None, "it"),
    "fe_pc": ("festival", "pc_diphone", None, None, "it"),
    "fe_machac": ("festival", "czech_machac", None, None, "cs"),
    "fe_ph": ("festival", "czech_ph", None, None, "cs"),
    "fe_dita": ("festival", "czech_dita", None, None, "cs"),
    "fe_krb": ("festival", "czech_krb", None, None, "cs"),
    "fe_te": ("festival", "telugu_NSK_diphone", None, None, "te"),
    "fe_hi": ("festival", "hindi_NSK_diphone", None, None, "hi"),
    "fe_ona": ("festival", "upc_ca_ona_hts", None, None, "ca"),
    "fe_lj": ("festival", "suo_fi_lj_diphone", None, None, "fi"),
    "fe_mv": ("festival", "hy_fi_mv_diphone", None, None, "fi"),
}
VARIANTS = (
    "f1 f2 f4 f5 m2 m3 m4 m6 m7 m8 croak klatt klatt2 klatt3 klatt4 Alex Alicia Andrea Andy Annie adam anika "
    "announcer aunty benjamin boris caleb david ed edward edward2 grandma grandpa Gene iven john Lee Mario max Michael Mike "
    "norbert Nguyen pablo paul pedro robert steph travis victor zac linda belinda marcelo"
).split()
# The voices of the developers' set; the scores on them flatter a net that was trained on them.
DEV = [
    "ast_en",
    "ast_es",
    "ast_en",
    "ast_es",
    "fl_rms",
    "fl_slt",
    "fl_awb",
    "fl_kal",
    "es_us",
    "es_gb",
    "es_de",
    "es_fr",
    "es_pt",
    "es_pl",
]
# Never trained on: other people, and with tr, hu, sv and fi other languages.
HELD = ["ast_ru", "menardi"] * 4 + ["fe_dita", "fe_lj", "fe_mv", "es_tr", "es_hu", "es_sv"]
# Nor on these: what there is to choose is chosen by them, so that `held` needn't be looked at for it.
CHECK = ["tux_el", "tux_bg"] * 3 + ["tux_da", "tux_lt"] * 2 + ["kt_sr", "kt_ga", "fe_te", "fe_hi", "es_ja", "es_ar", "es_sw", "es_vi"]
# Out of it altogether: music, effects and room in the clips themselves make their truth doubtful.
DOUBTFUL = [
    "armelle",
    "fillets_cs",
    "fillets_nl",
    "hog_British",
    "hog_Classic",
    "hog_Default_es",
    "kl_da",
    "kl_fr",
    "kl_hu",
    "kl_pt_BR",
]
_people = ["ast_en", "ast_es"] * 4 + ["ast_fr", "es_co"] * 3
_hogs = [n for n in RECORDED if n.startswith("hog_") and n not in DOUBTFUL]
_flite = ["fl_rms", "fl_slt", "fl_awb", "fl_kal"] * 2
_festival = ["fe_kal", "fe_ked", "fe_slt", "fe_lp", "fe_pc", "fe_machac", "fe_ph", "fe_ona", "fe_krb"]
_espeak = [n for n in SYNTHETIC if n.startswith("es_") and n not in HELD + CHECK]
_letters = ["kt_fr", "kt_en", "kt_de"] * 2 + [n for n in RECORDED if n.startswith("kl_") and n not in DOUBTFUL]
_letters += ["kt_nl", "kt_it", "kt_pt", "kt_ro", "kt_gl", "kt_wa"]
_stamps = ["tux_fr", "tux_ru", "tux_ro", "tux_es", "tux_be"] * 3 + ["tux_nl"]
TRAIN = _stamps + [n for n in _espeak if "any" in n] + _people + _hogs + _flite + _festival + _espeak + _letters
BABBLE = {
    "dev": ["ast_es", "es_de", "es_fr", "fl_rms", "fl_slt", "es_gb"],
    "train": ["ast_es", "es_de", "es_fr", "fl_rms", "fl_slt", "es_gb", "ast_fr", "fe_kal", "fe_slt", "es_co"],
    "held": ["ast_ru", "menardi", "fe_mv", "fe_dita", "fe_lj", "es_sv"],
    "check": ["tux_el", "tux_bg", "tux_da", "fe_te", "es_ja", "es_sw"],
}
SETS = {"dev": DEV, "held": HELD, "check": CHECK, "train": TRAIN}


def fetch(package, cache):
    """The folder a package is unpacked in."""
    debs, unpacked = os.path.join(cache, "deb"), os.path.join(cache, "x")
    target = os.path.join(unpacked, package)
    if os.path.isdir(target):
        return target
    os.makedirs(debs, exist_ok=True)
    os.makedirs(unpacked, exist_ok=True)
    if not glob.glob(os.path.join(debs, package + "_*.deb")):
        subprocess.run(["apt-get", "download", "-qq", package], cwd=debs, check=True, stderr=subprocess.DEVNULL)
    part = "%s.%d" % (target, os.getpid())
    subprocess.run(["dpkg", "-x", glob.glob(os.path.join(debs, package + "_*.deb"))[0], part], check=True)
    try:
        os.rename(part, target)
    except OSError:
        pass  # another process was faster
    return target


def load(path, seconds=None):
    """Mono, 48 kHz, float64."""
    command = ["ffmpeg", "-v", "error", "-nostdin"] + (["-f", "g722"] if path.endswith(".g722") else [])
    command += (["-t", str(seconds)] if seconds else []) + ["-i", path, "-f", "f32le", "-ac", "1", "-ar", str(FS), "-"]
    return np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.float32).astype(np.float64)


def envelope(x):
    """80-8000 Hz energy in dB, 10 ms window, 5 ms hop; index i is centred on (i + 0.5) * 5 ms."""
    pad = int(0.1 * FS)
    y = sosfiltfilt(_BAND, np.concatenate([np.zeros(pad), x, np.zeros(pad)]))[pad:-pad]
    n = len(y) // 240
    e = (y[: n * 240].reshape(n, 240) ** 2).mean(1)
    return 10 * np.log10(np.convolve(np.pad(e, 1, mode="edge"), [0.25, 0.5, 0.25], "valid") + 1e-11)


def runs(mask, hop=1):
    d = np.diff(np.concatenate([[0], np.asarray(mask).astype(int), [0]]))
    return [(a * hop, b * hop) for a, b in zip(np.where(d == 1)[0], np.where(d == -1)[0])]


def synthesize(kind, voice, speed, pitch, text, path):
    quiet = dict(check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if kind == "espeak":
        subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", path, text], **quiet)
    elif kind == "flite":
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", path], **quiet)
    else:
        code = "latin-1" if voice in ("lp_diphone", "pc_diphone", "suo_fi_lj_diphone", "hy_fi_mv_diphone") else "iso-8859-2"
        code = "latin-1" if "ona" in voice else "utf-8" if "NSK" in voice else code
        text = text.encode(code, "replace")
        subprocess.run(["text2wave", "-eval", "(voice_%s)" % voice, "-o", path], input=text, **quiet)


def any_voices(seed):
    """Sixty sentences, each in one of espeak's 50 odd voices at some pitch and pace; of the trained languages alone."""
    r, known = np.random.default_rng([5, seed]), []
    languages = [q for q in ("en de fr pt pl it cs ca nl ru zh ro id").split()]
    names = {"en": "en-us", "fr": "fr-fr", "zh": "cmn"}
    for _ in range(60):
        q = languages[r.integers(len(languages))]
        voice = "%s+%s" % (names.get(q, q), VARIANTS[r.integers(len(VARIANTS))])
        known.append((voice, int(r.integers(115, 230)), int(r.integers(15, 90)), TEXT[q][r.integers(len(TEXT[q]))]))
    return known


def raw_pool(name, cache):
    """[(key, samples)] of a pool, kept in the cache."""
    os.makedirs(os.path.join(cache, "pool"), exist_ok=True)
    kept = os.path.join(cache, "pool", name + ".npz")
    if os.path.exists(kept):
        z = np.load(kept)
        return [(k, z[k].astype(np.float64)) for k in z.files]
    out = {}
    if name in SYNTHETIC:
        kind, voice, speed, pitch, language = SYNTHETIC[name]
        path = os.path.join(cache, "pool", "_%s.%d.wav" % (name, os.getpid()))
        sentences = [(voice, speed, pitch, text) for text in TEXT[language]] if language else any_voices(speed)
        for i, (voice, speed, pitch, text) in enumerate(sentences):
            synthesize(kind, voice, speed, pitch, text, path)
            out["%s_%02d" % (name, i)] = load(path).astype(np.float32)
        os.remove(path)
    else:
        package, pattern = RECORDED[name]
        fetch(package, cache)
        files = [f for f in sorted(glob.glob(os.path.join(cache, "x", pattern), recursive=True)) if os.path.isfile(f)]
        files = [f for f in files if not any(k in os.path.basename(f) for k in SKIP) and "/silence/" not in f]
        if name not in ("ast_en", "ast_es"):  # those are whole in the developers' set
            files = files[:: max(1, len(files) // (40 if name[:3] in ("kl_", "kt_") else 150))]
        for f in files:
            try:
                y = load(f)
            except subprocess.CalledProcessError:
                continue  # an empty file
            if 0.35 * FS < len(y) < 30 * FS and np.abs(y).max() > 0.01:
                out[os.path.basename(f) if os.path.basename(f) not in out else f.replace("/", "_")] = y.astype(np.float32)
    part = "%s.%d.npz" % (kept, os.getpid())
    np.savez(part, **out)
    os.replace(part, kept)
    return [(k, v.astype(np.float64)) for k, v in out.items()]


_clips = {}


def clips(name, cache):
    """[dict(x = trimmed clip at RMS 1 of its speech, segs = [(ms, ms)], dur = ms)]; the DC part removed."""
    if name in _clips:
        return _clips[name]
    kept = os.path.join(cache, "pool", name + ".clips")
    if os.path.exists(kept):
        with open(kept, "rb") as f:
            _clips[name] = pickle.load(f)
        return _clips[name]
    known = []
    for key, x in raw_pool(name, cache):
        x = x - x.mean()
        d = envelope(x)
        known.append((key, x, d, np.percentile(d, 95)))
    result = []
    floor = np.percentile([d.min() - ref for _, _, d, ref in known], 20)  # the pool's noise, relative to its clips
    for key, x, d, ref in known:
        joined = []
        for a, b in runs(d > ref + max(-36.0, min(floor + 9, -22)), 5):
            if joined and a - joined[-1][1] < 60:
                joined[-1] = (joined[-1][0], b)
            else:
                joined.append((a, b))
        segs = [(a, b) for a, b in joined if not (b - a < 25 or (b - a < 60 and d[a // 5 : b // 5].max() < ref - 22))]
        if not segs:
            continue
        first, last = max(0, segs[0][0] - 30), min(len(x) * 1000 // FS, segs[-1][1] + 60)
        y = x[first * 48 : last * 48].copy()
        y[:240] *= np.linspace(0, 1, 240)
        y[-240:] *= np.linspace(1, 0, 240)
        active = np.zeros(len(y), bool)
        for a, b in segs:
            active[(a - first) * 48 : (b - first) * 48] = True
        level = np.sqrt((y[active] ** 2).mean())
        result.append(
            dict(
                key=key,
                x=(y / level).astype(np.float32),
                segs=[(int(a - first), int(b - first)) for a, b in segs],
                dur=len(y) // 48,
            )
        )
    part = "%s.%d" % (kept, os.getpid())
    with open(part, "wb") as f:
        pickle.dump(result, f)
    os.replace(part, kept)
    _clips[name] = result
    return result
