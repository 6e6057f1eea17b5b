import Glibc
import Signal
import Testing

@testable import Capture

@Suite struct `A tone` {
  @Test(arguments: [1_000.0, 440, 0.5, 23_999.9], [-12.0, 0, -60, 6])
  func `every sample is the sine's`(hertz: Double, level: Double) throws {
    let samples = drain(try ToneSource(hertz: hertz, peakDBFS: level, frames: 5_000), block: 777).samples
    #expect(samples.count == 5_000)
    let peak = pow(10, level / 20)
    for (frame, sample) in samples.enumerated() {
      let angle = (hertz * Double(frame) / 48_000).truncatingRemainder(dividingBy: 1) * 2 * Double.pi
      #expect(abs(Double(sample) - peak * sin(angle)) < peak * 1e-6)
    }
  }
  @Test func `after an hour it is still in phase`() throws {
    let tone = try ToneSource(hertz: 440.1)
    var buffer = [Float](repeating: 0, count: 48_000)
    for _ in 0..<3_600 {
      var span = buffer.mutableSpan
      var raw = span.mutableBytes
      #expect(try tone.read(into: &raw) == 48_000)
    }
    for (frame, sample) in buffer.enumerated() {
      // 440.1 turns a second: whole turns fall away, frame by frame.
      let turns = 440.1 * Double(frame) / 48_000 + 0.1 * 3_599
      #expect(abs(Double(sample) - pow(10, -0.6) * sin((turns - turns.rounded()) * 2 * Double.pi)) < 1e-6)
    }
  }
  @Test func `impossible tones are refused`() {
    for (hertz, level, frames) in [
      (0.0, 0.0, 1), (24_000, 0, 1), (.nan, 0, 1), (1, 25, 1), (1, .nan, 1), (1, 0, -1),
    ] {
      #expect(throws: SourceError.self) {
        _ = try ToneSource(hertz: hertz, peakDBFS: level, frames: Int64(frames))
      }
    }
  }
}

/// A clock that stands still but for sleep, and what a test adds.
private final class FakeClock {
  var time: Int64 = 5_000_000_000
  var slept: [Int64] = []
  var clock: PacingClock {
    PacingClock(
      now: { self.time },
      sleep: {
        self.slept.append($0)
        self.time = max(self.time, $0)
      })
  }
}

/// Delivers a few frames, then fails.
private final class Failing: Source {
  let format = SourceFormat(sample: .float32, rate: 48_000, channels: 1)
  let statedFrames: Int64? = nil
  let problems: [SourceProblem] = []
  var left: Int
  init(after frames: Int) { left = frames }
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    guard left > 0 else { throw .read("broken") }
    let count = min(left, buffer.byteCount / 4, 100)
    left -= count
    return count
  }
}

@Suite struct `Pacing` {
  private func read(_ source: any Source, room: Int = 100_000) throws -> Int {
    var buffer = [Float](repeating: 0, count: room)
    var span = buffer.mutableSpan
    var raw = span.mutableBytes
    return try source.read(into: &raw)
  }

  @Test func `a period comes when it is due, by absolute deadlines`() throws {
    let fake = FakeClock()
    let source = PacedSource(try ToneSource(hertz: 1_000), periodFrames: 480, clock: fake.clock)
    for period in 1...300 {
      #expect(try read(source) == 480)
      #expect(fake.time == 5_000_000_000 + Int64(period) * 10_000_000)
      fake.time += 3_000_000  // the reader's own work doesn't add up
    }
  }
  @Test func `a rate that doesn't divide a second doesn't drift`() throws {
    let fake = FakeClock()
    let file = riff(chunk("fmt ", fmt(rate: 44_100)), chunk("data", ramp(441_000)))
    let folder = Folder()
    let source = PacedSource(try FileSource(folder.write(file)), periodFrames: 1_001, clock: fake.clock)
    var total = 0
    while case let got = try read(source), got > 0 { total += got }
    #expect(total == 441_000)
    #expect(fake.time == 15_000_000_000)
  }
  @Test func `a late reader gets what is due by then`() throws {
    let fake = FakeClock()
    let source = PacedSource(try ToneSource(hertz: 1_000), periodFrames: 480, clock: fake.clock)
    #expect(try read(source) == 480)
    fake.time += 55_000_000  // five periods and a half
    #expect(try read(source) == 2_400)
    fake.time += 1_000_000_000
    #expect(try read(source, room: 1_000) == 1_000)  // no more than there is room for
    #expect(try read(source, room: 100_000) == 47_040)  // whole periods: 98 of them
  }
  @Test func `the frames before an error are delivered, then the error, then the end`() throws {
    let source = PacedSource(Failing(after: 250), periodFrames: 480, clock: FakeClock().clock)
    #expect(try read(source) == 250)
    #expect(throws: SourceError.read("broken")) { _ = try read(source) }
    #expect(try read(source) == 0)
  }
  @Test func `the real clock waits`() throws {
    let source = PacedSource(try ToneSource(hertz: 1_000, frames: 960), periodFrames: 480)
    let start = PacingClock.monotonic.now()
    #expect(drain(source).samples.count == 960)
    #expect(PacingClock.monotonic.now() - start >= 20_000_000)  // a lower bound, whatever the load
  }
}
