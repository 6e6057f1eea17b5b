#!/usr/bin/env python3
"""A take through PipeWire and its ALSA plugin, without installing either: pipewire-alsa would throw pulseaudio out.

  benchmarks/pipewire.py HOLDFAST [--seconds N] [--keep FOLDER]

Fetches Debian's packages with `apt-get download`, unpacks them into a folder of its own (`--keep` names one to use again),
and runs pipewire and wireplumber there, on private sockets, with a null sink. A signal that says its own time
(timecode.py) is played to the sink by pw-play and recorded from its monitor through ALSA's pipewire plugin, and the take is
decoded: printed are the stretches of sound found in it and the frames that are missing between them, and the same for
PipeWire's own recorder beside it. Ends with 1 where a frame is missing. Needs numpy, and apt's lists; where it is allowed the
server and the player run before other programs (chrt), so that what is missing isn't theirs.
"""
import argparse, glob, os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import timecode

PACKAGES = ("pipewire pipewire-bin pipewire-alsa wireplumber libpipewire-0.3-0 libpipewire-0.3-modules libspa-0.2-modules "
            "libwireplumber-0.4-0 liblua5.3-0").split()
SERVER = """
context.properties = { core.daemon = true core.name = pipewire-0 default.clock.rate = 48000 default.clock.quantum = 1024
                       default.clock.min-quantum = 1024 default.clock.max-quantum = 1024 }
context.spa-libs = { audio.convert.* = audioconvert/libspa-audioconvert support.* = support/libspa-support }
context.modules = [
  { name = libpipewire-module-protocol-native } { name = libpipewire-module-metadata }
  { name = libpipewire-module-spa-device-factory } { name = libpipewire-module-spa-node-factory }
  { name = libpipewire-module-client-node } { name = libpipewire-module-client-device } { name = libpipewire-module-access }
  { name = libpipewire-module-adapter } { name = libpipewire-module-link-factory } { name = libpipewire-module-session-manager }
]
context.objects = [
  { factory = spa-node-factory args = { factory.name = support.node.driver node.name = Dummy-Driver
                                        node.group = pipewire.dummy priority.driver = 20000 } }
  { factory = adapter args = { factory.name = support.null-audio-sink node.name = mic media.class = Audio/Sink
                               audio.position = [ MONO ] object.linger = true monitor.passthrough = true } }
]
"""
# Without D-Bus and without devices: wireplumber only gives streams their ports and links them to the sink here.
SESSION = """
load_module("metadata")
default_access.properties["enable-flatpak-portal"] = false
default_access.enable()
device_defaults.enable()
stream_defaults.enable()
load_script("intended-roles.lua")
"""


def first(words):
    """In front of other programs, where that is allowed."""
    allowed = subprocess.run(["chrt", "-f", "20", "true"], capture_output=True).returncode == 0
    return (["chrt", "-f", "20"] if allowed else []) + words


def judged(name, path):
    """Frames missing from a recording, and frames of it that hold the signal."""
    x, _, _ = timecode.load(path)
    found = timecode.decode(x)
    missing = sum(max(0, (b[2] - a[2]) - (b[0] - a[0])) for a, b in zip(found, found[1:]))
    heard = sum(s[1] - s[0] for s in found)
    print(f"{name:12} {len(x) / 48000:6.2f} s recorded, the signal in {heard / 48000:6.2f} s of it, {len(found)} stretches, "
          f"{missing} frames missing")
    return missing, len(x) - heard


def unpacked(folder):
    root = f"{folder}/root"
    if not os.path.isdir(root):
        os.makedirs(root)
        subprocess.run(["apt-get", "-qq", "download", *PACKAGES], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        for package in glob.glob(f"{folder}/*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True)
    return root


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = unpacked(options.keep or folder)
        lib = os.path.dirname(glob.glob(f"{root}/usr/lib/*/alsa-lib")[0])
        home = f"{folder}/home"
        os.makedirs(f"{home}/conf", 0o700)
        for name in os.listdir(f"{root}/usr/share/pipewire"):
            os.symlink(f"{root}/usr/share/pipewire/{name}", f"{home}/conf/{name}")
        open(f"{home}/conf/holdfast.conf", "w").write(SERVER)
        open(f"{home}/rc", "w").write(
            f'pcm_type.pipewire {{ lib "{lib}/alsa-lib/libasound_module_pcm_pipewire.so" }}\n'
            "pcm.mic { type pipewire }\n")
        session = f"{home}/session"
        shutil.copytree(f"{root}/usr/share/wireplumber", session)
        for name in glob.glob(f"{session}/main.lua.d/*alsa*") + glob.glob(f"{session}/main.lua.d/*v4l2*"):
            os.remove(name)
        open(f"{session}/main.lua.d/90-enable-all.lua", "w").write(SESSION)
        conf = open(f"{session}/wireplumber.conf").read()
        open(f"{session}/wireplumber.conf", "w").write(conf.replace("{ name = bluetooth.lua, type = config/lua }", ""))
        env = dict(os.environ, HOME=home, XDG_RUNTIME_DIR=home, LD_LIBRARY_PATH=lib, PIPEWIRE_CONFIG_DIR=f"{home}/conf",
                   PIPEWIRE_MODULE_DIR=f"{lib}/pipewire-0.3", SPA_PLUGIN_DIR=f"{lib}/spa-0.2",
                   WIREPLUMBER_MODULE_DIR=f"{lib}/wireplumber-0.4", WIREPLUMBER_DATA_DIR=session, WIREPLUMBER_CONFIG_DIR=session,
                   ALSA_CONFIG_PATH=f"/usr/share/alsa/alsa.conf:{home}/rc",
                   PIPEWIRE_ALSA="{ stream.capture.sink = true target.object = mic }")
        env.pop("DBUS_SESSION_BUS_ADDRESS", None)
        log = open(f"{folder}/log", "w")
        children = [subprocess.Popen(first([f"{root}/usr/bin/pipewire", "-c", "holdfast.conf"]), env=env, stdout=log, stderr=log)]
        try:
            for _ in range(100):
                if os.path.exists(f"{home}/pipewire-0"):
                    break
                time.sleep(0.05)
            children.append(subprocess.Popen([f"{root}/usr/bin/wireplumber"], env=env, stdout=log, stderr=log))
            time.sleep(1.5)
            timecode.write_wav(f"{folder}/tc.wav", timecode.pcm16(0, (options.seconds + 5) * 100, False))
            children.append(subprocess.Popen(first([f"{root}/usr/bin/pw-cat", "-p", "--target", "mic", f"{folder}/tc.wav"]),
                                             env=env, stdout=log, stderr=log))
            reference = f"{folder}/reference.wav"
            children.append(subprocess.Popen(
                first([f"{root}/usr/bin/pw-cat", "-r", "-P", "{ stream.capture.sink = true }", "--target", "mic", "--rate", "48000",
                       "--channels", "1", "--format", "s16", reference]), env=env, stdout=log, stderr=log))
            time.sleep(0.5)
            take = f"{folder}/take.opus"
            record = subprocess.Popen([options.holdfast, "record", "--input", "alsa:mic", "--json", "-o", take], env=env,
                                      stdout=open(f"{folder}/events", "w"))
            time.sleep(options.seconds)
            record.send_signal(signal.SIGINT)
            code = record.wait(20)
        finally:
            for child in reversed(children):
                child.terminate()
                child.wait()
        if code != 0 or not os.path.exists(take):
            sys.exit(f"holdfast ended with {code}\n{open(f'{folder}/events').read()[-600:]}\n{open(f'{folder}/log').read()[-3000:]}")
        gaps = [line for line in open(f"{folder}/events") if '"event":"gap"' in line or '"event":"interrupted"' in line]
        judged("pw-cat", reference)
        missing, silent = judged("holdfast", take)
        print(f"holdfast told {len(gaps)} gaps")
        sys.exit(missing > 0 or silent > 48000)


main()
