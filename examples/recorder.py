#!/usr/bin/env python3
"""A recorder through ctypes:  recorder.py FOLDER INPUT MILLISECONDS

Goes on with an unfinished take of the folder, if a recorder was killed there, or begins a new one. The library is looked for
where HOLDFAST_LIBRARY says, else as libholdfast.so.0."""
import ctypes, json, os, sys
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p


class Settings(Structure):
    _fields_ = [("size", c_size_t)] + [(n, c_char_p) for n in ("input", "output", "folder", "unfinished", "context", "take_id")] \
        + [(n, c_int64) for n in ("max_ms", "min_valid_ms", "pre_roll_ms")] + [(n, c_int32) for n in (
            "bitrate", "complexity", "channel", "wait_device_s", "period_ms", "force", "close_gaps", "realtime")]


class Event(Structure):
    _fields_ = [("size", c_size_t), ("type", c_int32), ("state", c_int32), ("reason", c_int32), ("status", c_int32),
                ("effective_ms", c_int64), ("json", c_char_p)]


def main(folder, source, milliseconds):
    library = ctypes.CDLL(os.environ.get("HOLDFAST_LIBRARY", "libholdfast.so.0"))
    library.holdfast_status_text.restype = c_char_p
    library.holdfast_recorder_next_event.argtypes = [c_void_p, c_int64, POINTER(Event)]
    settings, recorder, unfinished = Settings(), c_void_p(), c_char_p()
    library.holdfast_settings_init(byref(settings), c_size_t(ctypes.sizeof(settings)))
    settings.folder, settings.input, settings.realtime = os.fsencode(folder), os.fsencode(source), 1
    if library.holdfast_unfinished(os.fsencode(folder), None, byref(unfinished)) == 0:
        settings.unfinished = unfinished
    status = library.holdfast_recorder_create(byref(settings), byref(recorder), None) or library.holdfast_recorder_start(recorder)
    if status:
        sys.exit(library.holdfast_status_text(status).decode())
    event, until = Event(size=ctypes.sizeof(Event)), None
    while library.holdfast_recorder_next_event(recorder, -1, byref(event)) == 0:
        told = json.loads(event.json)
        if told["event"] == "level":
            until = until or event.effective_ms + int(milliseconds)
            if event.effective_ms >= until:
                library.holdfast_recorder_stop(recorder)
        else:
            print(event.json.decode(), flush=True)
    library.holdfast_recorder_destroy(recorder)


if __name__ == "__main__":
    main(*sys.argv[1:])
