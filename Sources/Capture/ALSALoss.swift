/// Frames that a device captured, or should have, and that were never delivered.
///
/// They are missing right before the first frame of the read that returned last.
public struct CaptureLoss: Equatable, Sendable {
  /// How the length was found.
  public enum Measure: String, Sendable {
    /// The device's own time stamps.
    case htimestamp
    /// Times of calls: all there is with a sound server.
    case monotonic
  }
  public enum Cause: String, Sendable {
    /// The device said so (EPIPE).
    case overrun
    /// No error came; the clock shows it. It lies up to 4 periods before where it is reported.
    case silent
    /// The machine slept: nothing was there to be heard.
    case suspended
  }
  /// Device frames, 0 or more.
  public var frames: Int64
  public var measuredBy: Measure
  /// Device frames by which `frames` can be off, 1 or more.
  public var uncertaintyFrames: Int64
  public var cause: Cause

  public init(frames: Int64, measuredBy: Measure, uncertaintyFrames: Int64, cause: Cause) {
    self.frames = frames
    self.measuredBy = measuredBy
    self.uncertaintyFrames = uncertaintyFrames
    self.cause = cause
  }
}

/// Finds lost frames from pairs of a time and a position. Pure: no clock, no device, no allocation.
///
/// The **lateness** of a pair is its time minus what its frames last; a loss is a step in it. The floor under the
/// lateness follows a device clock that is up to 1 % slow, and at once one that is fast.
struct LossMeter: Sendable {
  let rate: Int64
  let period: Int64
  private var floor: Int64?  // nanoseconds
  private var floorTime: Int64 = 0
  private var jitter: Int64 = 0  // nanoseconds the lateness was above its floor lately
  private var notes = 0
  private var overran = false
  private var suspicious = 0
  private var leastSuspicious: Int64 = 0

  /// A step under this needs an error from the device to count: a server may just have become slower.
  static let silentNanoseconds: Int64 = 250_000_000
  /// Reads in a row that have to show a silent loss, so that frames that only came late have time to come.
  static let silentReads = 3

  /// - Parameters:
  ///   - rate: device frames a second, 1 or more.
  ///   - period: device frames handed over at a time.
  init(rate: Int, period: Int) {
    self.rate = Int64(max(1, rate))
    self.period = Int64(max(1, period))
  }

  /// The device said that it lost frames; the next `note` tells how many.
  mutating func overrun() { overran = true }

  /// Takes the next pair.
  ///
  /// - Parameters:
  ///   - position: frames delivered plus those waiting in the device's buffer.
  ///   - time: of that position, nanoseconds on the monotonic clock.
  ///   - waited: the device had nothing ready before: no backlog is behind these frames.
  /// - Returns: what was lost since the pair before; nil for nothing.
  mutating func note(position: Int64, time: Int64, waited: Bool) -> (
    frames: Int64, uncertainty: Int64, Cause
  )? {
    let lateness = time - nanoseconds(position)
    guard let before = floor else {
      // Nothing was delivered before it: nothing to miss.
      (floor, floorTime, overran) = (lateness, time, false)
      return nil
    }
    let allowed = before + max(0, time - floorTime) / 100
    if overran {
      let lost = max(0, frames(lateness - before))
      let uncertainty = max(1, notes < 8 ? period : frames(spread) + 1)
      restart(at: lateness, time)
      return (lost, uncertainty, .overrun)
    }
    let step = lateness - allowed
    if step > Self.silentNanoseconds, waited {
      leastSuspicious = suspicious == 0 ? lateness - before : min(leastSuspicious, lateness - before)
      suspicious += 1
      guard suspicious >= Self.silentReads else { return nil }
      let lost = frames(leastSuspicious)
      let uncertainty = max(period, frames(spread) + 1)
      restart(at: lateness, time)
      return (lost, uncertainty, .silent)
    }
    if step <= Self.silentNanoseconds {
      suspicious = 0
      jitter = max(jitter - jitter / 1024, lateness - before)
      floor = min(lateness, allowed)
      floorTime = time
    }
    notes = min(notes + 1, 8)
    return nil
  }
  typealias Cause = CaptureLoss.Cause

  /// How far off a single pair may be; a quarter more than seen, as the floor itself isn't at rest.
  private var spread: Int64 { jitter + jitter / 4 }

  private mutating func restart(at lateness: Int64, _ time: Int64) {
    (floor, floorTime, overran, suspicious) = (lateness, time, false, 0)
  }
  private func nanoseconds(_ frames: Int64) -> Int64 {
    frames / rate * 1_000_000_000 + frames % rate * 1_000_000_000 / rate
  }
  private func frames(_ nanoseconds: Int64) -> Int64 {
    nanoseconds / 1_000_000_000 * rate + (nanoseconds % 1_000_000_000 * rate + 500_000_000) / 1_000_000_000
  }
}
