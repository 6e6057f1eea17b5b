import Capture
import Glibc
import Platform
import Signal

/// Speech by arithmetic, over and over: what Opus and the detector have to do with it costs what speech costs.
///
/// A glottal pulse train with a moving pitch through two resonators that change each syllable (Klatt's cascade, 1980, cut
/// down), breath noise, and a pause of 0.6 s every four.
final class SyntheticSpeech: Source {
  let format = SourceFormat(sample: .s16, rate: 48_000, channels: 1)
  var statedFrames: Int64? { left }
  var problems: [SourceProblem] { [] }
  private let loop: [Int16]
  private var at = 0
  private var left: Int64

  /// - Parameter frames: how many it delivers.
  init(frames: Int64) {
    loop = Self.made
    left = frames
  }
  private static let made: [Int16] = {
    var samples = [Double](repeating: 0, count: 480_000)
    var seed: UInt32 = 1
    var phase = 0.0
    var (a, b) = ((0.0, 0.0), (0.0, 0.0))
    let vowels = [(700.0, 1_220.0), (300, 2_300), (500, 1_000), (400, 2_000), (320, 800), (600, 1_700)]
    for i in samples.indices {
      let t = Double(i) / 48_000
      let syllable = Int(t * 5)
      let within = t * 5 - Double(syllable)
      let speaks = t.truncatingRemainder(dividingBy: 4) < 3.4
      let loud = speaks ? sin(.pi * within) * 0.9 : 0
      seed = seed &* 1_664_525 &+ 1_013_904_223
      let noise = Double(seed >> 8) / Double(1 << 24) - 0.5
      phase += (118 + 22 * sin(t * 1.7) + 6 * within) / 48_000
      var x = noise * 0.02
      if phase >= 1 {
        phase -= 1
        x += 1
      }
      let (one, two) = vowels[(syllable * 7) % vowels.count]
      a = (resonate(x, a, one, 90), a.0)
      b = (resonate(a.0, b, two, 130), b.0)
      samples[i] = b.0 * loud + noise * 0.0004
    }
    // As loud as speech: what is too quiet costs Opus half as much.
    let peak = samples.reduce(0) { max($0, abs($1)) }
    return samples.map { Int16($0 * 16_000 / peak) }
  }()
  /// A two-pole resonator of gain 1 at 0 Hz: frequency and bandwidth in Hz.
  private static func resonate(_ x: Double, _ y: (Double, Double), _ hertz: Double, _ width: Double) -> Double
  {
    let r = exp(-.pi * width / 48_000)
    let b = 2 * r * cos(2 * .pi * hertz / 48_000)
    let c = -r * r
    return (1 - b - c) * x + b * y.0 + c * y.1
  }

  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    let count = min(Int(min(left, 1 << 20)), buffer.byteCount / 2, loop.count - at)
    for i in 0..<count { buffer.storeBytes(of: loop[at + i], toByteOffset: i * 2, as: Int16.self) }
    at = (at + count) % loop.count
    left -= Int64(count)
    return count
  }
}

/// Another source, whose reads are timed: from one that returns to the next, as the capture thread meets them.
final class TimedSource: Source {
  private let inner: any Source
  private var last: MonotonicTime?
  private(set) var waits = DurationCounts()
  private(set) var losses = 0
  private(set) var lostFrames: Int64 = 0
  /// Whether the thread that reads was let run in front of all others.
  private(set) var isFIFO = false

  init(_ inner: any Source) { self.inner = inner }

  var format: SourceFormat { inner.format }
  var statedFrames: Int64? { inner.statedFrames }
  var problems: [SourceProblem] { inner.problems }
  var periodFrames: Int { inner.periodFrames }
  var fullScale: Float { inner.fullScale }
  var damage: String? { inner.damage }
  var drainsAfterInterrupt: Bool { inner.drainsAfterInterrupt }
  func interrupt() { inner.interrupt() }

  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    let count = try inner.read(into: &buffer)
    let now = MonotonicTime.now
    if let last {
      waits.add(now.nanoseconds - last.nanoseconds)
    } else {
      isFIFO = sched_getscheduler(0) & ~0x4000_0000 == SCHED_FIFO  // without SCHED_RESET_ON_FORK
    }
    last = now
    return count
  }
  func takeLoss() -> CaptureLoss? {
    guard let loss = inner.takeLoss() else { return nil }
    losses += 1
    lostFrames += loss.frames
    return loss
  }
}
