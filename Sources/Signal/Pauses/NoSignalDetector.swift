/// Finds stretches without any signal, exactly: digital zero, a constant, hiss below −72 dBFS without its DC part.
///
/// Says nothing about speech. A stretch counts from 2 s on, is dated back to its start and ends with the first sound, both to
/// the sample where sound and silence are 12 dB apart, else to 10 ms. Works in hops of 10 ms: a stretch is of hops that are
/// no more than 1 dB above the limit each, 0.4 dB in the mean of ten, and below it in the mean of all. Pure; the same answer
/// however the samples are cut into calls.
public struct NoSignalDetector: Sendable {
  /// Mean square below which a stretch is quiet: −72 dBFS.
  static let quiet = 6.309_573_444_801_93e-8
  private static let hopsPerBlock = 10
  private static let hopLimit = quiet * 1.26
  private static let blockLimit = quiet * 1.1
  /// Amplitude that hiss at the limit hardly ever reaches (4 σ), and a sound does: −60 dBFS.
  private static let loud: Float = 1e-3

  private let hopFrames: Int
  /// 2 s.
  private let needed: Int64
  private var hop: [Float]
  private var reference: Float = 0  // the hop's first sample
  private var sum = 0.0
  private var squares = 0.0
  private var hopCount = 0
  private var blockPower = 0.0
  private var blockHops = 0
  private var frames: Int64 = 0  // at the present hop's start
  /// Blocks of 100 ms finished so far.
  public private(set) var blocks = 0
  /// Mean square of the newest of them, each 10 ms without their DC part.
  public private(set) var blockMeanSquare = 0.0
  private var quietSince: Int64?
  private var quietHops = 0
  private var quietPower = 0.0
  private var quietMean: Float = 0
  private var recent = InlineArray<10, Double>(repeating: 0)
  private var before: [Float]  // the hop before, where that was a loud one
  private var isBehindLoud = false

  /// Finished stretches, in frames.
  public private(set) var stretches: [Range<Int64>] = []
  /// At most this many are kept; a real take has few.
  public static let most = 10_000

  /// - Parameters:
  ///   - rate: hertz; hops last 10 ms.
  ///   - start: frame that the first sample is.
  public init(rate: Int, from start: Int64 = 0) {
    hopFrames = max(1, rate / 100)
    needed = Int64(rate) * 2
    hop = Array(repeating: 0, count: hopFrames)
    before = hop
    frames = start
  }

  /// No signal now, for 2 s or more.
  public var isActive: Bool {
    guard let since = quietSince else { return false }
    return frames - since >= needed && quietPower / Double(quietHops) < Self.quiet
  }
  /// Where the present stretch began; nil where there is a signal.
  public var activeSince: Int64? { isActive ? quietSince : nil }

  /// - Parameter samples: full scale ±1.0.
  public mutating func push(_ samples: Span<Float>) {
    var first = 0
    while first < samples.count {
      if hopCount == 0 { reference = samples[first] }
      let n = min(samples.count - first, hopFrames - hopCount)
      let part = samples.extracting(first..<(first + n))
      let at = hopCount
      var target = hop.mutableSpan
      copy(part, to: &target, at: at)
      add(part)
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
    let power = max(0, squares / n - mean * mean)
    (sum, squares, hopCount) = (0, 0, 0)
    frames += Int64(hopFrames)
    follow(power, mean: reference + Float(mean))
    blockPower += power
    blockHops += 1
    guard blockHops == Self.hopsPerBlock else { return }
    blocks += 1
    blockMeanSquare = blockPower / Double(Self.hopsPerBlock)
    (blockPower, blockHops) = (0, 0)
  }

  private mutating func follow(_ power: Double, mean: Float) {
    recent[quietHops % 10] = power
    var ten = 0.0
    for i in 0..<10 { ten += recent[i] }
    let isQuiet = power < Self.hopLimit && (quietHops < 9 || ten / 10 < Self.blockLimit)
    guard isQuiet else {
      close(at: frames - Int64(hopFrames) + (power < Self.hopLimit ? 0 : quietFront))
      swap(&hop, &before)
      isBehindLoud = true
      return
    }
    if quietSince == nil { quietSince = frames - Int64(hopFrames) - (isBehindLoud ? quietEnd(mean) : 0) }
    quietHops += 1
    quietPower += power
    quietMean = mean
  }
  /// Samples at the hop's front that belong to the silence before it.
  private var quietFront: Int64 {
    guard quietHops > 0 else { return 0 }
    return Int64(hop.firstIndex { abs($0 - quietMean) > Self.loud } ?? hopFrames)
  }
  /// Samples at the end of the loud hop before that belong to the silence behind it.
  private func quietEnd(_ mean: Float) -> Int64 {
    let loud = before.lastIndex { abs($0 - mean) > Self.loud } ?? -1
    return Int64(hopFrames - 1 - loud)
  }
  private mutating func close(at end: Int64) {
    if let since = quietSince, end - since >= needed, quietPower / Double(quietHops) < Self.quiet,
      stretches.count < Self.most
    {
      stretches.append(since..<end)
    }
    (quietSince, quietHops, quietPower) = (nil, 0, 0)
  }

  /// Ends the take: a stretch that is still open ends with it.
  ///
  /// - Parameter frames: the take's exact length.
  public mutating func finish(at frames: Int64) { close(at: frames) }
}
