#!/usr/bin/env python3
"""Makes the clips of this folder and TRUTH.json, which says what is true of each.   make.py [OUT]
Needs Python's standard library and espeak-ng. The same espeak-ng gives the same bytes each time."""
import array, hashlib, json, math, operator, os, struct, subprocess, sys

FLOOR_DB = -160.0
BYTES = {'s16': 2, 'f32': 4}


def gain(db): return 10 ** (db / 20)
def decibel(x): return max(FLOOR_DB, 20 * math.log10(x)) if x > 0 else FLOOR_DB
def rms(x): return math.sqrt(math.fsum(v * v for v in x) / len(x)) if x else 0.0
def at_rms(x, db):
    g = gain(db) / rms(x)
    return [v * g for v in x]
def sine(frames, rate, hz, db):
    a = gain(db)
    return [a * math.sin(2 * math.pi * hz * i / rate) for i in range(frames)]
def silence(frames): return [0.0] * frames


def faded(x, frames):
    """Raised-cosine fades at both ends."""
    y = list(x)
    for i in range(frames):
        g = 0.5 - 0.5 * math.cos(math.pi * (i + 0.5) / frames)
        y[i] *= g
        y[-1 - i] *= g
    return y


def noise(frames, db, seed):
    """White noise from a generator of our own (xorshift64*), so that no library's version matters."""
    s, out = seed, []
    for _ in range(frames):
        s ^= s >> 12
        s = (s ^ s << 25) & (1 << 64) - 1
        s ^= s >> 27
        out.append((s * 0x2545F4914F6CDD1D >> 11 & (1 << 53) - 1) / (1 << 52) - 1)
    return at_rms(out, db)


def resampled(x, rate, to, reach=24):
    """Windowed-sinc resampling by a ratio of small integers."""
    if rate == to: return list(x)
    g = math.gcd(rate, to)
    up, down = to // g, rate // g
    cut = 0.95 * min(1.0, to / rate)
    bank = []
    for phase in range(up):
        taps = []
        for k in range(-reach + 1, reach + 1):
            t = k - phase / up
            w = 0.5 + 0.5 * math.cos(math.pi * t / reach) if abs(t) < reach else 0.0
            taps.append(w * cut * (math.sin(math.pi * cut * t) / (math.pi * cut * t) if t else 1.0))
        whole = math.fsum(taps)
        bank.append([v / whole for v in taps])
    padded = silence(reach - 1) + list(x) + silence(reach + 1)
    out = []
    for i in range(len(x) * up // down):
        at, phase = divmod(i * down, up)
        out.append(math.fsum(map(operator.mul, bank[phase], padded[at:at + 2 * reach])))
    return out


def spoken(text, voice, rate, db, speed=150):
    """One phrase: speech from its first frame to its last, no pause over 0.2 s in it, RMS `db`, nothing clipped."""
    b = subprocess.run(['espeak-ng', '-v', voice, '-s', str(speed), '--stdout', text], stdout=subprocess.PIPE, check=True).stdout
    at = b.index(b'data') + 8
    own = struct.unpack('<I', b[24:28])[0]
    a = array.array('h')
    a.frombytes(b[at:at + (len(b) - at) // 2 * 2])
    if sys.byteorder == 'big': a.byteswap()
    threshold = max(map(abs, a)) * gain(-40)
    loud = [i for i, v in enumerate(a) if abs(v) > threshold]
    assert max(q - p for p, q in zip(loud, loud[1:])) < own // 5, 'a pause inside: ' + text
    x = resampled([v / 32768 for v in a[loud[0]:loud[-1] + 1]], own, rate)
    x = at_rms(faded(x, rate // 200), db)
    assert max(map(abs, x)) < 0.98, 'too loud: ' + text
    return x


class Timeline:
    """One channel built from phrases and exact pauses; remembers the frame each begins and ends at."""
    def __init__(self, rate): self.rate, self.x, self.speech = rate, [], []
    def pause(self, seconds): self.x += silence(round(seconds * self.rate))
    def say(self, x):
        self.speech.append([len(self.x), len(self.x) + len(x)])
        self.x += x
    def truth(self):
        edges = [0] + [f for s in self.speech for f in s] + [len(self.x)]
        return {'speech_frames': self.speech, 'pause_frames': [[a, b] for a, b in zip(edges[::2], edges[1::2]) if b > a]}


class Folder:
    def __init__(self, path): self.path, self.files = path, {}
    def wav(self, name, channels, rate, kind='s16', **truth):
        """Writes equally long channels of floats (full scale 1.0) and notes levels calculated from the stored values."""
        flat = [v for t in zip(*channels) for v in t]
        if kind == 's16':
            stored = [max(-32768, min(32767, round(v * 32768))) for v in flat]
            data, value = struct.pack('<%dh' % len(flat), *stored), [v / 32768 for v in stored]
        else:
            data = struct.pack('<%df' % len(flat), *flat)
            value = [v if math.isfinite(v) else 0.0 for v in struct.unpack('<%df' % len(flat), data)]
        n, size = len(channels), BYTES[kind]
        body = (b'WAVEfmt ' + struct.pack('<IHHIIHH', 16, 3 if kind == 'f32' else 1, n, rate, rate * n * size, n * size, 8 * size)
                + b'data' + struct.pack('<I', len(data)) + data)
        body = b'RIFF' + struct.pack('<I', len(body)) + body
        with open(os.path.join(self.path, name), 'wb') as f: f.write(body)

        def levels(x):
            return {'rms_db': round(decibel(rms(x)), 4), 'peak_db': round(decibel(max(map(abs, x), default=0)), 4),
                    'dc': round(math.fsum(x) / len(x), 8) if x else 0.0}
        self.files[name] = {'frames': len(flat) // n, 'rate': rate, 'channels': n, 'format': kind, 'bytes': len(body),
                            'sha256': hashlib.sha256(body).hexdigest(), 'levels': levels(value),
                            'channel_levels': [levels(value[c::n]) for c in range(n)], **truth}


def make(out):
    # Speech. The practice talk that `make record` records: English, exact zeros in the pauses.
    t = Timeline(48000)
    t.pause(0.5)
    for text, after in (('good morning and thank you for coming', 0.9), ('today I want to show you three small ideas', 1.4),
                        ('every one of them began with a mistake', 0.6), ('let us look at the first', 0.5)):
        t.say(spoken(text, 'en-us', 48000, -20))
        t.pause(after)
    out.wav('talk.wav', [t.x], 48000, language='en', between='zeros', **t.truth())
    # Two people, one a channel: a woman asks in English on the left, a man answers in German on the right.
    left, right = Timeline(44100), Timeline(44100)
    left.pause(0.2)
    left.say(spoken('are you ready', 'en-us+f3', 44100, -22, 170))
    right.pause(len(left.x) / 44100 + 0.35)
    right.say(spoken('ja sofort', 'de', 44100, -18, 170))
    right.pause(0.2)
    left.pause((len(right.x) - len(left.x)) / 44100)
    out.wav('dialogue_44100_stereo.wav', [left.x, right.x], 44100, languages=['en', 'de'], between='zeros',
            channel_truth=[left.truth(), right.truth()])
    # German, a woman, in a quiet room: noise at -66 dBFS throughout.
    t = Timeline(16000)
    t.pause(0.4)
    for text, after in (('guten Tag', 0.6), ('ich habe lange geübt', 1.1), ('und jetzt beginne ich', 0.5)):
        t.say(spoken(text, 'de+f3', 16000, -22))
        t.pause(after)
    room = noise(len(t.x), -66, 7)
    out.wav('rede_16000.wav', [[a + b for a, b in zip(t.x, room)]], 16000, language='de', between='noise', noise_rms_db=-66.0, **t.truth())
    # The same phrase at three levels.
    phrase = spoken('one two three four', 'en-us', 16000, -30, 200)
    for name, db in (('quiet', -50), ('middle', -30), ('loud', -18)):
        out.wav('speech_%s.wav' % name, [at_rms(phrase, db)], 16000, language='en')

    # Signals.
    out.wav('sine_1k.wav', [sine(24000, 48000, 1000, -6)], 48000, hz=1000)
    for rate in (8000, 44100, 48000, 96000):  # one click 5 ms after the start, one that ends 5 ms before the end
        n, wide, edge = int(rate * 0.2516), max(2, rate // 8000), int(rate * 0.005)
        x = silence(n)
        for at in (edge, n - edge - wide): x[at:at + wide] = [0.8] * wide
        out.wav('clicks_%d.wav' % rate, [x], rate, clicks_at_frame=[edge, n - edge - wide], click_frames=wide, frames_48k=round(n * 48000 / rate))
    x, slot, high = [], 2000, [0, 5, 17, 33]
    burst = faded(sine(slot, 8000, 600, -8), 80)
    for i in range(34): x += burst if i in high else silence(slot)
    out.wav('slots_8000.wav', [x], 8000, slot_frames=slot, bars_high=high, burst_rms_db=round(decibel(rms(burst)), 4))
    x = [max(-1.0, min(1.0, v)) for v in sine(12000, 48000, 1000, 6)]
    out.wav('clipped.wav', [x], 48000, hz=1000, clipped=True, clipped_runs=sum(abs(v) == 1 and abs(p) < 1 for p, v in zip([0.0] + x, x)))
    x, bad = sine(12000, 48000, 440, -20), 0
    for i in range(100, 12000, 701): x[i], bad = (math.nan, math.inf, -math.inf)[i % 3], bad + 1
    out.wav('bad_floats.wav', [x], 48000, 'f32', hz=440, bad_samples=bad, note='NaN and infinities; the levels count them as 0')
    out.wav('zeros.wav', [silence(8000)], 16000)


if __name__ == '__main__':
    folder = Folder(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
    os.makedirs(folder.path, exist_ok=True)
    make(folder)
    version = subprocess.run(['espeak-ng', '--version'], stdout=subprocess.PIPE, check=True).stdout.decode().split('Data at')[0].strip()
    with open(os.path.join(folder.path, 'TRUTH.json'), 'w', encoding='ascii') as f:
        json.dump({'made_with': version, 'files': folder.files}, f, indent=1, sort_keys=True)
        f.write('\n')
    print('%d files, %d bytes' % (len(folder.files), sum(v['bytes'] for v in folder.files.values())))
