#!/usr/bin/python3
"""mock_logind.py FOLDER HOW: a private bus with a logind on it that hands out inhibitor locks and says so.

Prints `address ADDRESS` once it is there, then `inhibit WHAT|WHO|WHY|MODE` for each lock that is asked for and `released WHAT`
when its last holder has closed it. HOW: `grant`; `refuse` (every lock); `remote` (all but idle's, as polkit has it for who isn't at
the machine); `hang` (takes the call and never answers); `mute` (a socket that nobody ever speaks on, no bus).
"""
import os, socket, subprocess, sys

folder, how = sys.argv[1:]
path = os.path.join(folder, "bus")


def say(text):
    print(text, flush=True)


if how == "mute":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    say(f"address unix:path={path}")
    talks = []
    while True:
        talks.append(listener.accept()[0])
        say("connected")

import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

config = os.path.join(folder, "bus.conf")
with open(config, "w") as file:
    file.write(f"""<busconfig><listen>unix:path={path}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>""")
daemon = subprocess.Popen(["dbus-daemon", "--nofork", "--nopidfile", "--config-file=" + config, "--print-address"],
                          stdout=subprocess.PIPE, text=True)
daemon.stdout.readline()
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection("unix:path=" + path)


class Denied(dbus.DBusException):
    _dbus_error_name = "org.freedesktop.DBus.Error.AccessDenied"


class Manager(dbus.service.Object):
    @dbus.service.method("org.freedesktop.login1.Manager", "ssss", "h", async_callbacks=("answer", "fail"))
    def Inhibit(self, what, who, why, mode, answer, fail):
        say(f"inhibit {what}|{who}|{why}|{mode}")
        if how == "hang":
            return
        if how == "refuse" or how == "remote" and "sleep" in what:
            return fail(Denied("no"))
        ours, theirs = os.pipe()

        def gone(*_):
            os.close(ours)
            say(f"released {what}")
            return False

        GLib.io_add_watch(ours, GLib.IO_HUP, gone)
        answer(dbus.types.UnixFd(theirs))
        os.close(theirs)


name = dbus.service.BusName("org.freedesktop.login1", bus)
manager = Manager(bus, "/org/freedesktop/login1")
say(f"address unix:path={path}")
try:
    GLib.MainLoop().run()
finally:
    daemon.kill()
