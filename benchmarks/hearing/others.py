"""Other detectors, to be scored on the same files in the same run: score.py --py others.py:silero (webrtc, ten, ours).

`ours` is the reference in Python: score.py --py others.py:ours --kw '{"weights": "net.npz"}'. Each has its usual
threshold, and its edges are shifted by how late they are on the developers' set.
"""
import os, time
import numpy as np
import soundfile as sf
from scipy.signal import resample_poly
from voices import runs

MIN_PAUSE, MIN_SPEECH = 250, 60


def speech(mask, hop_ms, start_shift, end_shift, close, cpu):
    out = []
    for a, b in runs(mask):
        a, b = a * hop_ms - start_shift, b * hop_ms - end_shift
        if out and a - out[-1][1] < close:
            out[-1][1] = b
        elif b - a >= MIN_SPEECH:
            out.append([max(0, a), b])
    return dict(speech=[[float(a), float(b)] for a, b in out], cpu_s=cpu)


def hysteresis(p, on, off):
    mask, speaking = np.zeros(len(p), bool), False
    for i, v in enumerate(p):
        speaking = v > off if speaking else v > on
        mask[i] = speaking
    return mask


def at_16k(wav):
    x, rate = sf.read(wav, dtype="float32")
    return resample_poly(x, 16000, rate).astype(np.float32)


def webrtc(wav, mode=2, start_shift=0, end_shift=85, close=200):
    import webrtcvad

    x = (at_16k(wav).clip(-1, 1) * 32767).astype(np.int16)
    vad, began = webrtcvad.Vad(mode), time.process_time()
    mask = [vad.is_speech(x[i : i + 160].tobytes(), 16000) for i in range(0, len(x) - 159, 160)]
    return speech(np.array(mask), 10, start_shift, end_shift, close, time.process_time() - began)


_session = None


def silero(wav, on=0.5, off=0.35, start_shift=14, end_shift=66, close=200):
    global _session
    import onnxruntime, site

    if _session is None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        folder = [f for f in site.getsitepackages() if os.path.exists(os.path.join(f, "silero_vad"))][0]
        _session = onnxruntime.InferenceSession(os.path.join(folder, "silero_vad/data/silero_vad.onnx"), options)
    x, began = at_16k(wav), time.process_time()
    state, context, p = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), []
    for i in range(0, len(x) - 511, 512):
        block = np.concatenate([context, x[i : i + 512]])[None]
        out, state = _session.run(None, dict(input=block, state=state, sr=np.array(16000, np.int64)))
        context = x[i + 448 : i + 512]
        p.append(out[0, 0])
    return speech(hysteresis(p, on, off), 32, start_shift, end_shift, close, time.process_time() - began)


def ten(wav, on=0.5, off=0.35, start_shift=14, end_shift=86, close=200):
    from ten_vad import TenVad

    x = (at_16k(wav).clip(-1, 1) * 32767).astype(np.int16)
    vad, began = TenVad(256, on), time.process_time()
    p = [vad.process(x[i : i + 256])[0] for i in range(0, len(x) - 255, 256)]
    return speech(hysteresis(p, on, off), 16, start_shift, end_shift, close, time.process_time() - began)


_cache = {}


def ours(wav, weights="net.npz", on=0.3, off=-0.3, min_pause=250):
    import features

    x, _ = sf.read(wav)
    if wav not in _cache:
        _cache[wav] = features.measure(x)
    bands, per, lag = _cache[wav]
    o = features.recur(features.inputs(bands, per, lag), *features.load_weights(weights))
    o = np.concatenate([o[features.LOOK_AHEAD :], np.full(features.LOOK_AHEAD, o[-1])])
    return dict(speech=features.decide(o, min_pause, on, off))
