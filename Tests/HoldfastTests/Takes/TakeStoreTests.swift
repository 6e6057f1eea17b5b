import Foundation
import TestSupport
import Testing

@testable import Holdfast

extension TempFolder {
  var store: TakeStore { TakeStore(folder: Path(path)) }
  /// SHA-256 of every file below it, and its time of change: what looking mustn't touch.
  func state() throws -> [String: String] {
    var all: [String: String] = [:]
    for name in names where !name.hasSuffix("/") {
      let times = try FileManager.default.attributesOfItem(atPath: file(name))[.modificationDate] as? Date
      all[name] = "\(try Judge.sha256(file(name))) \(times?.timeIntervalSince1970 ?? 0)"
    }
    return all
  }
}

/// What a front end learns of a folder after a launch.
@Suite struct TakeStoreTests {
  private let folder: TempFolder
  init() throws { folder = try TempFolder("store") }

  private func sealed(_ name: String, session: String? = nil, seconds: Int = 1, extra: [String] = []) throws {
    let context = session.map { ["--session", $0] } ?? []
    let take = try record(
      ["--input", "tone:440", "--max-ms", "\(seconds * 1_000)"] + context + extra, to: name, in: folder)
    try #require(take.said.code == 0, "\(take.said)")
  }
  private func killed(_ name: String, ms: Int = 1_000, extra: [String] = []) throws {
    let live = try LiveTake(["--input", "tone:440"] + extra, in: folder, to: name)
    try live.reach(ms: ms)
    live.process.signal(SIGKILL)
    live.process.wait()
  }

  @Test func `pending tells sealed, recorded, killed, left and unreadable takes, and changes nothing`() throws
  {
    try sealed("a.opus", session: "one", seconds: 2, extra: ["--min-valid-ms", "3500"])
    try killed("b.opus", extra: ["--session", "two", "--max-ms", "90000", "--min-valid-ms", "20000"])
    try killed("c.opus", ms: 200, extra: ["--session", "one"])
    try FileManager.default.removeItem(atPath: folder.file("c.opus.partial/audio.opus"))
    for tail in ["tail.0", "tail.1"] {
      try FileManager.default.removeItem(atPath: folder.file("c.opus.partial/\(tail)"))
    }
    #expect(try holdfast(["recover", folder.file("c.opus")]).code == 65)
    let live = try LiveTake(["--input", "tone:440", "--session", "two"], in: folder, to: "d.opus")
    try live.reach(ms: 100)
    try folder.write("e.opus", "not a take")
    try folder.write("e.txt", "notes")

    let before = try folder.state().filter { !$0.key.hasPrefix("d.opus") }
    let all = try folder.store.pending()
    #expect(try folder.state().filter { !$0.key.hasPrefix("d.opus") } == before)
    #expect(all.map(\.path.name.text) == ["a.opus", "b.opus", "c.opus.unreadable", "d.opus", "e.opus"])
    #expect(all.map(\.kind) == [.complete, .unfinished, .unreadable, .recording, .unreadable])
    #expect(all[0].durationMs == 2_000 && all[0].missingMs == 1_500 && all[0].remainingMs == 0)
    #expect(all[1].interruption == .killed && all[1].durationMs >= 900)
    #expect(all[1].missingMs == 20_000 - all[1].durationMs)
    #expect(all[1].remainingMs == 90_000 - all[1].durationMs)
    #expect(all[2].contextText == #"{"session":"one"}"# && all[2].fault?.isEmpty == false)
    #expect(all[3].interruption == nil && all[3].remainingMs == nil)
    #expect(
      try folder.store.pending(context: #"{"session":"two"}"#).map(\.path.name.text) == ["b.opus", "d.opus"])
    #expect(try folder.store.pending(context: #"{"session":"o"}"#).isEmpty)

    // `list` is its client.
    let listed = try holdfast(["list", "--json", folder.path]).jsonLines().map(Fields.init)
    #expect(listed[1].text("reason") == "killed" && listed[1].int("remaining_ms") == Int(all[1].remainingMs!))
    let faults = try Judge.schemaFaults(
      holdfast(["list", "--json", folder.path]).outText, schema: Places.root + "/docs/schema/list.json")
    #expect(faults == [])

    // What it said of the killed one is what recovery makes of it.
    let results = try folder.store.recover(context: #"{"session":"two"}"#)
    #expect(results.count == 2)
    guard case .recovered(let take) = results[0], case .nothingToDo = results[1] else {
      Issue.record("\(results)")
      return
    }
    #expect(take.take.effectiveFrames == all[1].effectiveFrames)
    _ = try live.stop()
  }

  @Test func `a take that was left says so`() throws {
    let settings = RecordingSettings()
    var mine = settings
    mine.output = Path(folder.file("left.opus"))
    let recorder = Recorder(settings: mine)
    try recorder.start(source: PacedSource(try ToneSource(hertz: 440, peakDBFS: -12), periodFrames: 480))
    while recorder.effectiveMs < 200 { usleep(2_000) }
    _ = recorder.leave()
    recorder.wait()
    let take = try #require(try folder.store.pending().first)
    #expect(take.kind == .unfinished && take.interruption == .left)
  }

  @Test func `a folder that isn't there is a clear error`() {
    let store = TakeStore(folder: Path(folder.file("none")))
    let failure = #expect(throws: RecorderFailure.self) { _ = try store.pending() }
    #expect(failure?.code == 66)
    #expect(throws: RecorderFailure.self) { _ = try store.wipeAll() }
  }

  @Test func `a thousand sealed takes and a long partial one are told by manifests and pages`() throws {
    try sealed("t.opus", session: "x")
    let (audio, manifest) = try (contents(folder.file("t.opus")), contents(folder.file("t.take.json")))
    for i in 1..<1_000 {
      try folder.write("t\(i).opus", audio)
      try folder.write("t\(i).take.json", manifest)
    }
    let cpu = clock()
    let takes = try folder.store.pending(context: #"{"session":"x"}"#)
    let seconds = Double(clock() - cpu) / Double(CLOCKS_PER_SEC)
    #expect(takes.count == 1_000 && takes.allSatisfy { $0.durationMs == 1_000 })
    // CPU time of this process, with room for tests that run beside this one: decoding them would take over 10 s.
    print("pending of 1 000 sealed takes: \(seconds) s of CPU")
    #expect(seconds < 8)
  }

  @Test func `a sealed take opens by its path`() throws {
    try sealed("a.opus", session: "one")
    let path = Path(folder.file("a.opus"))
    let take = try Take(path)
    #expect(take.submission.durationMs == 1_000 && take.submission.contentType == "audio/ogg; codecs=opus")
    #expect(take.submission.sha256 == (try Judge.sha256(path.text)) && take.submission.pauseCount == 0)
    #expect(try take.checksum() == take.submission.sha256)
    #expect(try take.verify().isSound && take.inspect().outcome == .complete)
    #expect(take.context == #"{"session":"one"}"#)

    try change(path.text) { $0.append(0) }
    let other = #expect(throws: RecorderFailure.self) { _ = try Take(path) }
    #expect(other?.code == 65 && other?.kind == "checksum")
    try killed("b.opus", ms: 100)
    let unfinished = #expect(throws: RecorderFailure.self) { _ = try Take(Path(folder.file("b.opus"))) }
    #expect(unfinished?.kind == "unfinished")
    let none = #expect(throws: RecorderFailure.self) { _ = try Take(Path(folder.file("z.opus"))) }
    #expect(none?.code == 66)
    let plain = try folder.write("p.opus", audioWithoutManifest())
    let foreign = #expect(throws: RecorderFailure.self) { _ = try Take(Path(plain)) }
    #expect(foreign?.kind == "no_manifest")
  }
  private func audioWithoutManifest() throws -> Data { try contents(folder.file("a.opus")) }
}
