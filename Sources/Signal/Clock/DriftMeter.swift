/// How fast a device's clock runs against CLOCK_MONOTONIC.
///
/// A read comes when its frames are due or later, never earlier: of each second of device time the least late one counts, and
/// a straight line through those (least squares) has the drift as its slope. A loss begins another line with the same slope:
/// the sums of all runs are pooled. No allocation, some twenty operations a read: the capture thread calls it.
public struct DriftMeter: Sendable {
  public struct Reading: Sendable, Equatable {
    /// Parts per billion that the device is faster than CLOCK_MONOTONIC; less than 0 where it is slower.
    public var partsPerBillion: Int64
    /// Standard error of that.
    public var uncertainty: Int64
    /// Device time it is made of.
    public var seconds: Int64
  }

  private let rate: Double
  private var runFrames: Int64 = 0
  private var startNs: Int64?
  // The open second: frames and lateness (seconds) of the read that was least late.
  private var second: Int64 = 0
  private var best: (at: Double, late: Double)?
  // This run's points so far: count, means, and sums of squares and products about them (Welford).
  private var count = 0.0
  private var meanX = 0.0
  private var meanY = 0.0
  private var sums = (xx: 0.0, xy: 0.0, yy: 0.0)
  // Those of runs before.
  private var pooled = (xx: 0.0, xy: 0.0, yy: 0.0, degrees: 0.0)
  /// Seconds of device time that count.
  public private(set) var seconds: Int64 = 0

  /// The first seconds of a run aren't believed: servers fill their buffers then.
  private static let settling: Int64 = 2

  /// - Parameter rate: nominal frames a second.
  public init(rate: Int) { self.rate = Double(max(1, rate)) }

  /// A read has returned.
  ///
  /// - Parameters:
  ///   - frames: how many it brought.
  ///   - nanoseconds: CLOCK_MONOTONIC then.
  /// - Returns: true once a second of device time, when there is something new to read.
  public mutating func read(frames: Int, at nanoseconds: Int64) -> Bool {
    guard let start = startNs else {
      startNs = nanoseconds  // the frames before are of an unknown time
      return false
    }
    runFrames &+= Int64(frames)
    let x = Double(runFrames) / rate
    let late = Double(nanoseconds &- start) * 1e-9 - x
    var isNew = false
    let now = Int64(x)
    if now != second {
      isNew = close()
      second = now
    }
    if second >= Self.settling, late < best?.late ?? .infinity { best = (x, late) }
    return isNew
  }
  private mutating func close() -> Bool {
    guard let point = best else { return false }
    best = nil
    count += 1
    let dx = point.at - meanX
    let dy = point.late - meanY
    meanX += dx / count
    meanY += dy / count
    sums.xx += dx * (point.at - meanX)
    sums.xy += dx * (point.late - meanY)
    sums.yy += dy * (point.late - meanY)
    seconds &+= 1
    return true
  }

  /// Frames were lost, or the device was opened again: what comes is a run of its own.
  public mutating func restart() {
    if count >= 3 {
      pooled = (pooled.xx + sums.xx, pooled.xy + sums.xy, pooled.yy + sums.yy, pooled.degrees + count - 1)
    } else {
      seconds &-= Int64(count)
    }
    (count, meanX, meanY, sums) = (0, 0, 0, (0, 0, 0))
    (runFrames, startNs, second, best) = (0, nil, 0, nil)
  }

  /// Nil until a minute of device time was heard.
  public var reading: Reading? {
    let (xx, xy) = (pooled.xx + sums.xx, pooled.xy + sums.xy)
    let degrees = pooled.degrees + max(0, count - 1) - 1
    guard seconds >= 60, xx > 0, degrees > 0 else { return nil }
    let slope = xy / xx  // seconds later a second of device time: a slow device
    let residual = max(0, pooled.yy + sums.yy - slope * xy) / degrees
    func billionths(_ x: Double) -> Int64 { Int64(min(1e9, max(-1e9, (x * 1e9).rounded()))) }
    return Reading(
      partsPerBillion: billionths(1 / (1 + max(-0.5, slope)) - 1),
      uncertainty: billionths((residual / xx).squareRoot()), seconds: seconds)
  }
}
