/// Finds stretches without any signal, exactly: digital zero, a constant, hiss below −72 dBFS without its DC part.
///
/// Says nothing about speech. A stretch counts from 2 s on, is dated back to its start, and ends with the first
/// 100 ms that are louder. Pure; the same answer however the samples are cut into calls.
public struct NoSignalDetector: Sendable {
  /// Mean square below which 100 ms are quiet: −72 dBFS.
  static let quiet = 6.309_573_444_801_93e-8
  private static let hopsPerBlock = 10
  private static let blocksNeeded = 20

  private let hopFrames: Int
  private var reference: Float = 0  // the hop's first sample
  private var sum = 0.0
  private var squares = 0.0
  private var hopCount = 0
  private var blockPower = 0.0
  private var blockHops = 0
  private var frames: Int64 = 0
  /// Blocks of 100 ms finished so far.
  public private(set) var blocks = 0
  /// Mean square of the newest of them, each 10 ms without their DC part.
  public private(set) var blockMeanSquare = 0.0
  private var quietSince: Int64?
  private var quietBlocks = 0

  /// Finished stretches, in frames.
  public private(set) var stretches: [Range<Int64>] = []
  /// At most this many are kept; a real take has few.
  public static let most = 10_000

  /// - Parameters:
  ///   - rate: hertz; hops last 10 ms.
  ///   - start: frame that the first sample is.
  public init(rate: Int, from start: Int64 = 0) {
    hopFrames = max(1, rate / 100)
    frames = start
  }

  /// No signal now, for 2 s or more.
  public var isActive: Bool { quietBlocks >= Self.blocksNeeded }
  /// Where the present stretch began; nil where there is a signal.
  public var activeSince: Int64? { isActive ? quietSince : nil }

  /// - Parameter samples: full scale ±1.0.
  public mutating func push(_ samples: Span<Float>) {
    var first = 0
    while first < samples.count {
      if hopCount == 0 { reference = samples[first] }
      let n = min(samples.count - first, hopFrames - hopCount)
      add(samples.extracting(first..<(first + n)))
      hopCount += n
      first += n
      if hopCount == hopFrames { finishHop() }
    }
  }

  /// Sums against the hop's first sample: a large DC part would drown what little is left beside it in Float.
  private mutating func add(_ samples: Span<Float>) {
    let offset = SIMD8<Float>(repeating: reference)
    var sums = SIMD8<Float>(repeating: 0)
    var powers = SIMD8<Float>(repeating: 0)
    let whole = samples.count & ~7
    var i = 0
    while i < whole {
      let v = unsafe samples.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: i &* 4, as: SIMD8<Float>.self)
      let d = v - offset
      sums += d
      powers += d * d
      i &+= 8
    }
    while i < samples.count {
      let d = samples[i] - reference
      sums[0] += d
      powers[0] += d * d
      i += 1
    }
    sum += Double(sums.sum())
    squares += Double(powers.sum())
  }

  private mutating func finishHop() {
    let n = Double(hopFrames)
    let mean = sum / n
    blockPower += max(0, squares / n - mean * mean)
    (sum, squares, hopCount) = (0, 0, 0)
    blockHops += 1
    guard blockHops == Self.hopsPerBlock else { return }
    let start = frames
    frames += Int64(hopFrames * Self.hopsPerBlock)
    blocks += 1
    blockMeanSquare = blockPower / Double(Self.hopsPerBlock)
    if blockMeanSquare < Self.quiet {
      quietSince = quietSince ?? start
      quietBlocks += 1
    } else {
      close(at: start)
    }
    (blockPower, blockHops) = (0, 0)
  }
  private mutating func close(at end: Int64) {
    if isActive, let since = quietSince, stretches.count < Self.most { stretches.append(since..<end) }
    quietSince = nil
    quietBlocks = 0
  }

  /// Ends the take: a stretch that is still open ends with it.
  ///
  /// - Parameter frames: the take's exact length.
  public mutating func finish(at frames: Int64) { close(at: frames) }
}
