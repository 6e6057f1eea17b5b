"""The inputs of the hand-made cases, one block a group; what is true of each file goes into manifest.json."""
from common import *

R = 48000

def tone(n, rate=R, dbfs=-6.0206): return sine(n, rate, 1000.0, dbfs)

def make(o, only=()):
    """Makes the files of all groups, or of those whose letters are in `only`."""
    want = lambda group: not only or group in only
    F = fmt_chunk('s16', 1, R)
    lst = chunk(b'LIST', b'INFO' + chunk(b'INAM', b'a name\0\0'))
    if want('A'):
        x = tone(R * 2)
        o.file('A01/feed.raw', pack(x, 's16'), rate=R, channels=1, format='S16_LE', frames=R * 2, peak_dbfs=-6.02, hz=1000)
        base = tone(R)
        iv = [int(round(v * 8388608)) for v in base]
        r = Rng(5)
        o.file('A03/feed_S24_LE.raw', struct.pack('<%di' % R, *iv), format='S24_LE', rate=R, channels=1, peak_dbfs=-6.02)
        o.file('A03/feed_S24_LE_junktop.raw', b''.join((v & 0xFFFFFF).to_bytes(3, 'little') + bytes([int(r.u() * 256)]) for v in iv), format='S24_LE', rate=R, channels=1, peak_dbfs=-6.02)
        for f, a in (('s24', 'S24_3LE'), ('s32', 'S32_LE'), ('s16', 'S16_LE'), ('f32', 'FLOAT_LE'), ('u8', 'U8')):
            o.file('A03/feed_%s.raw' % a, pack(base, f), format=a, rate=R, channels=1, peak_dbfs=-6.02)
        for rt in (8000, 11025, 16000, 22050, 32000, 44100, 96000, 192000):
            y = put(sine(rt * 3, rt, 1000.0, -12.0), int(rt * 2.9), [0.7, -0.7] * 3)
            o.file('A07/feed_%d.raw' % rt, pack(y, 's16'), format='S16_LE', rate=rt, channels=1, frames=rt * 3, hz=1000)
        o.file('A11/analogue_mute.raw', pack(white(R * 3, -66, 11), 's16'), rate=R, channels=1, format='S16_LE', rms_dbfs=-66)
        o.file('A11/quiet_room.raw', pack(white(R * 3, -52, 12), 's16'), rate=R, channels=1, format='S16_LE', rms_dbfs=-52)
        sp48 = speechlike(R * 2, R, -22, 21)
        o.file('A11/zero_then_speech.raw', pack(silence(R * 3) + sp48, 's16'), rate=R, channels=1, format='S16_LE', zero_until_s=3.0)
        o.file('A11/zeros.raw', pack(silence(R), 's16'), rate=R, channels=1, format='S16_LE', peak=0)
        o.text('A09/asound.conf', '</usr/share/alsa/alsa.conf>\n' + ''.join(
            'pcm."%s" { type null hint { show on description "%s" } }\n' % t for t in (
                ('mic,\u00e9 [x]', 'Mic, left [USB]'), ('a|b', 'pipe|name'), ('CARD=Mic,DEV=0', 'looks like a card'), ('sp\u00e4t', 'Zeile eins\nZeile zwei'))))
    if want('B'):
        if have('opusenc'):
            for n, rt in ((47999, R), (48000, R), (48001, R), (44100, 44100), (480000, R), (960, R)):
                o.file('B03/n%d_%d.opus' % (n, rt), opusenc(wav(sine(n, rt, 440.0, -12), rt), 1100 + n % 97), seconds_exact='%d/%d' % (n, rt), frames48=round(n * 48000 / rt))
        else: o.skip('B03', 'opusenc missing')
        for rt in (8000, 11025, 16000, 44100, 48000, 96000, 192000):
            n = int(rt * 3.016); y = silence(n); k = max(2, rt // 8000); w = int(rt * 0.005)
            put(y, w, [0.8] * k); put(y, n - w - k, [0.8] * k)
            o.file('B04/click_%d.wav' % rt, wav(y, rt), rate=rt, frames=n, frames48=round(n * 48000 / rt), click_s=[0.005, round((n - w - k) / rt, 6)])
    if want('C'):
        n = R * 2
        o.file('C01/zeros_s16.wav', wav(silence(n)), frames=n, peak=0)
        o.file('C01/zeros_f32.wav', wav(silence(n), fmt='f32'), frames=n, peak=0)
        o.file('C01/one_lsb.wav', wav([1 / 32768.0 if i % 2 else 0.0 for i in range(n)]), frames=n, peak_dbfs=-90.31)
        y = sine(n, R, 440, -20)
        for i in range(1000, n, 7001): y[i] = (float('nan'), float('inf'), float('-inf'))[i % 3]
        o.file('C01/nan_inf_f32.wav', wav(y, fmt='f32'), frames=n, peak_dbfs_without_bad=-20.0, bad_samples=len(range(1000, n, 7001)))
        o.file('C01/empty_data.wav', wav([]), frames=0)
        o.file('C01/first_half_zero.wav', wav(silence(R) + sine(R, R, 440, -20)), frames=n, bars_low=17)
        sp = speechlike(R * 4, R, -20, 31)
        for d in (-50, -40, -30, -20):
            g = db(d + 20); o.file('C02/speech_%d.wav' % d, wav(clip1([v * g for v in sp])), frames=len(sp), rms_dbfs=d)
        o.file('C02/noise_-80.wav', wav(white(R * 4, -80, 32), fmt='s24'), rms_dbfs=-80)
        n = R
        fs = sine(n, R, 1000, 0.0)
        for f in ('s16', 's24', 'u8'): o.file('C03/sine_fs_%s.wav' % f, wav([v * (1 - 2.0 ** -(8 * BYTES[f] - 1)) for v in fs], fmt=f), peak_dbfs=0.0, rms_dbfs=-3.01)
        o.file('C03/square_fs.wav', wav([1.0 if (i // 24) % 2 else -1.0 for i in range(n)]), peak_dbfs=0.0, rms_dbfs=0.0)
        o.file('C03/min_int.wav', wav([-1.0 if i % 2 else 1.0 for i in range(n)]), peak_dbfs=0.0)
        y = sine(n, R, 1000, -20); y[n // 2] = 1.0
        o.file('C03/one_fs_sample.wav', wav(y), peak_dbfs=0.0, clipped=False)
        o.file('C03/clipped_run.wav', wav(clip1(sine(n, R, 1000, 6.0))), peak_dbfs=0.0, clipped=True)
        o.file('C04/silence_u8.wav', wav(silence(8000), 8000, 'u8'), frames=8000, peak=0, dc=0)
        o.file('C04/sine_-6_u8.wav', wav(sine(8000, 8000, 440, -6.02), 8000, 'u8'), frames=8000, peak_dbfs=-6.0)
        o.file('C04/odd_frames_u8.wav', wav(sine(8001, 8000, 440, -6.02), 8000, 'u8'), frames=8001)
        y = silence(int(R * 8.5)); q = R // 4
        for s in (0, 5, 17, 33): y[s * q:(s + 1) * q] = sine(q, R, 600, -8)
        o.file('C07/slots.wav', wav(y), frames=len(y), bars_high=[0, 5, 17, 33])
        o.file('C07/slots.raw', pack(y, 's16'), format='S16_LE', rate=R, channels=1, bars_high=[0, 5, 17, 33])
    if want('D'):  # 16 kHz
        S = 16000
        for d in (-50, -40, -30): o.file('D01/fan_%d.wav' % d, wav(fan(S * 12, S, d, 40 - d), S), rate=S, speech=[])
        y = fan(S * 12, S, -45, 77); put(y, S * 4, speechlike(S * 3, S, -22, 41))
        o.file('D01/speech_in_fan.wav', wav(clip1(y), S), rate=S, speech=[[4.0, 7.0]])
        base = speechlike(S * 3, S, -20, 42)
        for d in (-50, -42, -34):
            y = white(S * 8, -75, 50 - d); put(y, S * 2, [v * db(d + 20) for v in base])
            o.file('D02/quiet_%d.wav' % d, wav(clip1(y), S), rate=S, speech=[[2.0, 5.0]], speech_rms_dbfs=d)
        if have('espeak-ng'):
            b = subprocess.run(['espeak-ng', '-v', 'en', '-s', '150', '--stdout', 'the quick brown fox jumps over the lazy dog'], stdout=subprocess.PIPE, check=True).stdout
            rt = struct.unpack('<I', b[24:28])[0]; d = array.array('h'); d.frombytes(b[44:44 + (len(b) - 44) // 2 * 2])
            v = [s / 32768.0 for s in d]; v = at_rms(v, -42); y = white(rt * 2 + len(v) + rt * 3, -75, 51); put(y, rt * 2, v)
            o.file('D02/espeak.wav', wav(clip1(y), rt), rate=rt, speech=[[2.0, round(2 + len(v) / rt, 3)]], note='depends on the espeak-ng version')
        else: o.skip('D02/espeak.wav', 'espeak-ng missing')
        nz = lambda n, s: white(n, -70, s)
        a, b = int(S * 2.013), int(S * 1.519)
        sp = speechlike(b, S, -22, 43)
        o.file('D04/speech_to_end.wav', wav(clip1(nz(a, 61) + mix(sp, nz(b, 62))), S), rate=S, frames=a + b, speech=[[2.013, (a + b) / S]])
        o.file('D04/silence_to_end.wav', wav(clip1(mix(sp, nz(b, 63)) + nz(a, 64)), S), rate=S, frames=a + b, speech=[[0, b / S]])
        o.file('D04/all_silence.wav', wav(nz(a, 65), S), rate=S, frames=a, speech=[])
        o.file('D04/all_speech.wav', wav(clip1(mix(sp, nz(b, 66))), S), rate=S, frames=b, speech=[[0, b / S]])
        t = speechlike(S // 10, S, -20, 44); o.file('D04/speech_last_100ms.wav', wav(clip1(nz(a, 67) + t), S), rate=S, frames=a + len(t))
    if want('E'):
        if not have('opusenc'): o.skip('E', 'opusenc missing')
        else:
            src = opusenc(wav(mix(sine(R * 5, R, 440, -12), white(R * 5, -40, 70))), 2001)
            ps = parse_ogg(src); pre = struct.unpack('<H', ps[0].body[10:12])[0]; full = ps[-1].gran - pre
            o.file('E01/good.opus', src, frames48=full, preskip=pre, eos=True)
            q = parse_ogg(src); q[-1].flags &= ~4; o.file('E01/no_eos.opus', join(q), frames48=full, eos=False)
            off = [0]
            for p in ps: off.append(off[-1] + len(p.raw()))
            def whole(n): g = [p.gran for p, e in zip(ps, off[1:]) if e <= n and p.seq >= 2 and p.gran >= 0]; return max(0, g[-1] - pre) if g else 0
            for nm, n in (('in_first_header', 20), ('after_head', off[1]), ('after_tags', off[2]), ('in_page_header', off[3] + 13), ('in_lacing', off[3] + 27 + 20), ('in_page_data', off[3] + 900), ('one_short', len(src) - 1), ('4096', 4096), ('8192', 8192)):
                o.file('E02/cut_%s.opus' % nm, src[:n], bytes_kept=n, frames48_whole_pages=whole(n))
            q = bytearray(src); q[off[3] + 400] ^= 0x20; o.file('E03/flip_byte.opus', bytes(q), frames48=full, damaged_page=3)
            o.file('E03/page_missing.opus', src[:off[3]] + src[off[4]:], frames48=full, missing_page=3)
            o.file('E03/page_twice.opus', src[:off[4]] + src[off[3]:], frames48=full)
            o.file('E03/zeros_between.opus', src[:off[4]] + bytes(512) + src[off[4]:], frames48=full)
            r = Rng(71); jk = bytes(int(r.u() * 256) for _ in range(200)) + b'OggS\0\0' + bytes(int(r.u() * 256) for _ in range(200))
            o.file('E03/junk_between.opus', src[:off[4]] + jk + src[off[4]:], frames48=full)
            a2 = lambda n, s, f, ch=1: opusenc(wav(sine(n * ch, R * ch, f, -12), R, ch=ch), s)
            o.file('E04/chain_diff_serial.opus', a2(R * 2, 31, 440) + a2(R * 3, 32, 660), seconds=5.0, links=2)
            o.file('E04/chain_same_serial.opus', a2(R * 2, 33, 440) + a2(R * 3, 33, 660), seconds=5.0, links=2)
            o.file('E04/chain_mono_stereo.opus', a2(R * 2, 34, 440) + a2(R * 3, 35, 660, 2), seconds=5.0, links=2)
            def hdr(head, tags, mut=None, tail=ps[2:]):
                pages = [Page(2, 0, 2001, 0, lace(head), head)]; rest = lace(tags); pos = 0; seq = 1
                while rest:
                    l, rest = rest[:255], rest[255:]; m = sum(l)
                    pages.append(Page(1 if pos else 0, 0 if not rest else -1, 2001, seq, l, tags[pos:pos + m])); pos += m; seq += 1
                for p in tail: pages.append(Page(p.flags, p.gran, p.serial, seq, p.lacing, p.body)); seq += 1
                return join(pages)
            H, T = opus_head(1, pre), opus_tags()
            o.file('E07/control.opus', hdr(H, T), legal=True, frames48=full)
            o.file('E07/tags_no_count.opus', hdr(H, T[:-4]), legal=False)
            o.file('E07/tags_len_huge.opus', hdr(H, T[:-4] + struct.pack('<II', 1, 0xFFFFFFF0) + b'A=B'), legal=False)
            o.file('E07/tags_vendor_huge.opus', hdr(H, b'OpusTags' + struct.pack('<I', 0x7FFFFFFF) + b'case'), legal=False)
            o.file('E07/tags_split_pages.opus', hdr(H, opus_tags(b'case', [b'NOTE=' + b'x' * 70000])), legal=True, frames48=full)
            pk = ps[2].packets()[0]; pg = [Page(2, 0, 2001, 0, lace(H), H), Page(0, 0, 2001, 1, lace(T) + lace(pk), T + pk)] + [Page(p.flags, p.gran, p.serial, p.seq, p.lacing, p.body) for p in ps[2:]]
            o.file('E07/audio_on_tags_page.opus', join(pg), legal=False)
            pg = parse_ogg(src); pg.insert(3, Page(0, pg[2].gran, 2001, 3, lace(H), H))
            for i, p in enumerate(pg): p.seq = i
            o.file('E07/second_head.opus', join(pg), legal=False)
            for nm, h, ok in (('head_ch0', opus_head(0, pre), False), ('head_family1_no_table', opus_head(2, pre, family=1), False), ('head_version16', opus_head(1, pre, version=16), False), ('head_version2', opus_head(1, pre, version=2), True), ('head_short', H[:15], False), ('head_gain', opus_head(1, pre, gain=-1536), True)):
                o.file('E07/%s.opus' % nm, hdr(h, T), legal=ok)
    if want('F'):
        x = sine(R * 3, R, 440, -12); d = pack(x, 's16')
        nf = len(x)
        o.file('F01/data0_junk4k.wav', riff(chunk(b'JUNK', bytes(4044)), F, chunk(b'data', d, size=0), size=4088), frames_present=nf)
        o.file('F01/data_ffffffff.wav', riff(F, chunk(b'data', d, size=0xFFFFFFFF), size=0xFFFFFFFF), frames_present=nf)
        o.file('F01/data_7fffffff.wav', riff(F, chunk(b'data', d, size=0x7FFFFFFF - 36), size=0x7FFFFFFF), frames_present=nf)
        o.file('F01/half_frame.wav', riff(F, chunk(b'data', d + b'\x55', pad=False, size=0), size=0), frames_present=nf)
        o.file('F01/data_44_over.wav', riff(F, chunk(b'data', d, size=len(d) + 44)), frames_present=nf)
        o.file('F01/healthy_list_tail.wav', riff(F, chunk(b'data', d), lst), frames_present=nf, must_stay_unchanged=True)
        o.text('F02/README.txt', '1 record, kill -9\n2 for each of the states below, copy the folder, bring it to that state, run recover, keep exit code and output\n'
               'state a: side file deleted\nstate b: side file cut to half its bytes\nstate c: side file empty\nstate d: side file {}\nstate e: side file names a segment that is not there\n'
               'state f: one more segment on disk than listed\nstate g: side file alone, no sound\nstate h: sound file of 0 bytes\nstate i: side file from a newer version number\nstate j: folder read-only\n')
        for nm, s in (('empty', ''), ('braces', '{}'), ('cut', '{"id":"x","segments":[{"file":"se'), ('array', '[]'), ('null', 'null'), ('bom', '\ufeff{}'), ('nul', '\0\0\0\0'), ('deep', '[' * 20000), ('bignum', '{"frames":1e999,"rate":-1}')):
            o.text('F02/broken_%s.json' % nm, s)
    if want('G'):
        G = lambda **k: dict(frames_present=R, **k)
        x = sine(R, R, 440, -12); d = pack(x, 's16')
        plain = hashlib.sha256(d).hexdigest()
        o.file('G01/riff_ff_data_ff.wav', riff(F, chunk(b'data', d, size=0xFFFFFFFF), size=0xFFFFFFFF), **G())
        o.file('G01/riff_0_data_0.wav', riff(F, chunk(b'data', d, size=0), size=0), **G())
        o.file('G01/riff_ok_data_ff.wav', riff(F, chunk(b'data', d, size=0xFFFFFFFF)), **G())
        o.file('G01/data_bigger.wav', riff(F, chunk(b'data', d, size=2 * len(d))), **G())
        o.file('G01/data_smaller.wav', riff(F, chunk(b'data', d, size=len(d) // 2)), frames_present=R, frames_right=R // 2)
        if have('ffmpeg'):
            o.file('G01/ffmpeg_pipe.wav', subprocess.run(['ffmpeg', '-v', 'error', '-f', 's16le', '-ar', str(R), '-ac', '1', '-i', '-', '-bitexact', '-f', 'wav', '-'], input=d, stdout=subprocess.PIPE, check=True).stdout, **G())
        o.file('G02/plain.wav', riff(F, chunk(b'data', d)), samples_sha256=plain, frames=R)
        odd = b'INFO' + b'INAM' + struct.pack('<I', 5) + b'abcd\0'
        o.file('G02/list_odd_padded.wav', riff(F, chunk(b'LIST', odd), chunk(b'data', d)), samples_sha256=plain, frames=R)
        o.file('G02/list_odd_unpadded.wav', riff(F, chunk(b'LIST', odd, pad=False), chunk(b'data', d)), samples_sha256=plain, frames=R, legal=False)
        o.file('G02/bext_odd_padded.wav', riff(chunk(b'bext', bytes(602) + b'A=PCM'), F, chunk(b'data', d)), samples_sha256=plain, frames=R)
        o.file('G02/junk_before_fmt.wav', riff(chunk(b'JUNK', bytes(27)), F, chunk(b'data', d)), samples_sha256=plain, frames=R)
        d24 = pack(sine(999, R, 440, -12), 's24')
        o.file('G02/pad_not_zero.wav', riff(fmt_chunk('s24', 1, R), chunk(b'data', d24, pad=False) + b'\x51', lst), frames=999, note='odd data, pad byte 0x51, then LIST')
        o.file('G04/list_zero_393164.wav', riff(F, chunk(b'LIST', bytes(393164)), chunk(b'data', d)), frames=R)
        o.file('G04/list_zero_small.wav', riff(F, chunk(b'LIST', bytes(64)), chunk(b'data', d)), frames=R)
        o.file('G04/info_size_huge.wav', riff(F, chunk(b'LIST', b'INFO' + b'INAM' + struct.pack('<I', 0xFFFFFFF0) + b'abcd'), chunk(b'data', d)), frames=R, legal=False)
        o.file('G04/info_size_zero.wav', riff(F, chunk(b'LIST', b'INFO' + (b'INAM' + bytes(4)) * 50), chunk(b'data', d)), frames=R)
        nest = b'INFO' + chunk(b'INAM', b'x\0')
        for _ in range(200): nest = b'INFO' + chunk(b'LIST', nest)
        o.file('G04/info_nested.wav', riff(F, chunk(b'LIST', nest), chunk(b'data', d)), frames=R)
        if have('ffmpeg'):
            fl = flac(wav(x)); o.file('G06/plain.flac', fl, frames=R, samples_sha256=plain)
            v1 = b'TAG' + b'case'.ljust(125, b'\0')
            o.file('G06/id3v2_front.flac', id3v2() + fl, frames=R, samples_sha256=plain)
            o.file('G06/id3v2_front_big.flac', id3v2(70000) + fl, frames=R, samples_sha256=plain)
            o.file('G06/id3v1_back.flac', fl + v1, frames=R, samples_sha256=plain)
            o.file('G06/both.flac', id3v2() + fl + v1, frames=R, samples_sha256=plain)
            o.file('G06/flac_content.wav', fl, frames=R, samples_sha256=plain)
        else: o.skip('G06', 'ffmpeg missing')
        fm = lambda ch=1, rate=R, align=2, bits=16, tag=1: chunk(b'fmt ', struct.pack('<HHIIHH', tag, ch, rate, (rate * align) & 0xFFFFFFFF, align, bits))
        D = chunk(b'data', d)
        for nm, b in (('empty', b''), ('riff_only', riff()), ('hdr43', riff(F, D)[:43]), ('ch0', riff(fm(ch=0), D)), ('ch65535', riff(fm(ch=65535, align=65534), D)), ('rate0', riff(fm(rate=0), D)), ('rate_max', riff(fm(rate=0xFFFFFFFF), D)),
                      ('align0', riff(fm(align=0), D)), ('bits0', riff(fm(bits=0), D)), ('bits7', riff(fm(bits=7, align=1), D)), ('tag_mp3', riff(fm(tag=0x55), D)), ('data_before_fmt', riff(D, F)), ('no_data', riff(F)), ('no_fmt', riff(D)),
                      ('two_data', riff(F, D, chunk(b'data', pack(sine(R // 2, R, 880, -12), 's16')))), ('two_fmt', riff(F, fmt_chunk('s16', 2, 8000), D)), ('fmt_14_bytes', riff(chunk(b'fmt ', F[8:22]), D)), ('text', b'this is no sound\n' * 100), ('zeros_1k', bytes(1024))):
            o.file('G08/%s.wav' % nm, b)
    if want('H'):
        J = lambda nm, v: o.text('H/%s.json' % nm, json.dumps(v, indent=1) + '\n')
        exp = '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>'
        J('H01', dict(steps=[dict(status=403, body=exp), dict(status=200)], note='a new address (other path) must be asked for between the two'))
        J('H01_mid_body', dict(steps=[dict(read_bytes=65536, status=403, body=exp), dict(status=200)]))
        J('H01_signature', dict(steps=[dict(status=403, body=exp.replace('Request has expired', 'SignatureDoesNotMatch').replace('AccessDenied', 'SignatureDoesNotMatch'))], repeat=True))
        J('H04', dict(steps=[dict(status=200)], repeat=True, reject_chunked=501, require_length=411, require_headers={'content-type': 'audio/ogg'}))
        J('H05_cut', dict(steps=[dict(read_bytes='half', close=True), dict(status=200)]))
        J('H05_wrong_etag', dict(steps=[dict(status=200, headers={'ETag': '"00000000000000000000000000000000"', 'x-amz-checksum-sha256': 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='})], repeat=True))
        J('H05_mismatch', dict(steps=[dict(status=400, body='<Error><Code>BadDigest</Code></Error>')], repeat=True))
        J('H05_500s', dict(steps=[dict(status=500), dict(status=503, headers={'Retry-After': '2'}), dict(status=200)]))
    if want('I'):
        w = wav(sine(4800, R, 440, -12))
        for b in ('gr\u00fcn.wav', 'gru\u0308n.wav', '\u67e5\u627e.wav', '\U0001F3A4.wav', '-dash.wav', 'new\nline.wav', 'q"uo\'te.wav', 'space .wav ', 'l' * 246 + '.wav', '%s%n%x.wav'):
            o.file('I04/' + b, w, frames=4800)
        o.file(b'I04/bad\xffbyte.wav', w, frames=4800)
