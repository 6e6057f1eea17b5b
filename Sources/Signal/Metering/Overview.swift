/// The level of the background in dBFS, from the mean square of the quietest tenth and the whole take's mean, squared.
///
/// Voices aren't symmetric: their mean isn't in the background. Only where that has it is it taken out as DC.
public func noiseFloor(quietMeanSquare quiet: Double, meanSquared dc: Double) -> Double {
  decibels(meanSquare: quiet < dc * 0.9 ? quiet : max(0, quiet - dc))
}

/// The whole take's energy in at most 8 192 bins, for the overview bars. Constant memory however long the take.
///
/// A bin covers 160·2^scale effective frames; where all are full, neighbours are merged pairwise and scale grows by 1.
/// Energies are Float on purpose: the ledger stores these very values, so a recovered take has the same bars.
public struct Overview: Sendable {
  public static let binFrames = 160
  public static let capacity = 8_192

  public private(set) var bins: [Float] = []
  public private(set) var scale = 0
  private var finished: [Float] = []
  private var sum = 0.0  // of 160-frame energies not yet in a bin
  private var summed = 0

  public init() {
    bins.reserveCapacity(Self.capacity)
    finished.reserveCapacity(512)
  }

  /// Goes on from finished bins, as the ledger has them. What is merged when follows from the count alone.
  ///
  /// - Returns: nil where the bins don't belong to so many frames, or have a value that no bin can have.
  public init?(restoring bins: [Float], frames: Int64, pendingEnergy: Double = 0) {
    self.init()
    for bin in bins {
      guard bin.isFinite, bin >= 0 else { return nil }
      append(bin)
    }
    finished.removeAll(keepingCapacity: true)
    let rest = frames - Int64(self.bins.count) * framesPerBin
    guard (0..<framesPerBin).contains(rest) else { return nil }
    summed = Int(rest / Int64(Self.binFrames))
    sum = summed > 0 ? pendingEnergy : 0
  }

  /// Frames a bin covers now.
  public var framesPerBin: Int64 { Int64(Self.binFrames) << Int64(scale) }

  /// Adds the energy (sum of squares) of the next 160 frames.
  public mutating func add(energy: Double) {
    sum += energy
    summed += 1
    guard summed == 1 << scale else { return }
    append(Float(sum))
    sum = 0
    summed = 0
  }

  /// Bins finished since the last call, in order, each at the size that it had: what the ledger keeps.
  public mutating func takeFinished() -> [Float] {
    defer { finished.removeAll(keepingCapacity: true) }
    return finished
  }
  /// Energy behind the last finished bin, of whole 160 frames.
  public var pending: Double { sum }

  private mutating func append(_ energy: Float) {
    bins.append(energy)
    finished.append(energy)
    guard bins.count == Self.capacity else { return }
    for i in 0..<(Self.capacity / 2) { bins[i] = bins[2 * i] + bins[2 * i + 1] }
    bins.removeLast(Self.capacity / 2)
    scale += 1
  }

  /// Adds another channel's energies, measured over the very same frames.
  public mutating func merge(_ other: Overview) {
    precondition(bins.count == other.bins.count && scale == other.scale && summed == other.summed)
    for i in bins.indices { bins[i] += other.bins[i] }
    sum += other.sum
  }
  /// Divides all energies, to make a mean of merged channels.
  public mutating func divide(by count: Int) {
    for i in bins.indices { bins[i] /= Float(count) }
    sum /= Double(count)
  }

  /// Heights of `count` bars over `frames` effective frames: bar i covers [i·n/count, (i+1)·n/count).
  ///
  /// - Parameters:
  ///   - frames: the take's length, at least what the bins cover.
  ///   - rest: energy of the frames behind the last whole 160.
  /// - Returns: `count` heights, 0…1, all 0 where there are no frames.
  public func bars(count: Int, frames: Int64, rest: Double = 0) -> [Double] {
    guard frames > 0 else { return Array(repeating: 0, count: count) }
    let covered = Int64(bins.count) * framesPerBin
    var energies = Array(repeating: 0.0, count: count)
    func spread(_ energy: Double, from: Int64, to: Int64) {  // a bin lies in few bars: split in proportion
      guard to > from else { return }
      var bar = Int(min(Int64(count - 1), from.multipliedReportingOverflow(by: Int64(count)).0 / frames))
      while bar < count {
        let start = Double(bar) * Double(frames) / Double(count)
        let end = Double(bar + 1) * Double(frames) / Double(count)
        let overlap = min(Double(to), end) - max(Double(from), start)
        if overlap > 0 { energies[bar] += energy * overlap / Double(to - from) }
        if Double(to) <= end { break }
        bar += 1
      }
    }
    for (i, bin) in bins.enumerated() {
      spread(Double(bin), from: Int64(i) * framesPerBin, to: min(frames, Int64(i + 1) * framesPerBin))
    }
    spread(sum + rest, from: covered, to: frames)
    let length = Double(frames) / Double(count)
    return energies.map { barHeight(meanSquare: $0 / length) }
  }

  /// Mean square of the quietest tenth, from stretches of at least 40 ms; nil where there are less than four of them.
  ///
  /// - Parameter rate: of the frames measured, in hertz.
  public func quietMeanSquare(rate: Int = takeRate) -> Double? {
    var group = 1
    while Int64(group) * framesPerBin < Int64(rate / 25) { group *= 2 }
    let count = bins.count / group
    guard count >= 4 else { return nil }
    let means = (0..<count).map { i in
      bins[(i * group)..<((i + 1) * group)].reduce(0.0) { $0 + Double($1) }
        / Double(Int64(group) * framesPerBin)
    }.sorted()
    return means[count / 10]
  }
}
