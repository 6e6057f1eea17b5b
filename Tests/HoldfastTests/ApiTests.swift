import Foundation
import Holdfast
import TestSupport
import Testing

/// The Swift API as a screen uses it.
@Suite struct ApiTests {
  private let folder: TempFolder
  init() throws { folder = try TempFolder("api") }

  private func settings(_ name: String = "a.opus", hertz: Double = 440) -> RecordingSettings {
    var options = InputOptions()
    options.paced = true
    var settings = RecordingSettings(input: .tone(hertz: hertz, dbfs: -12), options: options)
    settings.output = Path(folder.file(name))
    settings.minValidMs = 300
    return settings
  }
  private func until(_ recorder: Recorder, _ condition: (RecorderSnapshot) -> Bool) {
    for _ in 0..<30_000 where !condition(recorder.snapshot) { usleep(2_000) }
    #expect(condition(recorder.snapshot), "\(recorder.snapshot)")
  }

  @Test func `a snapshot tells state, time, level, bars and what is missing`() throws {
    let recorder = Recorder(settings: settings())
    #expect(recorder.snapshot.state == .idle && !recorder.snapshot.canSubmit)
    #expect(recorder.snapshot.missingMs == 300 && recorder.path == nil)
    try recorder.arm()
    until(recorder) { $0.state == .armed && abs($0.peakDb + 12) < 0.1 && $0.bars.last ?? 0 > 0.5 }
    #expect(recorder.snapshot.effectiveMs == 0, "armed: only the level moves")
    try recorder.start()
    #expect(recorder.path == Path(folder.file("a.opus")))
    until(recorder) { $0.state == .recording && $0.effectiveMs > 100 }
    _ = recorder.pause()
    until(recorder) { $0.state == .paused }
    usleep(50_000)
    let paused = recorder.snapshot
    usleep(100_000)
    #expect(
      recorder.snapshot.effectiveFrames == paused.effectiveFrames && recorder.snapshot.bars == paused.bars)
    #expect(paused.pauseCount == 1)
    _ = recorder.resume()
    until(recorder) { $0.effectiveMs > 400 }
    #expect(recorder.snapshot.canSubmit && recorder.snapshot.missingMs == 0)
    recorder.stop(.user)
    recorder.wait()
    #expect(recorder.snapshot.state == .sealed && recorder.snapshot.canSubmit)
    let take = try Take(Path(folder.file("a.opus")))
    #expect(take.effectiveFrames == recorder.snapshot.effectiveFrames)
  }

  @Test func `events come to a loop, which ends with the take; a recorder has one take`() async throws {
    let recorder = Recorder(settings: settings())
    try recorder.start()
    var names: [String] = []
    for await event in recorder.events {
      switch event {
      case .level(let level, _): if level.endFrame > 9_600 { recorder.stop(.user) }
      case .state(let state, _): names.append(state.name)
      default: break
      }
    }
    #expect(names == ["preparing", "recording", "sealing", "sealed"])
    #expect(throws: RecorderFailure.self) { try recorder.start() }
    recorder.wait()
    #expect(recorder.state == .sealed)
  }

  @Test func `a loop that is cancelled leaves the recorder alone`() async throws {
    let recorder = Recorder(settings: settings())
    try recorder.start()
    let task = Task { for await _ in recorder.events {} }
    usleep(100_000)
    task.cancel()
    await task.value
    until(recorder) { $0.effectiveMs > 300 }
    recorder.stop(.user)
    recorder.wait()
    #expect(recorder.state == .sealed)
  }

  @Test func `a reader that sleeps loses levels and nothing else`() throws {
    var fast = settings()
    fast.maxMs = 120_000
    // As fast as it goes, and yet a live take: 3 600 levels before anybody reads.
    let recorder = Recorder(settings: fast)
    try recorder.start(source: try InputSpec.tone(hertz: 440, dbfs: -12).open(InputOptions()))
    until(recorder) { $0.effectiveMs == 120_000 }
    recorder.wait()
    var levels = 0
    var others: [String] = []
    while true {
      let events = recorder.events.next()
      if events.isEmpty { break }
      for event in events {
        switch event {
        case .level: levels += 1
        case .state(let state, _): others.append(state.name)
        case .sealed: others.append("take")
        default: break
        }
      }
    }
    #expect(levels < 3_600 && levels > 500)
    #expect(others == ["preparing", "recording", "sealing", "sealed", "take"])
  }

  @Test func `several recorders at once keep to themselves`() throws {
    let recorders = (0..<6).map { Recorder(settings: settings("t\($0).opus", hertz: 300 + 100 * Double($0))) }
    for recorder in recorders { try recorder.start() }
    for recorder in recorders { until(recorder) { $0.effectiveMs > 300 } }
    for recorder in recorders { recorder.stop(.user) }
    for (i, recorder) in recorders.enumerated() {
      recorder.wait()
      let samples = try Judge.opusdecSamples(folder.file("t\(i).opus"))
      #expect(samples.count == Int(recorder.snapshot.effectiveFrames))
      #expect(abs(frequency(Array(samples[2_400..<12_000])) - Double(300 + 100 * i)) < 12)
    }
  }

  @Test func `permission is told without a take`() throws {
    #expect(InputSpec.tone(hertz: 440, dbfs: -12).permission() == .granted)
    guard case .undetermined(let failure) = InputSpec.file(Path(folder.file("none.wav"))).permission() else {
      Issue.record("a file that isn't there")
      return
    }
    #expect(failure.code == 66 && folder.names.isEmpty)
  }

  @Test func `leave, pending, go on, wipe: a front end's life with a take`() throws {
    var first = settings()
    first.context = #"{"session":"s","round":1}"#
    let recorder = Recorder(settings: first)
    try recorder.start()
    until(recorder) { $0.effectiveMs > 200 }
    recorder.leave()
    recorder.wait()
    let store = TakeStore(folder: Path(folder.path))
    let pending = try store.pending(context: first.context)
    #expect(pending.map(\.kind) == [.unfinished] && pending.first?.interruption == .left)
    #expect(try store.pending(context: "another").isEmpty)
    let path = try #require(pending.first?.path)
    let next = try Recorder.continuing(path, settings: settings())
    let before = next.effectiveMs
    #expect(before >= 200)
    try next.start()
    until(next) { $0.effectiveMs > before + 200 }
    next.stop(.user)
    next.wait()
    #expect(try Take(path).context == first.context)
    #expect(try store.wipeAll().isComplete)
    #expect(folder.names.isEmpty)
  }
}
