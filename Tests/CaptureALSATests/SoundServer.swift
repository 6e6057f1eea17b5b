import Glibc
import Testing

@testable import Capture
@testable import Platform

/// A PulseAudio of the tests' own, with its own HOME and XDG_RUNTIME_DIR: one null sink "mic" whose monitor is recorded.
///
/// The PCMs `pa`, `padefault` and `panosource` of the rig lead to it. One at a time.
final class SoundServer {
  private let child: Child?
  private let home = Rig.shared.folder + "/pa"
  private let environment: [String: String]
  private var address: String { "unix:\(home)/run/pulse/native" }

  static let trouble: String? = {
    for tool in ["pulseaudio", "paplay", "pactl"] where Shell.run(["which", tool]).code != 0 {
      return "skipped: \(tool) is missing (apt-get install pulseaudio pulseaudio-utils)"
    }
    let plugin = "ls /usr/lib/*/alsa-lib/libasound_module_pcm_pulse.so"
    return Shell.run(["sh", "-c", plugin]).code == 0
      ? nil : "skipped: ALSA's pulse plugin is missing (libasound2-plugins)"
  }()

  /// Starts it, and waits until it answers.
  init() throws {
    for folder in ["", "/home", "/run"] { mkdir(home + folder, 0o700) }
    environment = [
      "HOME": home + "/home", "XDG_RUNTIME_DIR": home + "/run", "PULSE_SERVER": "",
      "DBUS_SESSION_BUS_ADDRESS": "",
    ]
    child = Child(
      [
        "pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1",
        "-L", "module-native-protocol-unix",
        "-L", "module-null-sink sink_name=mic rate=48000 channels=1 norewinds=1",
      ], environment: environment)
    for _ in 0..<200 {
      if pactl("info").code == 0 { return }
      usleep(50_000)
    }
    throw Errno(ETIMEDOUT)
  }
  deinit { stop() }

  func stop() { child?.stop() }
  func pactl(_ words: String...) -> Shell.Result {
    Shell.run(["pactl", "--server", address] + words, environment: environment)
  }
  /// Plays 16-bit mono samples at 48 kHz, and returns once they are played.
  func play(_ samples: [UInt8]) -> Shell.Result {
    let file = Rig.shared.file("play.raw", samples)
    return Shell.run(
      ["paplay", "--server", address, "--raw", "--rate=48000", "--channels=1", "--format=s16le", file],
      environment: environment)
  }
}

/// Reads a source on a thread of its own until it is told to stop.
final class Background: @unchecked Sendable {
  private var captured = Captured()
  private let source: ALSASource
  private var thread: Platform.Thread?

  init(_ source: ALSASource) throws {
    self.source = source
    thread = try Platform.Thread(name: "background") { [self] in source.collect(.max, &captured) }
  }
  /// Waits until the source ends or fails, and returns what came.
  func wait() -> Captured {
    thread?.join()
    thread = nil
    return captured
  }
  func stop() -> Captured {
    source.interrupt()
    return wait()
  }
}
