import Capture
import Encoding
import Platform
import Session
import Signal
import Synchronization

/// Something that belongs to an exact device frame: a command, or frames lost.
struct StreamEvent: Sendable {
  enum Kind: Sendable {
    case start(StoreQueue)
    /// With the session's state from then on.
    case pause(TakeState)
    case resume(TakeState)
    case mark(label: String?)
    case loss(CaptureLoss)
    /// Frames, or their way to the disk, have stopped; and the session's state from then on.
    case interrupted(InterruptionReason, TakeState)
    /// They go on, in the same folder or in another.
    case resumed(InterruptionReason, TakeState, movedTo: Path?)
  }
  var kind: Kind
  /// Device frames captured before it.
  var captureFrame: Int64
  var time: EventTime
}

/// What the last frames made of the take.
struct TakeEnd: Sendable {
  var effectiveFrames: Int64 = 0
  var captureFrames: Int64 = 0
  var granule: Int64 = 0
  var summary = LevelSummary()
  var bars: [Double] = []
  var quietMeanSquare: Double?
  var faults = SampleFaults()
  var failure: OpusError?

  /// The level of the quietest tenth, without the DC part; the take's own level where it is too short to tell.
  var noiseFloorDb: Double {
    let mean = summary.frames > 0 ? summary.sum / Double(summary.frames) : 0
    let quiet = quietMeanSquare ?? (summary.frames > 0 ? summary.sumOfSquares / Double(summary.frames) : 0)
    return noiseFloor(quietMeanSquare: quiet, meanSquared: mean * mean)
  }
}

/// Follows the ring: conforms what the capture thread wrote and lets commands and losses take effect at their frames.
///
/// One thread runs it; `command` may be called from any.
final class SignalThread: @unchecked Sendable {
  private let ring: FrameRing
  private let losses: LossRing
  private let filled: CountingSemaphore
  private let conformer: Conformer
  private let gaps: GapPolicy
  private var clock: TakeClock
  private var path: TakePath
  private var autoPause: AutoPause?
  private var endsBySilence = false
  private var preRoll: PreRoll
  private let preRollFrames: Int64
  private var pending: [StreamEvent] = []  // by frame
  private var notes: [StreamEvent] = []  // what the clock's notes stand for
  private var gates: [StreamEvent] = []  // pauses and resumes under way in the clock, in order
  private let cell: SnapshotCell
  // What is heard while nothing is kept: for the snapshot alone.
  private var idleMeter = Meter()
  private var idleBars = LiveBars()
  private let ending = Atomic<Bool>(false)
  /// The capture thread didn't end when it was told to: it hangs in the device, and is left there.
  private(set) var captureHangs = false
  /// It has this long after the last frame of its drain.
  static let patience: Int64 = 1_500_000_000

  /// Not yet collected; pushed by any thread, with the capture frame read under this lock.
  private let commands = Mutex(Commands())
  private struct Commands {
    var new: [StreamEvent] = []
    /// What came while the take's files were made: it takes effect behind the start. nil once that has come.
    var early: [StreamEvent]? = []
  }
  private let onEvent: @Sendable (RecorderEvent) -> Void
  private let onRoom: @Sendable () -> Void
  private let onLimit: @Sendable (EndedBy) -> Void
  private let until: @Sendable () -> MonotonicTime?

  /// - Parameters:
  ///   - preRollFrames: 48 kHz frames from before the start that go into the take.
  ///   - until: when the patience with a device that is away ends; nil where it isn't away, or waited for without end.
  init(
    ring: FrameRing, losses: LossRing, filled: CountingSemaphore, conformer: Conformer, encoder: OpusEncoder,
    gaps: GapPolicy, maxFrames: Int64?, preRollFrames: Int64, continuing: Continuation? = nil,
    minPauseMs: Int64 = SpeechDetector.minPauseMs, silence: SilenceRules? = nil, cell: SnapshotCell,
    onEvent: @escaping @Sendable (RecorderEvent) -> Void,
    onRoom: @escaping @Sendable () -> Void, onLimit: @escaping @Sendable (EndedBy) -> Void,
    until: @escaping @Sendable () -> MonotonicTime?,
    clockDrift: @escaping @Sendable () -> ClockDrift? = { nil }
  ) {
    self.cell = cell
    self.ring = ring
    self.losses = losses
    self.filled = filled
    self.conformer = conformer
    self.gaps = gaps
    clock = TakeClock(maxFrames: maxFrames, waiting: true, continuing: continuing?.effectiveFrames)
    path = TakePath(
      encoder: encoder, continuing: continuing, minPauseMs: minPauseMs, onEvent: onEvent,
      clockDrift: clockDrift)
    cell.frames.store(continuing?.effectiveFrames ?? 0, ordering: .relaxed)
    autoPause = silence.map(AutoPause.init)
    preRoll = PreRoll(capacity: Int(preRollFrames))
    self.preRollFrames = preRollFrames
    self.onEvent = onEvent
    self.onRoom = onRoom
    self.onLimit = onLimit
    self.until = until
  }

  /// Places a command at the frame captured now, or at a given one that isn't captured yet. Any thread.
  func command(_ kind: StreamEvent.Kind, atCaptureFrame frame: Int64? = nil, time: EventTime) {
    commands.withLock {
      let event = StreamEvent(kind: kind, captureFrame: frame ?? ring.written, time: time)
      if case .start = kind {
        $0.new.append(event)
        for var early in $0.early ?? [] {
          early.captureFrame = max(early.captureFrame, event.captureFrame)
          $0.new.append(early)
        }
        $0.early = nil
      } else if $0.early != nil {
        $0.early?.append(event)
      } else {
        $0.new.append(event)
      }
    }
    filled.post()
  }

  /// The capture is told to end. Any thread.
  func end() {
    ending.store(true, ordering: .releasing)
    filled.post()
  }

  /// Runs until the ring is closed and empty, or the limit is reached; then brings out what is still inside.
  ///
  /// - Returns: nil where no take had begun.
  func run() -> TakeEnd? {
    while !isDone {
      let closed = ring.isClosed  // before `written`: what it says is final then
      let written = ring.written
      collect()
      follow(to: written)
      if closed, ring.consumed == written { break }
      guard !isDone else { break }
      guard stays(written) else {
        captureHangs = true
        break
      }
    }
    guard path.hasBegun else { return nil }
    if clock.isFull {
      onLimit(endsBySilence ? .silence : .maxMs)
    } else {
      endRun()
      autoPause?.finish { span, count in gate(&span, count) }
      flushGate()
      clock.settle { taken($0) }
    }
    return path.finish(conformer, total: clock.effectiveFrames)
  }

  /// Waits for frames, commands or the end.
  ///
  /// - Returns: false where the capture thread should have ended, and hangs in the device's own calls.
  private func stays(_ written: Int64) -> Bool {
    var due: MonotonicTime?
    if ending.load(ordering: .acquiring) {
      due = .now.advanced(by: Self.patience)
    } else if let until = until() {
      due = max(.now, until).advanced(by: Self.patience)
    }
    guard let due else {
      filled.wait()
      return true
    }
    return filled.wait(until: due) || ring.written != written || ring.isClosed
  }

  /// Brings out what the converter holds, and lets commands at its very end take effect.
  private func endRun() {
    conformer.finish { span, count in pass(&span, count) }
    flushGate()
  }
  private func flushGate() {
    var none = InlineArray<1, Float>(repeating: 0)
    var span = none.mutableSpan
    gate(&span, 0)
  }
  private func interruptSilence() {
    autoPause?.interrupt { span, count in
      gate(&span, count)
    } decide: {
      decided($0)
    }
    flushGate()
  }

  /// Writes the ledger's last record.
  func recordEnd(_ event: LedgerEvent) { path.recordEnd(event) }

  private var isDone: Bool { clock.isFull || path.failure != nil }

  /// Takes what has come in, sorted by frame; what came first stays first at the same frame.
  private func collect() {
    let new = commands.withLock { commands in
      defer { commands.new.removeAll() }
      return commands.new
    }
    pending += new
    while let entry = losses.pop() {
      pending.append(StreamEvent(kind: .loss(entry.loss), captureFrame: entry.captureFrame, time: .now))
    }
    pending.sort { $0.captureFrame < $1.captureFrame }  // stable in Swift's library
  }

  /// Reads up to `written`, stopping at every event's frame on the way.
  private func follow(to written: Int64) {
    while !isDone {
      while let event = pending.first, event.captureFrame <= ring.consumed {
        pending.removeFirst()
        apply(event)
      }
      let bound = min(written, pending.first?.captureFrame ?? written)
      guard ring.consumed < bound, !isDone else { return }
      let most = max(480, ring.format.rate / 10)
      _ = ring.read(atMost: min(Int(bound - ring.consumed), most)) { bytes in
        conformer.push(bytes, count: bytes.byteCount / ring.format.bytesPerFrame) { span, count in
          pass(&span, count)
        }
      }
      path.found(conformer.faults)
      onRoom()
    }
  }

  /// No frames come that would bring commands to take effect.
  private var isAway = false

  private func apply(_ event: StreamEvent) {
    place(event)
    if isAway { clock.settle { taken($0) } }
  }
  private func place(_ event: StreamEvent) {
    let position = conformer.position
    switch event.kind {
    case .start(let queue): begin(queue, event, at: position)
    case .pause:
      gates.append(event)
      autoPause?.suspend { span, count in
        gate(&span, count)
      } decide: {
        decided($0)
      }
      clock.schedule(.pause, at: position, captureFrame: event.captureFrame)
    case .resume:
      gates.append(event)
      autoPause?.restart()
      clock.schedule(.resume, at: position, captureFrame: event.captureFrame)
    case .mark: note(event, at: position)
    case .loss(let loss):
      guard path.hasBegun else { return }
      note(event, at: position)
      if gaps == .fill {
        conformer.pushSilence(loss.frames) { span, count in pass(&span, count) }
      } else {
        endRun()
        clock.joint()
      }
    case .interrupted(let reason, _):
      note(event, at: position)
      guard reason.breaksSound else { return }
      isAway = true
      endRun()  // all that was heard goes on its way, however long the wait
      interruptSilence()
      clock.settle { taken($0) }
      clock.joint()
    case .resumed(let reason, _, _):
      note(event, at: position)
      if reason.breaksSound {
        flushGate()
        isAway = false
        clock.joint()
      }
    }
  }
  private func note(_ event: StreamEvent, at position: Int64) {
    notes.append(event)
    clock.schedule(.note(notes.count - 1), at: position, captureFrame: event.captureFrame)
  }

  /// The take begins at `position`. The converter lags behind it by its filter: what it still holds is pre-roll too.
  private func begin(_ queue: StoreQueue, _ event: StreamEvent, at position: Int64) {
    path.begin(queue, event, ring.format)
    onEvent(.state(.recording, effectiveFrames: clock.effectiveFrames))
    let lag = position - clock.position
    if preRollFrames > lag {
      let frames = preRoll.take(newest: Int(preRollFrames - lag))
      clock.begin()
      clock.step(back: Int64(frames.count))
      for first in stride(from: 0, to: frames.count, by: 4_800) {
        var part = Array(frames[first..<min(frames.count, first + 4_800)])
        let count = part.count
        var span = part.mutableSpan
        pass(&span, count)
      }
    } else if lag == 0 {
      clock.begin()
    } else {
      clock.begin(at: position)
    }
  }

  private func hearIdle(_ samples: Span<Float>) {
    let isArmed = !path.hasBegun
    idleMeter.push(samples) { level in
      if isArmed { idleBars.push(level.bar) }
      cell.noteIdle(level, bars: isArmed ? idleBars.bars : nil)
    }
  }
  private func pass(_ span: inout MutableSpan<Float>, _ count: Int) {
    if !path.hasBegun || clock.isPaused { hearIdle(span.span.extracting(0..<count)) }
    guard path.hasBegun else {
      preRoll.push(span, count)
      return gate(&span, count)
    }
    guard autoPause != nil else { return gate(&span, count) }
    autoPause?.pass(&span, count: count) { part, n in
      gate(&part, n)
    } decide: {
      decided($0)
    }
  }
  /// What is heard of the source meets the clock.
  private func gate(_ span: inout MutableSpan<Float>, _ count: Int) {
    clock.pass(&span, count: count) { kept in
      path.keep(
        kept, captureFrames: conformer.deviceFrames, clippedRuns: conformer.faults.clippedRuns)
    } transition: {
      taken($0)
    }
    cell.frames.store(clock.effectiveFrames, ordering: .relaxed)
  }

  private func decided(_ decision: AutoPause.Decision) {
    let at = clock.position
    func device(_ position: Int64) -> Int64 { position * Int64(ring.format.rate) / Int64(takeRate) }
    switch decision {
    case .leaveOut:  // the fade-out is kept: what is left out begins behind it
      clock.schedule(.leaveOut, at: at, captureFrame: device(at + Int64(TakeClock.fadeFrames)))
    case .takeIn(let after):
      clock.schedule(.takeIn, at: at + after, captureFrame: device(at + after))
    case .warn(let active): onEvent(.warning(.silence, active: active, atFrame: clock.effectiveFrames))
    case .stop:
      endsBySilence = true
      clock.end()
    }
  }

  private func taken(_ transition: TakeClock.Transition) {
    let at = transition.effectiveFrame
    switch transition.command {
    case .pause where transition.closed: onEvent(.state(paused, effectiveFrames: at))
    case .pause:
      let (time, state) = nextGate()
      paused = state ?? .paused
      path.record(.pause(time), capture: transition.captureFrame, effective: at)
      path.edge(captureFrames: transition.captureFrame)
    case .resume:
      let (time, state) = nextGate()
      path.record(.resume(time), capture: transition.captureFrame, effective: at)
      onEvent(.state(state ?? .recording, effectiveFrames: at))
    case .leaveOut, .takeIn:
      let leftOut = transition.command == .leaveOut
      path.record(.silence(leftOut: leftOut), capture: transition.captureFrame, effective: at)
      if leftOut { path.edge(captureFrames: transition.captureFrame) }
      onEvent(.autoPause(active: leftOut, effectiveFrames: at))
    case .note(let number): noted(notes[number], transition)
    }
  }
  /// Commands take effect in the order they were given.
  private func nextGate() -> (time: EventTime, state: TakeState?) {
    guard !gates.isEmpty else { return (.now, nil) }
    let event = gates.removeFirst()
    switch event.kind {
    case .pause(let state), .resume(let state): return (event.time, state)
    default: return (event.time, nil)
    }
  }
  private var paused = TakeState.paused

  private func noted(_ event: StreamEvent, _ transition: TakeClock.Transition) {
    let at = transition.effectiveFrame
    switch event.kind {
    case .mark(let label):
      path.record(.mark(label: label), capture: transition.captureFrame, effective: at)
      onEvent(.mark(effectiveFrames: at, label: label))
    case .loss(let loss):
      let rate = ring.format.rate
      let length = takeFrames(deviceFrames: loss.frames, rate: rate)
      // What a paused take loses costs it nothing: it is told with length 0. An overrun that cost no frame isn't told.
      guard transition.paused || length > 0 else { return }
      let gap = Gap(
        frames: transition.paused ? 0 : length, filled: gaps == .fill, measuredBy: loss.measuredBy.rawValue,
        uncertaintyFrames: takeFrames(deviceFrames: loss.uncertaintyFrames, rate: rate))
      path.record(.gap(gap), capture: transition.captureFrame, effective: at)
      if gap.frames > 0 {
        path.edge(captureFrames: transition.captureFrame, after: gap.filled ? gap.frames : 0)
      }
      onEvent(.gap(gap, effectiveFrames: at))
    case .interrupted(let reason, let state):
      path.record(.interruption(reason, event.time), capture: transition.captureFrame, effective: at)
      if reason.breaksSound { path.edge(captureFrames: transition.captureFrame) }
      if state.isPaused { paused = state }  // a fade-out that is under way tells this at its end
      onEvent(.state(state, effectiveFrames: at))
      onEvent(.interrupted(reason, effectiveFrames: at))
    case .resumed(let reason, let state, let path):
      self.path.record(
        .continued(
          event.time, deviceRate: ring.format.rate, deviceChannels: ring.format.channels, reason: reason),
        capture: transition.captureFrame, effective: at)
      if state.isPaused { paused = state }
      onEvent(.resumed(reason, effectiveFrames: at, movedTo: path))
      onEvent(.state(state, effectiveFrames: at))
    case .start, .pause, .resume: break
    }
  }
}

extension EventTime {
  /// So long ago.
  static func before(milliseconds ms: Int64) -> EventTime {
    let now = EventTime.now
    return EventTime(wallMs: now.wallMs &- ms, bootNs: now.bootNs &- ms &* 1_000_000)
  }
  static var now: EventTime { EventTime(wallMs: Stamp.wallMilliseconds, bootNs: Stamp.bootNanoseconds) }
}
