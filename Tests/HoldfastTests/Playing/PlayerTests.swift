import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

private func decoded(_ path: String) throws -> [Int16] {
  let reader = try ClipReader(Path(path))
  var all: [Int16] = []
  var block = [Float](repeating: 0, count: 4_800 * reader.channels)
  while case let n = try reader.read(into: &block, atMost: 4_800), n > 0 {
    all += block.prefix(n * reader.channels).map(sixteenBits)
  }
  return all
}

/// The library's player, into files: what is heard is what is in them.
@Suite struct PlayerTests {
  private let folder: TempFolder
  private let talk: String
  init() throws {
    folder = try TempFolder("play")
    let take = try record(["--input", "file:" + Places.testaudio("talk.wav")], to: "talk.opus", in: folder)
    try #require(take.said.code == 0)
    talk = take.path
  }
  private func player(_ name: String, _ range: ClipRange = .all) -> Player {
    Player(Path(talk), range: range, output: .file(Path(folder.file(name))))
  }
  /// All that it told, once it has ended.
  private func events(_ player: Player) -> [PlayerEvent] {
    var all: [PlayerEvent] = []
    while case let some = player.events.next(), !some.isEmpty { all += some }
    return all
  }

  @Test(
    arguments: [(0, nil), (1_234, 3_456), (5_001, 5_002), (12_000, nil), (0, 99_000)] as [(Int64, Int64?)])
  func `a clip is exact to the sample`(from: Int64, to: Int64?) throws {
    let whole = try decoded(talk)
    let player = player("out.wav", ClipRange(fromMs: from, toMs: to))
    try player.start()
    player.wait()
    let end = min(to.map { Int($0) * 48 } ?? .max, whole.count)
    #expect(try decoded(folder.file("out.wav")) == Array(whole[(Int(from) * 48)..<end]))
    #expect(player.state == .ended && player.positionMs == Int64(end / 48))
    let seen = events(player)
    #expect(seen.first == .state(.playing, positionMs: from))
    #expect(seen.last == .state(.ended, positionMs: Int64(end / 48)))
    let positions = seen.compactMap { if case .position(let ms) = $0 { ms } else { nil } }
    #expect(positions == positions.sorted() && positions.count >= (end / 48 - Int(from)) / 300)
    #expect(folder.names.allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func `pause, seek and resume play on with the very frame`() throws {
    let whole = try decoded(talk)
    let player = player("out.wav")
    player.pause()
    try player.start()
    while player.state != .paused { usleep(1_000) }
    #expect(player.positionMs == 0)
    player.seek(toMs: 4_000)
    player.seek(toMs: 2_500)  // back too
    player.resume()
    player.wait()
    #expect(try decoded(folder.file("out.wav")) == Array(whole[(2_500 * 48)...]))
    let states = events(player).compactMap { if case .state(let state, _) = $0 { state } else { nil } }
    #expect(states == [.playing, .paused, .playing, .ended])
  }

  @Test func `a stop before the start plays nothing, and calls at the wrong time do nothing`() throws {
    let player = player("out.wav")
    player.stop()
    try player.start()
    player.wait()
    player.resume()
    player.seek(toMs: 1)
    #expect(player.state == .stopped)
    #expect(throws: RecorderFailure.self) { try player.start() }
    #expect(try decoded(folder.file("out.wav")) == [])
  }

  @Test func `events come to a loop, which ends with the player, also one that couldn't start`() async throws
  {
    let player = player("out.wav", ClipRange(fromMs: 0, toMs: 600))
    let loop = Task {
      var seen: [PlayerEvent] = []
      for await event in player.events { seen.append(event) }
      return seen
    }
    try player.start()
    let seen = await loop.value
    #expect(seen.first == .state(.playing, positionMs: 0) && seen.last == .state(.ended, positionMs: 600))
    let none = Player(Path(folder.file("none.opus")), output: .file(Path(folder.file("none.wav"))))
    #expect(throws: RecorderFailure.self) { try none.start() }
    for await event in none.events { Issue.record("\(event)") }
  }

  @Test func `several players beside one another`() throws {
    let whole = try decoded(talk)
    let players = (0..<6).map { player("out\($0).wav", ClipRange(fromMs: Int64($0) * 1_000)) }
    for player in players { try player.start() }
    for player in players { player.wait() }
    for i in 0..<6 { #expect(try decoded(folder.file("out\(i).wav")) == Array(whole[(i * 48_000)...])) }
  }

  @Test func `what can't be played is a clear error`() throws {
    func failure(_ path: String, _ range: ClipRange, _ output: OutputSpec) -> Int32? {
      let player = Player(Path(path), range: range, output: output)
      do throws(RecorderFailure) { try player.start() } catch {
        #expect(player.state == .failed && player.wait())
        return error.code
      }
      player.wait()
      return nil
    }
    let file = OutputSpec.file(Path(folder.file("out.wav")))
    #expect(failure(folder.file("none.opus"), .all, file) == 66)
    #expect(failure(talk, ClipRange(fromMs: 5, toMs: 5), file) == 64)
    #expect(failure(talk, .all, .file(Path(folder.file("no/out.wav")))) == 73)
    #expect(failure(try folder.write("text.wav", "hello"), .all, file) == 65)
    #expect(throws: RecorderFailure.self) { _ = try OutputSpec(Path("speakers")) }
    #expect(throws: RecorderFailure.self) { _ = try OutputSpec(Path("file:a.opus")) }
    #expect(throws: RecorderFailure.self) { _ = try OutputSpec(Path("alsa:")) }
    #expect(try OutputSpec(nil) == .alsa(Path("default")))
  }

  @Test(arguments: [44_100, 16_000, 96_000])
  func `another rate is converted, as long as before`(rate: Int) throws {
    let tone = try record(["--input", "tone:1000", "--max-ms", "1000"], to: "tone.opus", in: folder)
    let reader = try ClipReader(Path(tone.path))
    var feed = try PlayerFeed(reader, 0..<Int64.max, rate: rate, channels: 2)
    _ = try feed.seek(to: 0)
    var left: [Float] = []
    while try feed.next() {
      for i in 0..<feed.count {
        left.append(feed.samples[2 * i])
        #expect(feed.samples[2 * i] == feed.samples[2 * i + 1])
      }
    }
    #expect(abs(left.count - rate) <= 2, "\(left.count)")
    let middle = Array(left[(rate / 4)..<(rate * 3 / 4)])
    #expect(abs(frequency(middle, rate: rate) - 1_000) < 1)
    #expect(abs(toneDb(middle, hz: 1_000, rate: rate) + 12) < 0.6)
  }
}

/// `holdfast play`, into files and ALSA's own devices without hardware.
@Suite struct PlayCommandTests {
  private let folder: TempFolder
  init() throws { folder = try TempFolder("play") }
  private var alsa: [String: String?] {
    get throws {
      try folder.write(
        "asoundrc",
        """
        pcm.nul { type null }
        pcm.filed { type file slave.pcm nul file "\(folder.file("filed.raw"))" format "raw" }
        pcm.headed { type file slave.pcm nul file "\(folder.file("headed.wav"))" format "wav" }

        """)
      return ["ALSA_CONFIG_PATH": "/usr/share/alsa/alsa.conf:" + folder.file("asoundrc")]
    }
  }
  private func take() throws -> String {
    let take = try record(["--input", "file:" + Places.testaudio("talk.wav")], to: "talk.opus", in: folder)
    try #require(take.said.code == 0)
    return take.path
  }

  @Test func `a device gets the clip's very samples, and the events are the contract's`() throws {
    let path = try take()
    let said = try holdfast(
      ["play", path, "--from", "00:01.234", "--to", "00:03.456", "--output", "alsa:filed", "--json"],
      environment: alsa)
    #expect(said.code == 0, "\(said)")
    let bytes = try contents(folder.file("filed.raw"))
    let samples = bytes.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    #expect(samples == Array(try decoded(path)[(1_234 * 48)..<(3_456 * 48)]))
    let faults = try Judge.schemaFaults(said.outText, schema: Places.root + "/docs/schema/play.json")
    #expect(faults == [])
    let last = try Fields(#require(said.jsonLines().last))
    #expect(last.text("state") == "ended" && last.int("position_ms") == 3_456)
  }

  @Test func `a file that can't be written to its end leaves nothing`() throws {
    let path = try take()
    for _ in 0..<5 {
      let said = try run(
        "bash", ["-c", "ulimit -f 100; exec \(Places.holdfast) play \(path) --output file:limited.wav"],
        folder: folder.path)
      #expect(said.code == 74 && said.isOneLine, "\(said)")
      #expect(!folder.names.contains { $0.contains("limited") }, "\(folder.names)")
    }
  }

  /// ALSA's file device writes the length into its header when it is closed.
  @Test func `the device is closed before the command ends`() throws {
    let path = try take()
    for _ in 0..<10 {
      let said = try holdfast(
        ["play", path, "--to", "00:01", "--output", "alsa:headed"], environment: alsa)
      #expect(said.code == 0, "\(said)")
      let bytes = try contents(folder.file("headed.wav"))
      #expect(bytes.count == 96_044 && bytes[40..<44].elementsEqual([0x00, 0x77, 0x01, 0x00]))
      try FileManager.default.removeItem(atPath: folder.file("headed.wav"))
    }
  }

  @Test func `a partial take plays as far as it is, a damaged one with silence and 65`() throws {
    let killed = try killedTake(ms: 1_500, in: folder)
    #expect(try holdfast(["play", killed, "--output", "file:" + folder.file("k.wav")]).code == 0)
    #expect(try decoded(folder.file("k.wav")) == decoded(killed))
    let path = try take()
    try change(path) { data in data[pageStarts(data)[5] + 100] ^= 0xFF }
    let said = try holdfast(["play", path, "--output", "file:" + folder.file("d.wav")])
    #expect(said.code == 65 && said.errText.contains("silence was played"), "\(said)")
    #expect(try decoded(folder.file("d.wav")).count == 612_221)
    let whole = try holdfast(["play", path, "--to", "00:02", "--output", "file:" + folder.file("e.wav")])
    #expect(whole.code == 0, "\(whole)")
  }

  @Test func `what can't be played is said in one line`() throws {
    let path = try take()
    for (words, code) in [
      ([path, "--from", "x"], 64), ([path, "--output", "x"], 64), ([path, path], 64), ([], 64),
      ([path, "--from", "00:13", "--output", "alsa:nul"], 64), ([folder.file("none.opus")], 66),
      ([path, "--output", "alsa:nosuchdevice"], 69),
    ] as [([String], Int32)] {
      let said = try holdfast(["play"] + words, environment: alsa)
      #expect(said.code == code && said.isOneLine, "\(words): \(said)")
    }
  }
}

/// Through a real sound server: playing takes time there. One at a time.
@Suite(.serialized) struct PlaySoundServerTests {
  private let pulse: PrivatePulse
  private let folder: TempFolder
  init() throws {
    pulse = try PrivatePulse()
    folder = try TempFolder("play")
  }
  /// An hour to play, of which nobody hears the end.
  private func long() throws -> String {
    let path = folder.file("long.wav")
    let made = try run(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", "sine=duration=3600:sample_rate=8000", "-c:a", "pcm_s16le", path])
    try #require(made.code == 0, "\(made)")
    return path
  }
  private func play(_ path: String) throws -> Running {
    let process = try Running(
      Places.holdfast, ["play", path, "--json", "--output", "alsa:out"], environment: pulse.environment)
    try #require(process.waitFor("\"event\":\"position\"", timeout: 30))
    return process
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func `every signal ends it cleanly`(signal: Int32) throws {
    let process = try play(try long())
    process.signal(signal)
    let said = process.wait(timeout: 30)
    #expect(said.code == 0 && !said.timedOut, "\(said)")
    let last = try Fields(#require(said.jsonLines().last))
    #expect(last.text("state") == "stopped" && (last.int("position_ms") ?? 0) > 0)
  }

  @Test func `a pause holds the position, and it goes on from there`() throws {
    let process = try play(try long())
    process.signal(SIGUSR1)
    try #require(process.waitFor("\"paused\"", timeout: 30))
    process.signal(SIGUSR1)
    while String(decoding: process.out, as: UTF8.self).components(separatedBy: "\"playing\"").count < 3,
      process.isRunning
    { usleep(2_000) }
    process.signal(SIGINT)
    let lines = try process.wait(timeout: 30).jsonLines().map(Fields.init)
    let states = lines.filter { $0.text("event") == "state" }
    #expect(states.map { $0.text("state") } == ["playing", "paused", "playing", "stopped"])
    #expect(states[1].int("position_ms") == states[2].int("position_ms"))
    let positions = lines.compactMap { $0.int("position_ms") }
    #expect(positions == positions.sorted())
  }

  @Test func `a server that dies is an error, and one that hangs holds no signal up`() throws {
    let path = try long()
    let process = try play(path)
    pulse.stop()
    let said = process.wait(timeout: 30)
    #expect(said.code == 69 && said.isOneLine, "\(said)")
    #expect(said.outText.contains("server_gone"))
    try pulse.start()
    let hung = try play(path)
    pulse.signal(SIGSTOP)
    hung.signal(SIGINT)
    #expect(hung.wait(timeout: 30).code == 0)
    pulse.signal(SIGCONT)
  }

  @Test func `a short clip sounds to its end`() throws {
    let take = try record(["--input", "tone:440", "--max-ms", "700"], in: folder)
    let live = try LiveTake(
      ["--input", "alsa:pa", "--buffer-ms", "2000"], in: folder, to: "heard.opus",
      environment: pulse.environment)
    try live.reach(ms: 200)
    let said = try holdfast(
      ["play", take.path, "--json", "--output", "alsa:out"], environment: pulse.environment)
    #expect(said.code == 0, "\(said)")
    #expect(try Fields(#require(said.jsonLines().last)).int("position_ms") == 700)
    try live.reach(ms: live.effectiveMs + 500)
    let heard = try live.stop()
    // As long as it was played, whatever silence is around it.
    let loud = try decoded(heard.path).filter { abs(Int($0)) > 300 }.count
    #expect(loud > 600 * 48 * 9 / 10, "\(loud)")
  }
}
