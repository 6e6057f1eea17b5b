import Capture
import Encoding
import Platform
import Session
import Signal
import Store
import Synchronization

/// Records one take from one source. A next take is a next recorder; any number of them may run side by side.
///
/// Every method may be called from any thread, at any time: a call that makes no sense is answered, never trapped.
public final class Recorder: Sendable {
  /// What it was made with.
  public let settings: RecordingSettings
  /// What happens, for one reader; ends when the take has.
  public let events: EventQueue<RecorderEvent>
  let continuing: Continuation?
  private let machine = Mutex(TakeMachine())
  let cell = SnapshotCell()
  let running = Mutex<Running?>(nil)
  let endedBy = Mutex(EndedBy.sourceEnd)
  let problems = Mutex<[SourceProblem]>([])
  private let told = Mutex<RecorderFailure?>(nil)
  let diskTrouble = Mutex<[DiskNews.Part: InterruptionReason]>([:])
  let hung = Atomic<Bool>(false)
  private let used = Atomic<Bool>(false)
  let standing = Mutex<Path?>(nil)
  let ended = CountingSemaphore()
  let signalThread = Mutex<Thread?>(nil)

  /// Everything that exists only while a source is open.
  struct Running: Sendable {
    var capture: CaptureThread
    var signal: SignalThread
    var encoder: EncoderBox
    var format: SourceFormat
    var isDevice: Bool
    var taking: Taking?
    var inhibitor: SleepInhibitor?
    /// The signal thread has left its loop: what isn't begun by now never is.
    var isOver = false
  }
  /// The encoder is the signal thread's; others only ask for its pre-skip.
  struct EncoderBox: @unchecked Sendable { let encoder: OpusEncoder }

  /// An unfinished take, to be gone on with in the same file: `start()` appends to it.
  ///
  /// - Parameters:
  ///   - path: its `NAME.opus`.
  ///   - settings: the source, gaps and pauses; the rest is as the take was begun.
  /// - Throws: 75 where it is being recorded; 66 where there is none; 73 where it is sealed; 65 where it is damaged, or of
  ///   a newer program; 74 where the disk fails.
  public static func continuing(_ path: Path, settings: RecordingSettings) throws(RecorderFailure) -> Recorder
  {
    let continuation = try Continuation(path, minPauseMs: settings.minPauseMs)
    var all = settings
    all.goOn(with: continuation)
    return Recorder(settings: all, continuing: continuation)
  }

  /// - Parameters:
  ///   - settings: source, limits, file; nothing is opened yet.
  ///   - continuing: an unfinished take to go on with, whose settings these are; nil for a new one.
  public init(settings: RecordingSettings, continuing: Continuation? = nil) {
    self.settings = settings
    self.continuing = continuing
    events = EventQueue(lossless: settings.keepsEveryLevel)
    if let continuing {
      cell.frames.store(continuing.effectiveFrames, ordering: .relaxed)
      cell.begin(pauses: TakeStory(continuing.records).pauses.count)
    }
  }

  /// Where the take is now. Any thread; no lock is taken.
  public var state: TakeState { cell.currentState }
  /// All that a screen shows. Any thread, as often as it likes: no lock is taken, and the recorder doesn't notice.
  public var snapshot: RecorderSnapshot { cell.snapshot(minValidMs: settings.minValidMs) }

  /// Every decision goes this way, so that the snapshot's state is the machine's.
  func advance<R: Sendable>(_ body: (inout TakeMachine) -> R) -> R {
    machine.withLock { machine in
      let answer = body(&machine)
      cell.note(machine.state)
      return answer
    }
  }
  func tell(_ event: RecorderEvent) {
    if case .failed(let failure) = event { told.withLock { $0 = failure } }
    cell.note(event)
    events.push(event)
  }
  /// What failed last; nil where nothing did. It is there before its event is read. Any thread.
  public var lastFailure: RecorderFailure? { told.withLock { $0 } }
  /// Effective time in milliseconds: frames in the take, never a wall clock.
  public var effectiveMs: Int64 { milliseconds(frames: effectiveFrames) }
  var effectiveFrames: Int64 { cell.frames.load(ordering: .relaxed) }
  /// Device frames that have arrived since the source was opened.
  public var captured: Int64 { running.withLock { $0?.capture.captured } ?? 0 }
  /// `NAME.opus` of the take, whether it is sealed yet or not; nil before it is begun. It may come to stand in another
  /// folder, where its own is deleted while it is recorded.
  public var path: Path? { standing.withLock { $0 } }
  /// What was odd about the source without costing audio; complete once the events have ended.
  public var sourceProblems: [SourceProblem] { problems.withLock { $0 } }

  /// The device didn't answer at the end, and a thread still waits for it: the process should leave by `_exit`, since an
  /// `exit` would take ALSA down under it. Complete once `wait` returns.
  public var deviceHangs: Bool { hung.load(ordering: .acquiring) }

  // MARK: starting

  /// Opens the source that the settings name, makes the partial take and begins to record. Blocks as long as the device
  /// takes to open; the events tell the rest.
  ///
  /// - Throws: the failure, when no take could be made; nothing is left behind then. `not_armed` or `already_running`
  ///   where it was begun before.
  public func start() throws(RecorderFailure) {
    if state == .armed || state == .preparing { return try begin() }
    try prepare(arm: false) { () throws(RecorderFailure) in try settings.openInput() }
  }
  /// The same from a source of the caller's.
  ///
  /// - Parameter source: open and ready; the recorder's own from here on.
  public func start(source: sending any Source) throws(RecorderFailure) {
    let box = SourceBox(source: source)
    try prepare(arm: false) { box }
  }

  /// Opens the source and listens without recording; `settings.preRollMs` before `start()` go into the take then.
  public func arm() throws(RecorderFailure) {
    try prepare(arm: true) { () throws(RecorderFailure) in try settings.openInput() }
  }
  /// The same from a source of the caller's, open and ready; the recorder's own from here on.
  public func arm(source: sending any Source) throws(RecorderFailure) {
    let box = SourceBox(source: source)
    try prepare(arm: true) { box }
  }

  private func prepare(arm: Bool, _ source: () throws(RecorderFailure) -> SourceBox) throws(RecorderFailure) {
    let isNew = used.exchange(true, ordering: .acquiringAndReleasing) == false
    guard isNew, advance({ $0.prepare(arm: arm) }) == .openSource else {
      throw RecorderFailure(
        code: 64, kind: "already_running",
        message: "this recorder has its take already: a next one needs a next recorder")
    }
    tell(.state(.preparing, effectiveFrames: 0))
    do throws(RecorderFailure) {
      try checkOutput()
      try open(try source())
      switch advance({ ($0.opened(), $0.state) }) {
      case (.beginTake, _): try beginTake()
      case (_, .armed): tell(.state(.armed, effectiveFrames: 0))
      default:  // it was stopped while the device opened
        running.withLock { $0 = nil }
        throw RecorderFailure(
          code: 75, kind: "stopped", message: "it was stopped before it began: nothing is recorded")
      }
      try run()
    } catch { throw refused(error) }
  }

  /// Begins the take of an armed recorder.
  private func begin() throws(RecorderFailure) {
    switch advance({ $0.start() }) {
    case .beginTake:
      do throws(RecorderFailure) { try beginTake() } catch {
        running.withLock { $0?.capture.stop() }
        throw refused(error)
      }
    case .none: break  // still being prepared: it begins by itself
    default:
      throw RecorderFailure(code: 64, kind: "not_armed", message: "nothing is armed, or it records already")
    }
  }

  private func refused(_ failure: RecorderFailure) -> RecorderFailure {
    _ = advance { $0.refused(permission: failure.code == 77) }
    tell(.state(state, effectiveFrames: 0))
    tell(.failed(failure))
    events.close()
    ended.post()
    return failure
  }

  // MARK: commands

  /// Takes effect at the frame captured now. `.reject` where nothing is recorded, `.none` where it is paused already.
  @discardableResult public func pause() -> TakeMachine.Action { gate(.pause, at: nil) }
  /// Goes on at the frame captured now. `.reject` where it isn't paused.
  @discardableResult public func resume() -> TakeMachine.Action { gate(.resume, at: nil) }
  /// Marks the frame captured now, also while paused or interrupted. `.reject` where there is no take under way.
  ///
  /// - Parameter label: the person's words, at most `LedgerEvent.largestLabel` bytes of UTF-8; nil for none.
  @discardableResult public func mark(label: String? = nil) -> TakeMachine.Action {
    gate(.mark(label: label), at: nil)
  }
  /// Pauses or resumes; starts an armed recorder.
  public func toggle() {
    switch state {
    case .armed: try? start()
    case let state where state.isPaused: _ = resume()
    default: _ = pause()
    }
  }

  public enum ScheduledCommand: Sendable {
    case pause, resume
    case mark(label: String?)
  }
  /// The same commands at an exact device frame that isn't captured yet: for scripts over files, and for tests.
  public func schedule(_ command: ScheduledCommand, atCaptureFrame frame: Int64) {
    _ = gate(command, at: frame)
  }

  private func gate(_ command: ScheduledCommand, at frame: Int64?) -> TakeMachine.Action {
    if case .mark(let label?) = command, label.utf8.count > LedgerEvent.largestLabel {
      return .reject(.labelTooLong)
    }
    // The decision and its place in the command list are one step, so that two callers can't swap them.
    return advance { machine in
      let (action, kind): (TakeMachine.Action, StreamEvent.Kind) =
        switch command {
        case .pause: (machine.pause(), .pause(machine.state))
        case .resume: (machine.resume(), .resume(machine.state))
        case .mark(let label): (machine.mark(), .mark(label: label))
        }
      guard [.closeGate, .openGate, .writeMark].contains(action) else { return action }
      if action == .closeGate { cell.notePause() }
      running.withLock { $0?.signal.command(kind, atCaptureFrame: frame, time: .now) }
      return action
    }
  }

  /// After an interruption that the front end decides on (`AbsencePolicy.ask`): tries the device again. The events tell
  /// whether frames arrive.
  @discardableResult
  public func goOn() -> TakeMachine.Action {
    let action = advance { $0.goOn() }
    if action == .retrySource { running.withLock { $0?.capture.retry() } }
    return action
  }
  /// After an interruption: seals what there is.
  public func keep() {
    guard case .interrupted(let reason, _) = state, reason != .left else { return }
    stop(reason.breaksSound ? .device : .disk)
  }
  /// The front end goes away: the partial take stays for `record --continue`, `recover` or the next launch.
  @discardableResult
  public func leave() -> TakeMachine.Action {
    let action = advance { $0.leave() }
    if action == .keepPartial || action == .releaseSource { endCapture() }
    return action
  }

  /// The front end has no more use for it: a take that is under way is left, and one that never began won't.
  public func end() {
    guard used.exchange(true, ordering: .acquiringAndReleasing) else {
      events.close()
      return ended.post()
    }
    leave()
  }

  /// Stops: what was captured goes into the take, which is sealed. Further stops are harmless.
  public func stop(_ by: EndedBy) {
    switch advance({ $0.stop(by) }) {
    case .endCapture(let why):
      endedBy.withLock { $0 = why }
      endCapture()
    case .releaseSource: endCapture()  // armed: no take has begun
    default: break
    }
  }

  /// Stops and moves the take to the trash.
  @discardableResult public func discard() -> TakeMachine.Action {
    let action = advance { $0.discard() }
    if action == .moveToTrash { endedBy.withLock { $0 = .user } }  // should it come back
    if action == .moveToTrash || action == .releaseSource { endCapture() }
    return action
  }

  private func endCapture() {
    events.hurry()
    running.withLock {
      $0?.taking?.store.hurry()
      $0?.capture.stop()
      $0?.signal.end()
    }
  }

  /// Waits until the take is sealed, discarded or failed, and until the recorder's threads have let go of all they had.
  ///
  /// Call it before the process ends: the C libraries take themselves down then, and a thread that still frees what is
  /// theirs would crash. Only after a start, arm or `end`.
  public func wait() {
    _ = wait(until: MonotonicTime(nanoseconds: .max / 2))
  }
  /// The same, until `deadline` at the latest.
  ///
  /// - Returns: whether it has ended.
  public func wait(until deadline: MonotonicTime) -> Bool {
    guard ended.wait(until: deadline) else { return false }
    ended.post()  // for the next caller
    let last = signalThread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    last?.join()
    return true
  }
}

struct SourceBox: @unchecked Sendable { let source: any Source }

extension ChannelChoice {
  /// As `--channel` takes it.
  public var name: String {
    switch self {
    case .channel(let number): "\(number)"
    case .mix: "mix"
    }
  }
}
