import Foundation
import Holdfast
import TestSupport
import Testing

/// A device made of a script: stretches of a tone and losses between them.
private final class ScriptedSource: Source {
  enum Step {
    case tone(frames: Int)
    case loss(frames: Int64)
  }
  let format: SourceFormat
  let statedFrames: Int64? = nil
  let problems: [SourceProblem] = []
  private var steps: [Step]
  private var loss: CaptureLoss?
  private var phase = 0

  private let hold: DispatchSemaphore?

  /// - Parameter hold: nothing is delivered before it is signalled.
  init(rate: Int, _ steps: [Step], hold: DispatchSemaphore? = nil) {
    format = SourceFormat(sample: .s16, rate: rate, channels: 1)
    self.steps = steps
    self.hold = hold
  }
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    if phase == 0 { hold?.wait() }
    while let step = steps.first {
      switch step {
      case .loss(let frames):
        steps.removeFirst()
        loss = CaptureLoss(frames: frames, measuredBy: .monotonic, uncertaintyFrames: 10, cause: .overrun)
      case .tone(let frames):
        let n = min(frames, buffer.byteCount / 2, 480)
        for i in 0..<n {
          let v = Int16(16_384 * sin(2 * .pi * 1000 * Double(phase + i) / Double(format.rate)))
          buffer.storeBytes(of: v, toByteOffset: i * 2, as: Int16.self)
        }
        phase += n
        steps[0] = .tone(frames: frames - n)
        if frames == n { steps.removeFirst() }
        return n
      }
    }
    return 0
  }
  func takeLoss() -> CaptureLoss? {
    defer { loss = nil }
    return loss
  }
}

private func record(
  _ source: sending ScriptedSource, _ change: (inout RecordingSettings) -> Void = { _ in },
  _ act: (Recorder) -> Void = { _ in }
) throws -> (take: SealedTake, events: [RecorderEvent], samples: [Float], folder: TempFolder) {
  let folder = try TempFolder()
  var settings = RecordingSettings()
  settings.output = Path(folder.file("a.opus"))
  settings.live = true
  change(&settings)
  let recorder = Recorder(settings: settings)
  try recorder.start(source: source)
  act(recorder)
  var events: [RecorderEvent] = []
  while true {
    let more = recorder.events.next()
    if more.isEmpty { break }
    events += more
  }
  let take = try #require(events.compactMap { if case .sealed(let take) = $0 { take } else { nil } }.first)
  return (take, events, try Judge.opusdecSamples(folder.file("a.opus")), folder)
}

private func gaps(_ events: [RecorderEvent]) -> [(Gap, Int64)] {
  events.compactMap { if case .gap(let gap, let at) = $0 { (gap, at) } else { nil } }
}

@Test(arguments: [48_000, 44_100, 16_000])
func `an overrun is filled with silence of its length, at its place`(_ rate: Int) throws {
  let lost = Int64(rate / 10)
  let source = ScriptedSource(rate: rate, [.tone(frames: rate), .loss(frames: lost), .tone(frames: rate)])
  let (take, events, samples, folder) = try record(source)
  #expect(take.effectiveFrames == 48_000 + 4_800 + 48_000)
  #expect(samples.count == Int(take.effectiveFrames))
  let found = gaps(events)
  #expect(found.count == 1)
  #expect(found.first?.0.frames == 4_800)
  #expect(found.first?.0.filled == true)
  #expect(found.first?.1 == 48_000)
  #expect(rmsDb(samples[48_700..<52_200]) < -40)
  #expect(abs(rmsDb(samples[24_000..<46_000]) + 9.03) < 0.5)
  #expect(abs(rmsDb(samples[54_000..<96_000]) + 9.03) < 0.5)
  let report = try Inspector.inspect(Path(folder.file("a.opus")))
  #expect(report.story?.gapFrames == 4_800)
}

@Test func `with close the gap is told and takes no time`() throws {
  let source = ScriptedSource(
    rate: 48_000, [.tone(frames: 48_000), .loss(frames: 4_800), .tone(frames: 48_000)])
  let (take, events, samples, _) = try record(source) { $0.gaps = .close }
  #expect(take.effectiveFrames == 96_000)
  #expect(samples.count == 96_000)
  #expect(gaps(events).map(\.0.frames) == [4_800])
  #expect(gaps(events).map(\.0.filled) == [false])
}

@Test func `a loss over two seconds is an interruption and never filled`() throws {
  let source = ScriptedSource(
    rate: 48_000, [.tone(frames: 48_000), .loss(frames: 48_000 * 3), .tone(frames: 48_000)])
  let (take, events, _, folder) = try record(source)
  #expect(take.effectiveFrames == 96_000)
  #expect(gaps(events).isEmpty)
  let story = try #require(try Inspector.inspect(Path(folder.file("a.opus"))).story)
  #expect(story.interruptions.map(\.frame) == [48_000])
  #expect(story.interruptions.map(\.reason) == [.overrunStorm])
  #expect(story.interruptions.map(\.lengthMs) == [3_000])
  #expect(story.parts == 2)
}

@Test func `many overruns in a row all count`() throws {
  let steps = (0..<100).flatMap { _ in [ScriptedSource.Step.tone(frames: 480), .loss(frames: 48)] }
  let (take, events, _, _) = try record(ScriptedSource(rate: 48_000, steps + [.tone(frames: 480)]))
  #expect(gaps(events).count == 100)
  #expect(take.effectiveFrames == 101 * 480 + 100 * 48)
}

@Test(arguments: [GapPolicy.fill, .close]) func `an overrun that cost no frame is no gap`(_ policy: GapPolicy)
  throws
{
  let source = ScriptedSource(
    rate: 48_000, [.tone(frames: 48_000), .loss(frames: 0), .tone(frames: 48_000)])
  let (take, events, _, folder) = try record(source) { $0.gaps = policy }
  #expect(take.effectiveFrames == 96_000)
  #expect(gaps(events).isEmpty)
  #expect(try Inspector.inspect(Path(folder.file("a.opus"))).story?.gaps.isEmpty == true)
}

@Test func `what is lost in a pause costs the take nothing`() throws {
  let hold = DispatchSemaphore(value: 0)
  let source = ScriptedSource(
    rate: 48_000, [.tone(frames: 48_000), .loss(frames: 4_800), .tone(frames: 48_000)], hold: hold)
  let (take, events, _, _) = try record(source) { _ in
  } _: { recorder in
    recorder.schedule(.pause, atCaptureFrame: 24_000)
    recorder.schedule(.resume, atCaptureFrame: 72_000)
    hold.signal()
  }
  #expect(take.pauseCount == 1)
  #expect(gaps(events).map(\.0.frames) == [0])
  // Up to the pause, its fade-out, and what came from the resume on.
  #expect(take.effectiveFrames == 24_000 + 240 + 24_000)
}

@Test func `a pre-roll is the sound from right before the start, and counts`() throws {
  let folder = try TempFolder()
  var settings = RecordingSettings()
  settings.output = Path(folder.file("a.opus"))
  settings.preRollMs = 500
  settings.live = true
  let recorder = Recorder(settings: settings)
  let more = DispatchSemaphore(value: 0)
  try recorder.arm(source: TwoParts(first: 96_000, then: more, second: 48_000))
  while recorder.captured < 96_000 { usleep(1_000) }
  #expect(recorder.state == .armed)
  #expect(folder.names.isEmpty, "nothing on the disk before the start")
  try recorder.start()
  more.signal()
  var take: SealedTake?
  while true {
    let events = recorder.events.next()
    if events.isEmpty { break }
    for case .sealed(let sealed) in events { take = sealed }
  }
  #expect(try #require(take).effectiveFrames == 72_000)
  // The first part ends with a loud stretch of exactly the pre-roll's length.
  let samples = try Judge.opusdecSamples(folder.file("a.opus"))
  #expect(rmsDb(samples[1_000..<23_000]) > -12)
  #expect(rmsDb(samples[26_000...]) < -50)
}

/// Silence, 0.5 s of a tone, then a wait, then silence.
private final class TwoParts: Source {
  let format = SourceFormat(sample: .float32, rate: 48_000, channels: 1)
  let statedFrames: Int64? = nil
  let problems: [SourceProblem] = []
  private let first: Int
  private let total: Int
  private let then: DispatchSemaphore
  private var at = 0

  init(first: Int, then: DispatchSemaphore, second: Int) {
    (self.first, self.then, total) = (first, then, first + second)
  }
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    if at == first { then.wait() }
    let n = min(480, buffer.byteCount / 4, (at < first ? first : total) - at)
    for i in 0..<n {
      let loud = at + i >= first - 24_000 && at + i < first
      let v = loud ? Float(0.5 * sin(Double(at + i) * 0.13)) : 0
      buffer.storeBytes(of: v, toByteOffset: i * 4, as: Float.self)
    }
    at += n
    return n
  }
}
