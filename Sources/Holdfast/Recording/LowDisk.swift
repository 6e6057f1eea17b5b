/// What the disk still holds.
public enum LowDiskNotice: Sendable, Equatable {
  /// Seconds of recording that are left, as the disk fills now.
  case low(secondsLeft: Int64)
  case enough
}

/// How long the disk still holds a take, and when that is worth a word. Pure.
struct LowDisk: Sendable {
  /// Told once each on the way down, and all over above `enough`.
  static let levels: [Int64] = [600, 300, 120, 60, 30, 10]
  static let enough: Int64 = 900
  /// What others write counts only where it fills the disk within so many seconds: a copy of some large file is over before.
  static let othersCount: Double = 120
  /// Seconds over which the others' writing is averaged.
  private static let window = 10.0

  private let ownRate: Double
  private var rate = 0.0  // bytes a second by which the free space falls, smoothed
  private var last: Int64?
  private var told: Int64?

  /// - Parameter bytesPerSecond: what the take writes.
  init(bytesPerSecond: Double) { ownRate = max(1, bytesPerSecond) }

  /// - Parameters:
  ///   - free: bytes.
  ///   - seconds: since the look before.
  mutating func look(free: Int64, seconds: Double) -> LowDiskNotice? {
    if let last, seconds > 0 {
      let weight = min(1, seconds / Self.window)
      rate += (max(0, Double(last - free)) / seconds - rate) * weight
    }
    last = free
    var left = Double(max(0, free)) / ownRate
    if rate > ownRate, Double(free) / rate < Self.othersCount {
      left = min(left, Double(max(0, free)) / rate)
    }
    let seconds = Int64(min(left, 1e9))
    if seconds > Self.enough {
      defer { told = nil }
      return told == nil ? nil : .enough
    }
    guard let level = Self.levels.last(where: { seconds < $0 }), told.map({ level < $0 }) ?? true else {
      return nil
    }
    told = level
    return .low(secondsLeft: seconds)
  }
}
