import Foundation
import TestSupport
import Testing

/// A PulseAudio of a test's own: one null sink "mic", played to as `alsa:out`, whose monitor the command records as `alsa:pa`.
final class PrivatePulse {
  private let folder: TempFolder
  private var server: Running?
  let environment: [String: String?]
  private var address: String { "unix:\(folder.path)/run/pulse/native" }

  init() throws {
    folder = try TempFolder("pulse")
    for name in ["home", "run"] {
      try FileManager.default.createDirectory(
        atPath: folder.file(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    try folder.write(
      "asoundrc",
      """
      pcm.pa { type pulse server "unix:\(folder.path)/run/pulse/native" device "mic.monitor" }
      pcm.out { type pulse server "unix:\(folder.path)/run/pulse/native" device "mic" }

      """)
    environment = [
      "HOME": folder.file("home"), "XDG_RUNTIME_DIR": folder.file("run"), "PULSE_SERVER": nil,
      "DBUS_SESSION_BUS_ADDRESS": "",
      "ALSA_CONFIG_PATH": "/usr/share/alsa/alsa.conf:\(folder.file("asoundrc"))",
    ]
    try start()
  }
  deinit { stop() }

  func start() throws {
    guard try run("which", ["pulseaudio"]).code == 0 else { try Test.cancel("pulseaudio isn't installed") }
    server = try Running(
      "pulseaudio",
      [
        "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "-L",
        "module-native-protocol-unix", "-L",
        "module-null-sink sink_name=mic rate=48000 channels=1 norewinds=1",
      ], environment: environment)
    for _ in 0..<200 {
      if try pactl("info").code == 0 { return }
      usleep(50_000)
    }
    throw Failure("pulseaudio doesn't answer")
  }
  func signal(_ number: Int32) { server?.signal(number) }
  func stop() {
    server?.signal(SIGCONT)
    server?.signal(SIGKILL)
    _ = server?.wait(timeout: 10)
    server = nil
  }
  @discardableResult func pactl(_ words: String...) throws -> Finished {
    try run("pactl", ["--server", address] + words, environment: environment, timeout: 10)
  }
}

/// Takes through a real sound server that does what sound servers do. One at a time: each has its own.
@Suite(.serialized) struct SoundServerTakeTests {
  private let pulse: PrivatePulse
  init() throws { pulse = try PrivatePulse() }

  private func live(_ arguments: String...) throws -> LiveTake {
    try LiveTake(["--input", "alsa:pa", "--buffer-ms", "2000"] + arguments, environment: pulse.environment)
  }
  private func expectInterrupted(_ take: Recorded, _ reason: String, parts: Int = 2) throws {
    try expectSealed(take)
    let manifest = try take.manifest()
    #expect(manifest.objects("interruptions").map { $0.text("reason") } == [reason], "\(take.said)")
    #expect(manifest.int("parts") == parts && manifest.objects("gaps").isEmpty)
    #expect((manifest.objects("interruptions").first?.int("length_ms") ?? 0) > 200)
  }

  @Test func `a server that is killed and comes back`() throws {
    let live = try live("--wait-device", "60")
    try live.reach(ms: 400)
    pulse.stop()
    try live.reach("interrupted")
    let before = live.effectiveMs
    try pulse.start()
    try live.reach("recording")
    try live.reach(ms: before + 400)
    try expectInterrupted(live.stop(), "server_gone")
  }

  @Test func `a source that is unloaded and loaded again`() throws {
    let live = try live("--wait-device", "60")
    try live.reach(ms: 400)
    try pulse.pactl("unload-module", "module-null-sink")
    try live.reach("interrupted")
    let before = live.effectiveMs
    try pulse.pactl(
      "load-module", "module-null-sink", "sink_name=mic", "rate=48000", "channels=1", "norewinds=1")
    try live.reach("recording")
    try live.reach(ms: before + 400)
    try expectInterrupted(live.stop(), "device_lost")
  }

  @Test func `a server that is stopped and goes on`() throws {
    let live = try live("--wait-device", "60")
    try live.reach(ms: 400)
    pulse.signal(SIGSTOP)
    try live.reach("interrupted")
    let before = live.effectiveMs
    pulse.signal(SIGCONT)
    try live.reach("recording")
    try live.reach(ms: before + 400)
    try expectInterrupted(live.stop(), "device_silent")
  }

  @Test(arguments: [true, false]) func `a server that hangs keeps no take from being sealed`(stopped: Bool)
    throws
  {
    let live = try live("--wait-device", stopped ? "600" : "1")
    try live.reach(ms: 400)
    pulse.signal(SIGSTOP)
    try live.reach("interrupted")
    if stopped { live.process.signal(SIGINT) }
    let take = try Recorded(live.process.wait(timeout: 30), live.folder, live.path)
    try expectSealed(take, code: stopped ? 0 : 69)
    #expect(take.sealed?.text("ended_by") == (stopped ? "signal" : "device"))
    #expect(take.all("interrupted").map { $0.text("reason") } == ["device_silent"])
  }
}
