import Foundation
import TestSupport
import Testing

/// Seconds of 500 and 1 500 Hz by turns, as the scripted card hears them: what is heard says what second it is.
private let striped: [Float] = (0..<480_000).map { n in
  0.4 * Float(sin(2 * .pi * Double(n) * (n / 48_000 % 2 == 0 ? 500 : 1500) / 48_000))
}

/// Frames at which the tone changes, to 1 ms or so: windows of 2 ms hold whole periods of both.
private func changes(_ samples: [Float]) -> [Int] {
  func power(_ start: Int, _ hz: Double) -> Double {
    var (re, im) = (0.0, 0.0)
    for i in 0..<96 {
      let angle = 2 * Double.pi * hz * Double(i) / 48_000
      re += Double(samples[start + i]) * cos(angle)
      im += Double(samples[start + i]) * sin(angle)
    }
    return re * re + im * im
  }
  let hop = 24
  let high = stride(from: 0, to: samples.count - 96, by: hop).map { power($0, 1500) > power($0, 500) }
  var found: [Int] = []
  var now = high.first ?? false
  for i in high.indices where high[i] != now && i + 20 < high.count {
    guard high[i..<(i + 20)].count(where: { $0 != now }) >= 16 else { continue }  // 10 ms of it
    now.toggle()
    found.append(i * hop + 48)
  }
  return found
}
/// Where the changes are to be, for stretches of device frames that stand one behind the other in the take.
private func expected(_ stretches: [Range<Int>]) -> [Int] {
  var frames: [Int] = []
  var at = 0
  var before: Int?
  for stretch in stretches {
    var frame = stretch.lowerBound
    while frame < stretch.upperBound {
      let stripe = frame / 48_000
      if let before, before % 2 != stripe % 2 { frames.append(at) }
      before = stripe
      let end = min(stretch.upperBound, (stripe + 1) * 48_000)
      at += end - frame
      frame = end
    }
  }
  return frames
}

@Suite struct InterruptionTests {
  /// What scriptmic logged.
  private struct Log {
    let lines: [[Substring]]
    init(_ path: String) throws {
      lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
        $0.split(separator: " ")
      }
    }
    /// Device frames the program had read at each event of that kind.
    func events(_ kind: String) -> [Int] {
      lines.filter { $0.count > 3 && $0[1] == "event" && $0[2] == kind }.compactMap {
        $0.last.flatMap { Int($0) }
      }
    }
    /// Device frames at which it was started.
    var starts: [Int] { lines.filter { $0.count == 5 && $0[1] == "start" }.compactMap { Int($0[4]) } }
  }
  private func live(
    _ script: String, _ arguments: [String] = [], environment: [String: String?] = [:], begun: Bool = true
  ) throws -> LiveTake {
    let scratch = try TempFolder()
    let card = try ScriptedCard(
      striped, script: script, keys: "log \"\(scratch.file("log"))\"", in: scratch)
    let all = card.environment.merging(environment) { $1 }
    return try LiveTake(ScriptedCard.patient + arguments, in: scratch, environment: all, begun: begun)
  }

  // MARK: the device

  @Test(arguments: [
    ("unplug 1500", "unplug", "device_lost"), ("suspend 1500", "suspend", "suspended"),
    ("err EIO 1", "err", "device_lost"), ("err EBUSY 1", "err", "device_taken"),
    ("err ENODEV 1", "err", "device_lost"), ("err EPIPE 21", "err", "overrun_storm"),
  ]) func `an interruption is told and stands in the ledger, and the sound goes on at its place`(
    script: String, kind: String, reason: String
  ) throws {
    let live = try live("1.2 \(script)", ["--max-ms", "3000"])
    let take = try Recorded(live.process.wait(timeout: 40), live.folder, live.path)
    try expectSealed(take, frames: 144_000)
    let told = take.events.filter { ["state", "interrupted", "resumed"].contains($0.text("event")) }
    #expect(
      told.map { $0.text("state") ?? $0.text("event") } == [
        "preparing", "recording", "interrupted", "interrupted", "resumed", "recording", "sealing", "sealed",
      ], "\(told)")
    #expect(told[2].text("reason") == reason && told[3].text("reason") == reason, "\(told)")
    let manifest = try take.manifest()
    let interruptions = manifest.objects("interruptions")
    #expect(interruptions.map { $0.text("reason") } == [reason])
    #expect(interruptions.first?.int("at_ms") == told[3].int("effective_ms"))
    if script.hasSuffix("1500") { #expect((interruptions.first?.int("length_ms") ?? 0) >= 1_450) }
    #expect(manifest.int("parts") == 2 && manifest.objects("gaps").isEmpty)
    #expect(take.said.errText.split(separator: "\n").count == 2, "a line at each turn: \(take.said.errText)")

    let log = try Log(live.folder.file("log"))
    let (read, back) = try (#require(log.events(kind).first), #require(log.starts.last))
    // One right at the end is too short to be heard.
    let found = changes(try Judge.opusdecSamples(take.path)).filter { $0 < 142_000 }
    let wanted = expected([0..<read, back..<(back + 144_000 - read)]).filter { $0 < 142_000 }
    #expect(found.count == wanted.count, "\(found), \(wanted)")
    for (a, b) in zip(found, wanted) { #expect(abs(a - b) <= 240, "\(found), \(wanted)") }
  }

  @Test func `a device that freezes is silent after 2 s, and has lost nothing when it goes on`() throws {
    let live = try live("1.2 freeze 3000", ["--max-ms", "3000"])
    let take = try Recorded(live.process.wait(timeout: 40), live.folder, live.path)
    try expectSealed(take, frames: 144_000)
    #expect(take.all("interrupted").map { $0.text("reason") } == ["device_silent"])
    #expect(take.all("resumed").count == 1)
  }

  @Test(arguments: [
    ("unplug", "device_lost"), ("err EIO 100000", "device_lost"), ("err EPIPE 100000", "overrun_storm"),
    ("suspend 60000", "suspended"),
  ]) func `a device that stays away is waited for, and the take is sealed as it is`(
    script: String, reason: String
  ) throws {
    let live = try live("0.6 \(script)", ["--wait-device", "1"])
    let take = try Recorded(live.process.wait(timeout: 40), live.folder, live.path)
    try expectSealed(take, code: 69)
    #expect(take.sealed?.text("ended_by") == "device" && take.error?.text("kind") == reason)
    #expect(take.error?.text("message")?.contains("s of waiting") == true)
    #expect(try take.manifest().objects("interruptions").count >= 1)
    let frames = try #require(take.sealed?.int("effective_frames"))
    let kind = String(script.split(separator: " ")[0])
    let read = try #require(try Log(live.folder.file("log")).events(kind).first)
    #expect(frames >= read, "what was delivered is there")
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT]) func `a stop while the device is waited for is a stop`(
    signal: Int32
  ) throws {
    let live = try live("0.6 unplug", ["--wait-device", "600"])
    try live.reach("interrupted")
    let take = try live.stop(signal)
    try expectSealed(take)
    #expect(take.sealed?.text("ended_by") == "signal" && take.error == nil)
    #expect(take.said.wallSeconds < 20)
  }

  @Test func `interrupted while paused returns to paused, and what comes then isn't in the take`() throws {
    let live = try live("1.5 unplug 600")
    try live.reach(ms: 500)
    try live.pause()
    try live.reach("interrupted")
    let before = live.effectiveMs
    try live.reach("paused")
    usleep(300_000)
    #expect(live.effectiveMs == before)
    try live.resume()
    try live.reach(ms: before + 200)
    let take = try live.stop()
    try expectSealed(take)
    #expect(take.sealed?.int("pause_count") == 1)
    let manifest = try take.manifest()
    #expect(
      manifest.objects("interruptions").first?.int("at_ms")
        == manifest.objects("pauses").first.map { $0.int("at_ms")! + 5 })
  }

  @Test func `a device lost while armed ends it without a take`() throws {
    let live = try live("0.6 unplug", ["--arm"], begun: false)
    let said = live.process.wait(timeout: 20)
    #expect(said.code == 69 && !live.folder.names.contains { $0.hasPrefix("take") }, "\(said)")
  }

  @Test func `two interruptions, the second while the first lasts`() throws {
    let scratch = try TempFolder()
    let takes = scratch.file("takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: false)
    let card = try ScriptedCard(striped, script: "1.2 unplug 1000", in: scratch)
    let disk = try FaultDisk("pwrite[tail.]@40x30=ENOSPC", under: takes, log: scratch.file("log"))
    let said = try holdfast(
      ["record", "--json", "-o", takes + "/take.opus", "--max-ms", "3000"] + ScriptedCard.patient,
      environment: card.environment.merging(disk.environment) { $1 })
    let take = try Recorded(said, scratch, takes + "/take.opus")
    try expectSealed(take, frames: 144_000)
    let found = try take.manifest().objects("interruptions")
    #expect(Set(found.compactMap { $0.text("reason") }) == ["device_lost", "disk_full"], "\(found)")
    #expect(found.allSatisfy { $0.int("length_ms") != nil }, "both are over: \(found)")
    #expect(try take.manifest().int("parts") == 2)
  }

  @Test func `fifty overruns a second are a storm that the take outlives`() throws {
    let script = (0..<60).map { "\(0.8 + Double($0) * 0.02) xrun" }.joined(separator: "; ")
    let live = try live(script, ["--max-ms", "3000"])
    let take = try Recorded(live.process.wait(timeout: 40), live.folder, live.path)
    try expectSealed(take, frames: 144_000)
    #expect(take.all("interrupted").allSatisfy { $0.text("reason") == "overrun_storm" })
    #expect(!take.all("interrupted").isEmpty && !take.all("gap").isEmpty)
    #expect(take.all("resumed").count == take.all("interrupted").count)
  }

  @Test func `a recorder that was stopped for seconds has missed them, and says so`() throws {
    let live = try live("")
    try live.reach(ms: 400)
    live.process.signal(SIGSTOP)
    usleep(4_500_000)  // more than the device's buffer and what may be filled
    live.process.signal(SIGCONT)
    try live.reach("interrupted")
    try live.reach("recording")
    let take = try live.stop()
    try expectSealed(take)
    let found = try take.manifest().objects("interruptions")
    #expect(found.map { $0.text("reason") } == ["overrun_storm"], "not a silent device: \(found)")
    #expect((found.first?.int("length_ms") ?? 0) >= 2_000)
  }

  @Test func `a machine that slept behind a sound server's back is an interruption of that length`() throws {
    let jump = try Tool.preload("clock_jump")
    let live = try live(
      "", ["--max-ms", "2500"], environment: ["LD_PRELOAD": jump, "BOOT_JUMP": "1.2:3600"])
    let take = try Recorded(live.process.wait(timeout: 40), live.folder, live.path)
    try expectSealed(take, frames: 120_000)
    let found = try take.manifest().objects("interruptions")
    #expect(found.map { $0.text("reason") } == ["suspended"])
    #expect(abs((found.first?.int("length_ms") ?? 0) - 3_600_000) < 100)
    #expect(try take.manifest().objects("gaps").isEmpty)
  }
}

/// What a person does while the microphone is away.
@Suite struct AwayCommandTests {
  private func live(_ script: String, in scratch: TempFolder) throws -> LiveTake {
    let card = try ScriptedCard(script: script, in: scratch)
    return try LiveTake(ScriptedCard.patient, in: scratch, environment: card.environment)
  }

  @Test func `a pause while the device is away holds when it comes back, a mark is kept`() throws {
    let scratch = try TempFolder()
    let live = try live("0.8 unplug 1500", in: scratch)
    try live.reach("interrupted")
    let before = live.effectiveMs
    live.process.signal(SIGUSR2)
    live.process.signal(SIGUSR1)
    try live.reach("paused")
    usleep(200_000)
    #expect(live.effectiveMs == before)
    try live.resume()
    try live.reach(ms: before + 300)
    let take = try live.stop()
    try expectSealed(take)
    let manifest = try take.manifest()
    #expect(manifest.int("pause_count") == 1 && manifest.objects("marks").map { $0.int("at_ms") } == [before])
    #expect(manifest.objects("pauses").first?.int("at_ms") == before)
    #expect(take.said.errText.contains("it is back, and paused"))
  }

  @Test func `a resume while the device is away counts when it comes back`() throws {
    let scratch = try TempFolder()
    let live = try live("0.8 unplug 1500", in: scratch)
    try live.reach(ms: 200)
    try live.pause()
    try live.reach("interrupted")
    let before = live.effectiveMs
    live.process.signal(SIGUSR1)
    try live.reach("recording")
    try live.reach(ms: before + 300)
    let take = try live.stop()
    try expectSealed(take)
    #expect(try take.manifest().objects("pauses").count == 1)
  }

  @Test func `a folder that goes while the device is away is told at once`() throws {
    let scratch = try TempFolder()
    let card = try ScriptedCard(script: "0.8 unplug", in: scratch)
    let live = try LiveTake(
      ScriptedCard.patient + ["--wait-device", "600"], in: scratch,
      environment: card.environment.merging(["XDG_DATA_HOME": scratch.file("data")]) { $1 })
    try live.reach("interrupted")
    try FileManager.default.removeItem(atPath: live.path + ".partial")
    #expect(live.until { String(decoding: live.process.out, as: UTF8.self).contains("\"folder_gone\"") })
    #expect(live.until { String(decoding: live.process.out, as: UTF8.self).contains("\"resumed\"") })
    let said = try live.stop()
    #expect(
      said.said.code == 74 && said.sealed?.text("path")?.hasPrefix(scratch.file("data")) == true,
      "\(said.said)")
  }
}
