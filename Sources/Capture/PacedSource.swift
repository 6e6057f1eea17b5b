import Glibc
import Signal

private let timerAbsolute: Int32 = 1  // TIMER_ABSTIME

/// The clock a `PacedSource` goes by. A test gives one of its own.
public struct PacingClock {
  public var now: () -> Int64  // nanoseconds
  public var sleep: (_ until: Int64) -> Void  // returns at that time or later

  public init(now: @escaping () -> Int64, sleep: @escaping (_ until: Int64) -> Void) {
    self.now = now
    self.sleep = sleep
  }

  /// CLOCK_MONOTONIC, with absolute deadlines: oversleeping never adds up.
  public static var monotonic: PacingClock {
    PacingClock(
      now: {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
      },
      sleep: { until in
        var time = timespec(tv_sec: Int(until / 1_000_000_000), tv_nsec: Int(until % 1_000_000_000))
        while unsafe clock_nanosleep(CLOCK_MONOTONIC, timerAbsolute, &time, nil) == EINTR {}
      })
  }
}

/// Another source's frames at their own rate, a period at a time, as a device would deliver them.
///
/// Time starts with the first read. A reader who comes late gets all that is due by then, as from a device with a
/// buffer without end.
public final class PacedSource: Source {
  private let inner: any Source
  private let period: Int
  private let clock: PacingClock
  private var start: Int64?
  private var delivered: Int64 = 0
  private var failure: SourceError?
  private var ended = false
  public var format: SourceFormat { inner.format }
  public var statedFrames: Int64? { inner.statedFrames }
  public var problems: [SourceProblem] { inner.problems }
  public var fullScale: Float { inner.fullScale }
  public var damage: String? { inner.damage }
  public func interrupt() { inner.interrupt() }

  /// - Parameter periodFrames: frames that come together, 1 or more; such as 480 for 10 ms at 48 kHz.
  public init(_ inner: any Source, periodFrames: Int, clock: PacingClock = .monotonic) {
    self.inner = inner
    period = max(1, periodFrames)
    self.clock = clock
  }

  /// Returns when the frames it delivers are due: a period of them, or as many periods as a late reader missed.
  /// Fewer only where `buffer` is smaller, or at the end.
  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    if let failure {
      self.failure = nil
      throw failure
    }
    guard !ended else { return 0 }
    let now = clock.now()
    let start = self.start ?? now
    self.start = start

    let bytes = format.bytesPerFrame
    let due = framesDue(after: now - start) - delivered
    let periods = max(1, due / Int64(period))
    let (missed, overflow) = periods.multipliedReportingOverflow(by: Int64(period))
    let want = Int(min(overflow ? .max : missed, Int64(buffer.byteCount / bytes)))
    var got = 0
    while got < want {
      do throws(SourceError) {
        var rest = buffer._mutatingExtracting((got * bytes)..<(want * bytes))
        let more = try inner.read(into: &rest)
        ended = more == 0
        got += more
      } catch {
        ended = true
        if got == 0 { throw error }
        failure = error  // what came before it is good
      }
      if ended { break }
    }
    guard got > 0 else { return 0 }
    delivered += Int64(got)
    let deadline = start + nanoseconds(of: delivered)
    if deadline > now { clock.sleep(deadline) }
    return got
  }

  private func framesDue(after nanoseconds: Int64) -> Int64 {
    let rate = Int64(format.rate)
    return nanoseconds / 1_000_000_000 * rate + nanoseconds % 1_000_000_000 * rate / 1_000_000_000
  }
  private func nanoseconds(of frames: Int64) -> Int64 {
    let rate = Int64(format.rate)
    return frames / rate * 1_000_000_000 + frames % rate * 1_000_000_000 / rate
  }
}
