"""What a take's files hold, read without Holdfast: nothing by itself, torture.py and powerloss.py judge by it."""
import base64, hashlib, json, os, struct, subprocess, zlib

PACKET, PRE_SKIP = 960, 312
TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Tests", "tools")
RATE = 48000


def _ogg_table():
    table = []
    for i in range(256):
        r = i << 24
        for _ in range(8):
            r = (r << 1 ^ 0x04C11DB7) & 0xFFFFFFFF if r & 0x80000000 else r << 1 & 0xFFFFFFFF
        table.append(r)
    return table


TABLE = _ogg_table()


def ogg_crc(data):
    r = 0
    for b in data:
        r = (r << 8 & 0xFFFFFFFF) ^ TABLE[r >> 24 ^ b]
    return r


_checked = {}  # pages met before


class Page:
    def __init__(self, data, at):
        head = data[at:at + 27]
        if len(head) < 27 or head[:4] != b"OggS":
            raise ValueError("no page")
        self.flags, self.granule, self.serial, self.sequence, crc, segments = struct.unpack("<BqIIIB", head[5:27])
        lacing = data[at + 27:at + 27 + segments]
        self.end = at + 27 + segments + sum(lacing)
        if len(lacing) < segments or self.end > len(data):
            raise ValueError("torn page")
        raw = bytes(data[at:self.end])
        key = hashlib.sha1(raw).digest()
        if key not in _checked:
            _checked[key] = ogg_crc(raw[:22] + b"\0\0\0\0" + raw[26:]) == crc
        if not _checked[key]:
            raise ValueError("damaged page")
        self.packets, size, start = [], 0, at + 27 + segments
        for lace in lacing:
            size += lace
            if lace < 255:
                self.packets.append(bytes(data[start:start + size]))
                start, size = start + size, 0
        self.whole = size == 0


def pages(data):
    """Whole pages from the start, and where they end."""
    out, at = [], 0
    while at < len(data):
        try:
            out.append(Page(data, at))
        except ValueError:
            break
        at = out[-1].end
    return out, at


class Take:
    """A sealed NAME.opus, whole and as RFC 7845 wants it, or a ValueError that says what isn't."""

    def __init__(self, path):
        data = open(path, "rb").read()
        self.bytes, self.sha256 = data, hashlib.sha256(data).hexdigest()
        all_pages, end = pages(data)
        if end != len(data):
            raise ValueError(f"{len(data) - end} bytes behind the last whole page")
        if len(all_pages) < 3 or not all_pages[0].packets[0].startswith(b"OpusHead") or not all_pages[1].packets[0].startswith(b"OpusTags"):
            raise ValueError("no head, tags and audio")
        for i, page in enumerate(all_pages):
            if page.sequence != i or page.serial != all_pages[0].serial or not page.whole:
                raise ValueError(f"page {i} doesn't follow")
            if bool(page.flags & 4) != (i == len(all_pages) - 1) or bool(page.flags & 2) != (i == 0) or page.flags & 1:
                raise ValueError(f"page {i} has flags {page.flags}")
        self.packets = [p for page in all_pages[2:] for p in page.packets]
        count = 0
        for page in all_pages[2:]:
            count += len(page.packets)
            if page is not all_pages[-1] and page.granule != count * PACKET:
                raise ValueError("a page's granule position is wrong")
        if not 0 <= count * PACKET - all_pages[-1].granule < PACKET:
            # The take of no frames has one packet and ends within the pre-skip.
            if not (count == 1 and all_pages[-1].granule == PRE_SKIP):
                raise ValueError("the last granule position is wrong")
        self.frames = all_pages[-1].granule - PRE_SKIP
        self.body = data[:all_pages[-1].end]
        self.last = all_pages[-1]

    @property
    def is_cut(self):
        """Ends on whole packets, as recovery leaves it."""
        return (self.frames + PRE_SKIP) % PACKET == 0


def tail_packets(data):
    """Index and bytes of a tail's whole packets, in order."""
    out = []
    if len(data) < 16 or data[:8] != b"HFtail\0\1" or struct.unpack("<I", data[12:16])[0] != zlib.crc32(data[:12]):
        return out
    at = 16
    while at + 16 <= len(data):
        crc, size, index = struct.unpack("<IIq", data[at:at + 16])
        if size > 1276 or at + 16 + size > len(data) or zlib.crc32(data[at + 4:at + 16 + size]) != crc:
            break
        out.append((index, bytes(data[at + 16:at + 16 + size])))
        at += 16 + size
    return out


KINDS = {1: "begin", 2: "start", 3: "pause", 4: "resume", 5: "gap", 6: "mark", 7: "interruption", 8: "continued", 9: "stop", 10: "levels"}


def ledger_records(data):
    """(kind, capture frame, effective frame, fields) of a ledger's whole records."""
    out, at = [], 16
    while at + 24 <= len(data):
        crc, size, kind, _, capture, effective = struct.unpack("<IHBBqq", data[at:at + 24])
        if at + 24 + size > len(data) or zlib.crc32(data[at + 4:at + 24 + size]) != crc:
            break
        payload = data[at + 24:at + 24 + size]
        out.append((KINDS.get(kind, kind), capture, effective, json.loads(payload) if kind != 10 and kind in KINDS else None))
        at += 24 + size
    return out


def read(path):
    try:
        return open(path, "rb").read()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def packets_in(partial):
    """How many packets, from the first on, a partial take's folder holds."""
    found, _ = pages(read(partial + "/audio.opus"))
    count = sum(len(p.packets) for p in found[2:])
    tails = {i for name in ("tail.0", "tail.1") for i, _ in tail_packets(read(f"{partial}/{name}"))}
    while count in tails:
        count += 1
    return count


def manifest(path):
    fields = json.load(open(path))
    fields["records"] = ledger_records(base64.b64decode(fields["ledger"]))
    return fields


def opusinfo_warns(path, _seen={}):
    """What opusinfo has against a file, or nothing."""
    key = hashlib.sha256(open(path, "rb").read()).digest()
    if key not in _seen:
        said = subprocess.run(["opusinfo", path], capture_output=True, text=True, errors="replace")
        text = said.stdout + said.stderr
        bad = [line for line in text.splitlines() if "WARNING" in line.upper() or "ERROR" in line.upper() or "hole" in line.lower()]
        _seen[key] = "; ".join(bad) or (f"exit code {said.returncode}" if said.returncode else "")
    return _seen[key]


def holdfast(command, *arguments, env=None, cwd=None):
    """Exit code, JSON lines, standard error."""
    said = subprocess.run([command, *arguments], capture_output=True, env=dict(os.environ, **env) if env else None, cwd=cwd)
    lines = []
    for line in said.stdout.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append({"text": line.decode(errors="replace")})
    return said.returncode, lines, said.stderr.decode(errors="replace")


def tool(name, folder, *flags):
    """A library out of Tests/tools/NAME.c (or NAME/NAME.c) for this run."""
    source = os.path.join(TOOLS, name + ".c")
    if not os.path.exists(source):
        source = os.path.join(TOOLS, name, name + ".c")
    path = os.path.join(folder, name + ".so")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-DPIC", "-pthread", "-o", path, source, "-ldl", *flags], check=True)
    return path


def card(folder, library, wav, keys=""):
    """The environment that makes `alsa:mic` the scripted card that hears a file."""
    with open(folder + "/asoundrc", "w") as f:
        f.write(f'pcm_type.scriptmic {{ lib "{library}" }}\npcm.mic {{ type scriptmic wav "{wav}" loop 0 {keys} }}\n')
    return {"ALSA_CONFIG_PATH": f"/usr/share/alsa/alsa.conf:{folder}/asoundrc"}
