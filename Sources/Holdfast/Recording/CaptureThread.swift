import Capture
import Platform
import Session
import Signal
import Synchronization

/// What happens when a device goes away in mid-take.
public enum AbsencePolicy: Sendable, Equatable {
  /// It is tried again for so long, in seconds, and the take goes on by itself once frames arrive; then it is sealed.
  case wait(seconds: Int64)
  /// The take stays interrupted until the front end says `goOn`, `keep` or `discard`.
  case ask
}

/// Moves frames from the source into the ring, until the source ends, is away for good, or is told to stop.
///
/// Nothing else happens on this thread while frames flow: no lock, no file of ours, no log.
final class CaptureThread: @unchecked Sendable {
  private let source: any Source  // only this thread touches it once it runs
  private let ring: FrameRing
  private let losses: LossRing
  private var keptLoss: CaptureLoss?  // the loss ring was full: it goes with the next one
  private var failure: SourceError?
  private let live: Bool
  /// It sleeps between its periods; a pipe can be read as fast as the machine goes, which a real-time thread mustn't.
  private let isDevice: Bool
  private var drift: DriftMeter
  private let driftRate = Atomic<UInt64>(0)  // ppb and its uncertainty, 32 bits each
  private let driftSeconds = Atomic<Int64>(0)
  private let stopAsked = Atomic<Bool>(false)
  private let abandoned = Atomic<Bool>(false)
  private let waitsForSpace = Atomic<Bool>(false)
  private let space = CountingSemaphore()
  let filled: CountingSemaphore
  private let endBox = Mutex(End())

  // While the device is away.
  private let absence: AbsencePolicy
  private var isAway = false
  private let awayBox = Mutex<Away?>(nil)
  private let wake = CountingSemaphore()
  private let retryAsked = Atomic<Bool>(false)
  private let onAway: @Sendable (InterruptionReason, _ since: EventTime) -> Bool
  private let onMissed: @Sendable (InterruptionReason, _ since: EventTime) -> Void
  private let onBack: @Sendable () -> Void

  /// Frames a read asks for at most: a live source's period.
  private let chunk: Int

  /// - Parameters:
  ///   - onAway: frames have stopped, or stay away for another reason than before; whether to wait for them.
  ///   - onMissed: frames were away since then, and are back; before they can be seen in the ring.
  ///   - onBack: frames have arrived again; before they can be seen in the ring.
  init(
    source: any Source, ring: FrameRing, losses: LossRing, filled: CountingSemaphore, live: Bool,
    isDevice: Bool, absence: AbsencePolicy,
    onAway: @escaping @Sendable (InterruptionReason, EventTime) -> Bool,
    onMissed: @escaping @Sendable (InterruptionReason, EventTime) -> Void,
    onBack: @escaping @Sendable () -> Void
  ) {
    self.source = source
    self.ring = ring
    self.losses = losses
    self.filled = filled
    self.live = live
    self.isDevice = isDevice
    self.absence = absence
    self.onAway = onAway
    self.onMissed = onMissed
    self.onBack = onBack
    drift = DriftMeter(rate: ring.format.rate)
    chunk = max(1, live ? source.periodFrames : ring.capacity / 4)
  }

  /// What the source was found to be.
  struct End: Sendable {
    /// Why it ended early; nil for a clean end or a stop.
    var failure: SourceError?
    var problems: [SourceProblem] = []
    var damage: String?
    /// How long a device that stays away was waited for.
    var waitedMs: Int64 = 0
  }
  struct Away: Sendable {
    var fault: CaptureFault
    var since: MonotonicTime
    /// When the patience ends; nil for never. A device that hangs in its own calls may not come back to see it.
    var until: MonotonicTime?

    var forMs: Int64 { (MonotonicTime.now.nanoseconds - since.nanoseconds) / 1_000_000 }
  }
  /// Set while the device is away. Any thread.
  var away: Away? { awayBox.withLock { $0 } }
  /// Device frames delivered so far. Any thread.
  var captured: Int64 { ring.written }
  /// The device's clock against CLOCK_MONOTONIC, made anew each second; nil for its first minute, and for other sources. Any
  /// thread.
  var clockDrift: ClockDrift? {
    let seconds = driftSeconds.load(ordering: .acquiring)
    guard seconds > 0 else { return nil }
    let both = driftRate.load(ordering: .relaxed)
    return ClockDrift(
      partsPerBillion: Int64(Int32(truncatingIfNeeded: both)), uncertainty: Int64(both >> 32),
      seconds: seconds)
  }
  /// Complete once the ring is closed.
  var end: End { endBox.withLock { $0 } }

  /// Ends the capture: a device's after what it had delivered by now, a file's after the read under way. Any thread.
  func stop() {
    stopAsked.store(true, ordering: .releasing)
    source.interrupt()
    wakeForSpace()
    wake.post()
  }
  /// Ends the capture though nobody reads the ring any more. Any thread.
  func abandon() {
    abandoned.store(true, ordering: .releasing)
    stop()
  }
  /// The front end wants a device that is away to be tried again. Any thread.
  func retry() {
    retryAsked.store(true, ordering: .releasing)
    wake.post()
  }
  /// The signal thread has made room. It calls this after each stretch it read.
  func wakeForSpace() { if waitsForSpace.exchange(false, ordering: .acquiringAndReleasing) { space.post() } }

  /// Losses longer than this are interruptions: never filled (DESIGN section 2). Seconds.
  static let longestFill: Int64 = 2

  private func lost(_ new: CaptureLoss) {
    drift.restart()
    if new.frames > Self.longestFill * Int64(ring.format.rate) || new.cause == .suspended {
      missed(new)
      return
    }
    var loss = new
    if let kept = keptLoss {
      loss.frames += kept.frames
      loss.uncertaintyFrames += kept.uncertaintyFrames
    }
    keptLoss = losses.push(loss, at: ring.written) ? nil : loss
  }

  func run() {
    if isDevice {
      adoptRealtime()
      ring.withMemory { _ = lockInMemory($0) }
    }
    repeat { follow() } while comesBack()
    let (problems, damage, failure) = (source.problems, source.damage, failure)
    let waited = away?.forMs ?? 0
    endBox.withLock {
      ($0.problems, $0.damage, $0.failure, $0.waitedMs) = (problems, damage, failure, waited)
    }
    ring.close()
    filled.post()
  }

  /// The capture loop. `scripts/capture-calls` lists what its compiled form calls and refuses what waits or allocates.
  @inline(never) private func follow() {
    let drains = source.drainsAfterInterrupt
    while drains ? !abandoned.load(ordering: .acquiring) : !stopAsked.load(ordering: .acquiring) {
      if ring.free == 0 {
        waitsForSpace.store(true, ordering: .sequentiallyConsistent)
        if ring.free == 0, !stopAsked.load(ordering: .acquiring) || drains,
          !abandoned.load(ordering: .acquiring)
        {
          space.wait()
        }
        continue
      }
      let n = ring.write(atMost: chunk) { span in
        do throws(SourceError) {
          let n = try source.read(into: &span)
          if isAway, n > 0 { isBack() }
          if let loss = source.takeLoss() { lost(loss) }  // before the frames behind it can be seen
          return n
        } catch {
          failed(error)
          return 0
        }
      }
      if n == 0 { break }
      if isDevice { meetClock(n) }
      // A file's frames are handed over half a ring at a time: fewer wake-ups for the same work.
      if live || ring.free < ring.capacity / 2 { filled.post() }
    }
  }
  private func meetClock(_ frames: Int) {
    guard drift.read(frames: frames, at: MonotonicTime.now.nanoseconds), let reading = drift.reading else {
      return
    }
    let rate = UInt64(UInt32(bitPattern: Int32(truncatingIfNeeded: reading.partsPerBillion)))
    let uncertainty = UInt64(UInt32(truncatingIfNeeded: reading.uncertainty))
    driftRate.store(uncertainty << 32 | rate, ordering: .relaxed)
    driftSeconds.store(reading.seconds, ordering: .releasing)
  }
  /// The loop's last act: from here on nothing is in a hurry.
  @inline(never) private func failed(_ error: __owned SourceError) { failure = error }

  // MARK: away

  /// An interruption that is over when it is found.
  @inline(never) private func missed(_ loss: CaptureLoss) {
    let rate = Int64(ring.format.rate)
    let ms = loss.frames / rate &* 1000 &+ loss.frames % rate * 1000 / rate
    onMissed(loss.cause == .suspended ? .suspended : .overrunStorm, .before(milliseconds: ms))
  }

  /// A device that is tried again rests this long in between, ten seconds later four times as long.
  private static let rest: Int64 = 250_000_000
  /// Storms and sleep are over by themselves: the take goes on then, however short a lost device is waited for.
  private static let shortestWait: Int64 = 5_000_000_000

  /// Frames arrive again: the wait is over.
  @inline(never) private func isBack() {
    isAway = false
    failure = nil
    drift.restart()
    awayBox.withLock { $0 = nil }
    onBack()
  }

  /// The device went away: waits until it is open again.
  ///
  /// - Returns: whether it is worth another read; false at a stop, at the end of the patience, and for other sources.
  private func comesBack() -> Bool {
    guard source.canReopen, var fault = failure?.fault, !stopAsked.load(ordering: .acquiring) else {
      return false
    }
    let first = !isAway
    isAway = true
    let away = absent(fault)
    guard onAway(fault.interruption, fault.began) else { return false }
    var attempt = first
    while !stopAsked.load(ordering: .acquiring) {
      switch absence {
      case .ask where !retryAsked.exchange(false, ordering: .acquiringAndReleasing):
        wake.wait()
        continue
      case .ask: attempt = true
      case .wait:
        guard away.until.map({ .now < $0 }) ?? true else { return false }
        if !attempt {
          let isNew = MonotonicTime.now < away.since.advanced(by: 10_000_000_000)
          _ = wake.wait(until: .now.advanced(by: isNew ? Self.rest : 4 * Self.rest))
        }
      }
      guard !stopAsked.load(ordering: .acquiring) else { return false }
      attempt = false
      do throws(CaptureOpenError) {
        try source.reopen()
        return true
      } catch {
        if case .busy = error, fault != .deviceTaken {
          fault = .deviceTaken
          failure = .device(fault)
        } else if absence != .ask {
          continue
        }
        _ = absent(fault)
        guard onAway(fault.interruption, fault.began) else { return false }
      }
    }
    return false
  }
  /// Notes why the device is away, since when, and for how long it may be.
  private func absent(_ fault: CaptureFault) -> Away {
    awayBox.withLock { box in
      let since = box?.since ?? .now
      var away = Away(fault: fault, since: since)
      if case .wait(let seconds) = absence {
        away.until = since.advanced(
          by: max(fault.endsByItself ? Self.shortestWait : 0, seconds * 1_000_000_000))
      }
      box = away
      return away
    }
  }
}

extension CaptureFault {
  var interruption: InterruptionReason {
    switch self {
    case .deviceLost: .deviceLost
    case .suspended: .suspended
    case .serverGone: .serverGone
    case .deviceTaken: .deviceTaken
    case .overrunStorm: .overrunStorm
    case .deviceSilent: .deviceSilent
    }
  }
  /// When the last frames came, as far as that is known.
  var began: EventTime { .before(milliseconds: self == .deviceSilent ? Self.silenceMs : 0) }
  /// The device is still there, and nobody has to do anything.
  var endsByItself: Bool { self == .overrunStorm || self == .suspended }
}
