/// One level window: 1 600 effective frames, 30 a second.
public struct Level: Sendable, Equatable {
  /// RMS, DC included, dBFS; a full-scale sine reads −3.01. Floor −160.
  public var rmsDb: Double
  /// Peak magnitude, dBFS. Floor −160.
  public var peakDb: Double
  /// Height of its bar, 0…1.
  public var bar: Double
  /// Effective frame the window ends at: a multiple of 1 600.
  public var endFrame: Int64
}

/// Sums over everything measured so far.
public struct LevelTotals: Sendable, Equatable {
  public var frames: Int64 = 0
  public var sum = 0.0
  public var sumOfSquares = 0.0
  public var peak: Float = 0

  public init() {}

  public var meanSquare: Double { frames > 0 ? sumOfSquares / Double(frames) : 0 }
  public var mean: Double { frames > 0 ? sum / Double(frames) : 0 }
  public var rmsDb: Double { decibels(meanSquare: meanSquare) }
  public var peakDb: Double { decibels(amplitude: Double(peak)) }
  /// RMS without the DC part.
  public var acRmsDb: Double { decibels(meanSquare: max(0, meanSquare - mean * mean)) }

  mutating func add(_ stretch: Stretch, frames count: Int) {
    frames += Int64(count)
    sum += stretch.sum
    sumOfSquares += stretch.sumOfSquares
    peak = max(peak, stretch.peak)
  }
}

/// Sums over a short stretch of samples.
struct Stretch {
  var sum = 0.0
  var sumOfSquares = 0.0
  var peak: Float = 0

  mutating func add(_ other: Stretch) {
    sum += other.sum
    sumOfSquares += other.sumOfSquares
    peak = max(peak, other.peak)
  }
}

/// Measures level windows, the overview and the totals, all on effective frames.
///
/// Pure; the same figures however the samples are cut into calls. No allocation after start.
public struct Meter: Sendable {
  public static let windowFrames = 1_600

  public private(set) var totals = LevelTotals()
  public private(set) var overview = Overview()
  private var bin: [Float]  // samples of the 160-frame bin that isn't full
  private var binCount = 0
  private var window = Stretch()
  private var windowBins = 0

  public init() { bin = Array(repeating: 0, count: Overview.binFrames) }
  /// Goes on from a level summary of the ledger.
  ///
  /// - Parameters:
  ///   - totals: up to a whole number of 160 frames.
  ///   - bins: all that were finished up to there, each at the size that it had then.
  ///   - pendingEnergy: behind the last of them.
  /// - Returns: nil where the figures can't be of one take.
  public init?(restoring totals: LevelTotals, bins: [Float], pendingEnergy: Double) {
    self.init()
    guard totals.frames >= 0, totals.frames % Int64(Overview.binFrames) == 0,
      let overview = Overview(restoring: bins, frames: totals.frames, pendingEnergy: pendingEnergy)
    else { return nil }
    self.totals = totals
    self.overview = overview
    windowBins = Int(totals.frames / Int64(Overview.binFrames)) % (Self.windowFrames / Overview.binFrames)
  }

  /// Measures the next samples, full scale ±1.0.
  ///
  /// - Parameter level: gets each window that they fill.
  public mutating func push(_ samples: Span<Float>, level: (Level) -> Void) {
    var first = 0
    while first < samples.count {
      if binCount == 0, samples.count - first >= Overview.binFrames {
        finishBin(measure(samples.extracting(first..<(first + Overview.binFrames))), level)
        first += Overview.binFrames
        continue
      }
      let n = min(samples.count - first, Overview.binFrames - binCount)
      let filled = binCount
      var target = bin.mutableSpan
      copy(samples.extracting(first..<(first + n)), to: &target, at: filled)
      binCount += n
      first += n
      if binCount == Overview.binFrames {
        binCount = 0
        finishBin(measure(bin.span), level)
      }
    }
  }

  private mutating func finishBin(_ stretch: Stretch, _ level: (Level) -> Void) {
    overview.add(energy: stretch.sumOfSquares)
    totals.add(stretch, frames: Overview.binFrames)
    window.add(stretch)
    windowBins += 1
    guard windowBins == Self.windowFrames / Overview.binFrames else { return }
    let meanSquare = window.sumOfSquares / Double(Self.windowFrames)
    level(
      Level(
        rmsDb: decibels(meanSquare: meanSquare), peakDb: decibels(amplitude: Double(window.peak)),
        bar: barHeight(meanSquare: meanSquare), endFrame: totals.frames))
    window = Stretch()
    windowBins = 0
  }

  /// Totals with the frames of the last bin, which isn't full, counted in.
  public var finalTotals: LevelTotals {
    var all = totals
    all.add(rest, frames: binCount)
    return all
  }
  /// Energy behind the overview's last finished bin.
  public var pendingEnergy: Double { overview.pending + rest.sumOfSquares }
  /// Bins finished since the last call.
  public mutating func takeFinishedBins() -> [Float] { overview.takeFinished() }
  private var rest: Stretch { measure(bin.span.extracting(0..<binCount)) }

  /// The whole take's bars.
  public func bars(count: Int = 34) -> [Double] {
    overview.bars(count: count, frames: totals.frames + Int64(binCount), rest: rest.sumOfSquares)
  }
}

/// Without the sign: one instruction, which a comparison with 0 isn't.
@inline(__always) func magnitude(_ v: SIMD8<Float>) -> SIMD8<Float> {
  unsafe unsafeBitCast(unsafeBitCast(v, to: SIMD8<UInt32>.self) & 0x7fff_ffff, to: SIMD8<Float>.self)
}

/// Sums one stretch with eight accumulators side by side: a sequential Float sum doesn't vectorise.
func measure(_ samples: Span<Float>) -> Stretch {
  var sums = SIMD8<Float>(repeating: 0)
  var squares = SIMD8<Float>(repeating: 0)
  var peaks = SIMD8<Float>(repeating: 0)
  let whole = samples.count & ~7
  var i = 0
  while i < whole {
    let v = unsafe samples.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: i &* 4, as: SIMD8<Float>.self)
    sums += v
    squares += v * v  // not addProduct: without FMA in the target that is a call
    let magnitude = magnitude(v)
    peaks.replace(with: magnitude, where: magnitude .> peaks)
    i &+= 8
  }
  var stretch = Stretch(
    sum: Double(sums.sum()), sumOfSquares: Double(squares.sum()), peak: peaks.max())
  while i < samples.count {
    let v = samples[i]
    stretch.sum += Double(v)
    stretch.sumOfSquares += Double(v) * Double(v)
    stretch.peak = max(stretch.peak, abs(v))
    i += 1
  }
  return stretch
}
