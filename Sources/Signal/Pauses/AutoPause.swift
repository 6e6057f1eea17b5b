/// After how much silence something happens, in frames; nil for never.
public struct SilenceRules: Sendable, Equatable {
  /// What follows is left out until 200 ms before the next sound.
  public var pauseAfter: Int64?
  /// The take ends.
  public var stopAfter: Int64?

  /// - Returns: nil where nothing is to happen.
  public init?(pauseAfterMs: Int64, stopAfterMs: Int64) {
    guard pauseAfterMs > 0 || stopAfterMs > 0 else { return nil }
    pauseAfter = pauseAfterMs > 0 ? pauseAfterMs * 48 : nil
    stopAfter = stopAfterMs > 0 ? stopAfterMs * 48 : nil
  }

  /// How long before a stop it is told: 5 s, or half of the time where that is less.
  public static func warningFrames(stopAfter: Int64) -> Int64 { min(240_000, stopAfter / 2) }
}

/// Stands in front of the take's clock and lets it leave silence out, or end the take. Pure.
///
/// Frames go through at once, but while silence is left out: then the newest 0.52 s of them are held back, since a sound is
/// known only some time after it began, and the 200 ms before it go into the take. Decides at every 40 ms of the take's
/// own time, the same however the samples are cut into calls. No allocation after start.
public struct AutoPause {
  public enum Decision: Equatable, Sendable {
    /// From the next frame on.
    case leaveOut
    /// So many frames behind the next one that the clock gets.
    case takeIn(after: Int64)
    /// The take will be stopped soon, or no longer will.
    case warn(Bool)
    case stop
  }
  /// Frames before a sound that go into the take with it: 200 ms.
  public static let leadFrames: Int64 = 9_600
  /// Whole steps that are held back at most: the lead and the time until a sound is known.
  private static let most = Int((leadFrames + SilenceWatch.late - 1) / Int64(SilenceWatch.stepFrames) + 1)
  private static let slots = most + 1  // and the step that comes in

  private let rules: SilenceRules
  private var watch = SilenceWatch()
  private var ring: [Float]
  private var scratch: [Float]
  private var slot = 0  // where the present step goes
  private var filled = 0  // frames of it
  private var held = 0  // whole steps before it that the clock hasn't got
  private var isHolding = false
  private var isSuspended = false
  private var isWarned = false
  private var isStopped = false

  public init(_ rules: SilenceRules) {
    self.rules = rules
    ring = Array(repeating: 0, count: Self.slots * SilenceWatch.stepFrames)
    scratch = Array(repeating: 0, count: SilenceWatch.stepFrames)
  }

  /// Hears the first `count` samples and hands on what is the clock's, in order and each frame once.
  ///
  /// - Parameters:
  ///   - clock: gets frames, and may alter them.
  ///   - decide: gets decisions, each between the frames before and after it.
  public mutating func pass(
    _ samples: inout MutableSpan<Float>, count: Int, clock: (inout MutableSpan<Float>, Int) -> Void,
    decide: (Decision) -> Void
  ) {
    var first = 0
    while first < count {
      let n = min(count - first, SilenceWatch.stepFrames - filled)
      var part = samples._mutatingExtracting(first..<(first + n))
      let at = slot * SilenceWatch.stepFrames + filled
      var target = ring.mutableSpan
      copy(part.span, to: &target, at: at)
      if !isHolding { clock(&part, n) }
      filled += n
      first += n
      if filled == SilenceWatch.stepFrames { finishStep(clock, decide) }
    }
  }

  /// The person pauses: nothing is decided until `restart`, and what is held back is let go.
  public mutating func suspend(clock: (inout MutableSpan<Float>, Int) -> Void, decide: (Decision) -> Void) {
    isSuspended = true
    finish(clock: clock)
    warn(false, decide)
  }
  /// The source has stopped: silence that is left out ends here, and what comes then is another matter.
  public mutating func interrupt(clock: (inout MutableSpan<Float>, Int) -> Void, decide: (Decision) -> Void) {
    if isHolding { decide(.takeIn(after: Int64(held * SilenceWatch.stepFrames + filled))) }
    finish(clock: clock)
    warn(false, decide)
    watch.restart(at: watch.frames + Int64(filled))
  }
  /// Silence counts from here on.
  public mutating func restart() {
    isSuspended = false
    watch.restart(at: watch.frames + Int64(filled))
  }
  /// Hands on what is held back. A sound that isn't known yet, 0.3 s old at most, stays left out.
  public mutating func finish(clock: (inout MutableSpan<Float>, Int) -> Void) {
    release(held, clock)
    if isHolding, filled > 0 { hand(slot, filled, clock) }
    isHolding = false
  }

  private mutating func finishStep(
    _ clock: (inout MutableSpan<Float>, Int) -> Void, _ decide: (Decision) -> Void
  ) {
    let (first, ring) = (slot * SilenceWatch.stepFrames, ring)  // a reference, no copy
    watch.step(ring.span.extracting(first..<(first + SilenceWatch.stepFrames)))
    slot = (slot + 1) % Self.slots
    filled = 0
    if isHolding { held += 1 }
    guard !isSuspended, !isStopped else { return release(max(0, held - Self.most), clock) }
    let silence = watch.frames - watch.silentSince
    if let start = watch.soundStart, isHolding {
      let next = watch.frames - Int64(held * SilenceWatch.stepFrames)
      decide(.takeIn(after: max(0, start - Self.leadFrames - next)))
      isHolding = false
      release(held, clock)
    }
    release(max(0, held - Self.most), clock)
    if let after = rules.pauseAfter, silence >= after, !watch.isStirring, !isHolding {
      decide(.leaveOut)
      isHolding = true
    }
    guard let after = rules.stopAfter else { return }
    warn(silence >= after - SilenceRules.warningFrames(stopAfter: after), decide)
    guard silence >= after, !watch.isStirring else { return }
    finish(clock: clock)
    isStopped = true
    decide(.stop)
  }
  private mutating func warn(_ active: Bool, _ decide: (Decision) -> Void) {
    guard active != isWarned else { return }
    isWarned = active
    decide(.warn(active))
  }

  /// Hands on the oldest steps that are held back.
  private mutating func release(_ count: Int, _ clock: (inout MutableSpan<Float>, Int) -> Void) {
    for _ in 0..<count {
      hand((slot + Self.slots - held) % Self.slots, SilenceWatch.stepFrames, clock)
      held -= 1
    }
  }
  private mutating func hand(_ slot: Int, _ count: Int, _ clock: (inout MutableSpan<Float>, Int) -> Void) {
    let (first, ring) = (slot * SilenceWatch.stepFrames, ring)
    var target = scratch.mutableSpan
    copy(ring.span.extracting(first..<(first + count)), to: &target, at: 0)
    clock(&target, count)
  }
}
