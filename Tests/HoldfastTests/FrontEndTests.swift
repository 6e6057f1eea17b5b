import Foundation
import Holdfast
import TestSupport
import Testing

/// A device for a front end: some frames, then gone until it is told to be there again.
private final class ComingAndGoing: Source, @unchecked Sendable {
  let format = SourceFormat(sample: .s16, rate: 48_000, channels: 1)
  let statedFrames: Int64? = nil
  let problems: [SourceProblem] = []
  let canReopen = true
  private let lock = NSLock()
  private var left = 48_000
  private var stopped = false
  private var isThere = false
  private var tried = 0
  var attempts: Int { lock.withLock { tried } }

  func come(back frames: Int) {
    lock.withLock {
      isThere = true
      left = frames
    }
  }
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    while true {
      let n = lock.withLock { stopped ? 0 : left > 0 ? min(480, left, buffer.byteCount / 2) : -1 }
      if n == 0 { return 0 }
      guard n > 0 else { throw .device(.deviceLost(ENODEV)) }
      for i in 0..<n { buffer.storeBytes(of: Int16(i % 48 * 200), toByteOffset: i * 2, as: Int16.self) }
      lock.withLock { left -= n }
      return n
    }
  }
  func reopen() throws(CaptureOpenError) {
    let there = lock.withLock {
      tried += 1
      return isThere
    }
    if !there { throw .noDevice(Path("")) }
  }
  func interrupt() { lock.withLock { stopped = true } }
}

/// The library, as a front end uses it: interrupted stays interrupted until somebody decides.
@Suite struct FrontEndTests {
  private let folder: TempFolder
  private let source = ComingAndGoing()
  private let recorder: Recorder
  private let path: String

  init() throws {
    folder = try TempFolder("front")
    path = folder.file("a.opus")
    var settings = RecordingSettings()
    settings.output = Path(path)
    settings.live = true
    recorder = Recorder(settings: settings)
    nonisolated(unsafe) let source: any Source = source
    try recorder.start(source: source)
    try reach { if case .interrupted(.deviceLost, _) = $0.state { true } else { false } }
  }
  private func reach(_ condition: (Recorder) -> Bool) throws {
    for _ in 0..<5_000 where !condition(recorder) { usleep(2_000) }
    #expect(condition(recorder), "\(recorder.state)")
  }
  /// All events to the end.
  private func events() -> [RecorderEvent] {
    var all: [RecorderEvent] = []
    while true {
      let more = recorder.events.next()
      if more.isEmpty { break }
      all += more
    }
    recorder.wait()
    return all
  }
  private func sealed(_ events: [RecorderEvent]) -> SealedTake? {
    events.compactMap { if case .sealed(let take) = $0 { take } else { nil } }.first
  }

  @Test func `it stays interrupted until it is told to go on, and says when that was for nothing`() throws {
    usleep(600_000)
    #expect(source.attempts == 0, "nobody asked for it")
    // What is pressed meanwhile counts.
    #expect(recorder.pause() == .closeGate && recorder.mark() == .writeMark)
    #expect(recorder.state == .interrupted(.deviceLost, whilePaused: true))
    #expect(recorder.resume() == .openGate)
    #expect(recorder.goOn() == .retrySource)
    try reach { _ in source.attempts == 1 }
    usleep(50_000)
    #expect(recorder.state.isInterrupted)
    source.come(back: 24_000)
    recorder.goOn()
    try reach { _ in source.attempts == 2 }
    try reach { $0.state.isInterrupted && $0.effectiveMs == 1_500 }
    recorder.keep()
    let events = events()
    let take = try #require(sealed(events))
    #expect(take.effectiveFrames == 72_000 && take.endedBy == .device)
    let told = events.compactMap { if case .interrupted(let reason, _) = $0 { reason } else { nil } }
    #expect(told == [.deviceLost, .deviceLost, .deviceLost])
    #expect(recorder.goOn() == .reject(.notInterrupted))
    #expect(try Judge.opusdecFrames(path) == 72_000)
  }

  @Test func `keep seals what there is`() throws {
    recorder.keep()
    #expect(try #require(sealed(events())).effectiveFrames == 48_000)
    #expect(recorder.state == .sealed)
  }

  @Test func `discard moves it to the trash`() throws {
    #expect(recorder.discard() == .moveToTrash)
    #expect(sealed(events()) == nil && recorder.state == .discarded)
    #expect(!folder.names.contains { $0.hasPrefix("a.opus") })
    #expect(folder.names.contains { $0.hasSuffix("a.opus.partial/audio.opus") })
  }

  @Test func `leave keeps all of it, exactly, for recovery`() throws {
    #expect(recorder.leave() == .keepPartial)
    let events = events()
    #expect(sealed(events) == nil)
    #expect(recorder.state == .interrupted(.left, whilePaused: false))
    recorder.stop(.user)
    #expect(recorder.state == .interrupted(.left, whilePaused: false), "it is over")
    let said = try holdfast(["recover", path, "--json"])
    #expect(said.code == 0, "\(said)")
    let take = Fields(try #require(try said.jsonLines().first))
    #expect(
      take.int("effective_frames") == 48_000 && take.int("lost_ms_max") == 0
        && take.text("ended_by") == "left", "\(take)")
    #expect(try Judge.opusdecFrames(path) == 48_000)
  }

  @Test func `a take that was left is gone on with`() throws {
    recorder.leave()
    _ = events()
    let said = try holdfast([
      "record", "--continue", path, "--input", "file:" + Places.testaudio("talk.wav"), "--json",
    ])
    #expect(said.code == 0, "\(said)")
    let report = try Inspector.inspect(Path(path))
    #expect(report.story?.interruptions.map(\.reason) == [.deviceLost, .left])
    // What was left ends on the packet grid: silence of less than 27 ms fills it up.
    #expect((48_000..<49_300).contains(report.effectiveFrames - 612_221))
    #expect(try Verifier.verify(Path(path)).isSound)
  }

  @Test(arguments: 0..<8) func `commands from many threads while devices come and go`(_ seed: Int)
    async throws
  {
    source.come(back: 480_000)
    recorder.goOn()
    await withTaskGroup(of: Void.self) { group in
      for n in 0..<4 {
        group.addTask { [recorder] in
          for i in 0..<50 {
            switch (i &* 7 &+ n &+ seed) % 5 {
            case 0: _ = recorder.pause()
            case 1: _ = recorder.resume()
            case 2: _ = recorder.mark()
            case 3: recorder.goOn()
            default: _ = recorder.effectiveMs
            }
          }
        }
      }
    }
    recorder.stop(.user)
    let take = try #require(sealed(events()))
    #expect(try Judge.opusdecFrames(path) == Int(take.effectiveFrames))
  }
}
