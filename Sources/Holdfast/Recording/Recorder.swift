import Capture
import Encoding
import Platform
import Session
import Signal
import Store
import Synchronization

/// Records one take from one source.
///
/// Every method may be called from any thread, at any time: a call that makes no sense is answered, never trapped.
public final class Recorder: Sendable {
  public let settings: RecordingSettings
  public let events: EventQueue
  let continuing: Continuation?
  let machine = Mutex(TakeMachine())
  let running = Mutex<Running?>(nil)
  let endedBy = Mutex(EndedBy.sourceEnd)
  let problems = Mutex<[SourceProblem]>([])
  let diskTrouble = Mutex<[DiskNews.Part: InterruptionReason]>([:])
  let hung = Atomic<Bool>(false)
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
  }
  /// The encoder is the signal thread's; others only ask for its pre-skip.
  struct EncoderBox: @unchecked Sendable { let encoder: OpusEncoder }

  /// - Parameter continuing: an unfinished take to go on with, whose `RecordingSettings` these are; nil for a new one.
  public init(settings: RecordingSettings, continuing: Continuation? = nil) {
    self.settings = settings
    self.continuing = continuing
    events = EventQueue(lossless: settings.keepsEveryLevel)
  }

  public var state: TakeState { machine.withLock { $0.state } }
  /// Effective time in milliseconds: frames in the take, never a wall clock.
  public var effectiveMs: Int64 { milliseconds(frames: running.withLock { $0?.signal.effectiveFrames } ?? 0) }
  /// Device frames that have arrived since the source was opened.
  public var captured: Int64 { running.withLock { $0?.capture.captured } ?? 0 }
  /// What was odd about the source without costing audio; complete once the events have ended.
  public var sourceProblems: [SourceProblem] { problems.withLock { $0 } }

  /// The device didn't answer at the end, and a thread still waits for it: the process should leave by `_exit`, since an
  /// `exit` would take ALSA down under it. Complete once `wait` returns.
  public var deviceHangs: Bool { hung.load(ordering: .acquiring) }

  // MARK: starting

  /// Makes the partial take and begins to record. Returns at once; the events tell the rest.
  ///
  /// - Parameter source: open and ready; the recorder's own from here on.
  /// - Throws: the failure, when no take could be made; nothing is left behind then.
  public func start(source: sending any Source) throws(RecorderFailure) {
    try prepare(SourceBox(source: source), arm: false)
  }

  /// Begins to listen without recording; `settings.preRollMs` before `start()` go into the take then.
  public func arm(source: sending any Source) throws(RecorderFailure) {
    try prepare(SourceBox(source: source), arm: true)
  }

  private func prepare(_ source: SourceBox, arm: Bool) throws(RecorderFailure) {
    guard machine.withLock({ $0.prepare(arm: arm) }) == .openSource else {
      throw RecorderFailure(code: 64, kind: "already_running", message: "this recorder is already running")
    }
    events.push(.state(.preparing, effectiveFrames: 0))
    do throws(RecorderFailure) {
      try open(source)
      guard machine.withLock({ $0.opened() }) == .beginTake else {
        events.push(.state(.armed, effectiveFrames: 0))
        return try run()
      }
      try beginTake()
      try run()
    } catch { throw refused(error) }
  }

  /// Begins the take of an armed recorder.
  ///
  /// - Throws: the failure, when no take could be made; `not_armed` where nothing is armed.
  public func start() throws(RecorderFailure) {
    switch machine.withLock({ $0.start() }) {
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
    _ = machine.withLock { $0.refused(permission: failure.code == 77) }
    events.push(.state(state, effectiveFrames: 0))
    events.push(.failed(failure))
    events.close()
    return failure
  }

  // MARK: commands

  public func pause() -> TakeMachine.Action { gate(.pause, at: nil) { $0.pause() } }
  public func resume() -> TakeMachine.Action { gate(.resume, at: nil) { $0.resume() } }
  public func mark(label: String? = nil) -> TakeMachine.Action {
    gate(.mark(label: label), at: nil) { $0.mark() }
  }
  /// Pauses or resumes; starts an armed recorder.
  public func toggle() {
    switch state {
    case .armed: try? start()
    case .paused: _ = resume()
    default: _ = pause()
    }
  }

  public enum ScheduledCommand: Sendable {
    case pause, resume
    case mark(label: String?)
  }
  /// The same commands at an exact device frame that isn't captured yet: for scripts over files, and for tests.
  public func schedule(_ command: ScheduledCommand, atCaptureFrame frame: Int64) {
    switch command {
    case .pause: _ = gate(.pause, at: frame) { $0.pause() }
    case .resume: _ = gate(.resume, at: frame) { $0.resume() }
    case .mark(let label): _ = gate(.mark(label: label), at: frame) { $0.mark() }
    }
  }

  private func gate(
    _ kind: StreamEvent.Kind, at frame: Int64?, _ decide: (inout TakeMachine) -> TakeMachine.Action
  ) -> TakeMachine.Action {
    // The decision and its place in the command list are one step, so that two callers can't swap them.
    machine.withLock { machine in
      let action = decide(&machine)
      switch action {
      case .closeGate, .openGate, .writeMark:
        running.withLock { $0?.signal.command(kind, atCaptureFrame: frame, time: .now) }
      default: break
      }
      return action
    }
  }

  /// After an interruption that the front end decides on (`AbsencePolicy.ask`): tries the device again. The events tell
  /// whether frames arrive.
  @discardableResult
  public func goOn() -> TakeMachine.Action {
    let action = machine.withLock { $0.goOn() }
    if action == .retrySource { running.withLock { $0?.capture.retry() } }
    return action
  }
  /// After an interruption: seals what there is.
  public func keep() {
    guard case .interrupted(let reason, _) = state else { return }
    stop(reason.breaksSound ? .device : .disk)
  }
  /// The front end goes away: the partial take stays for `record --continue`, `recover` or the next launch.
  @discardableResult
  public func leave() -> TakeMachine.Action {
    let action = machine.withLock { $0.leave() }
    if action == .keepPartial || action == .releaseSource { endCapture() }
    return action
  }

  /// Stops: what was captured goes into the take, which is sealed. Further stops are harmless.
  public func stop(_ by: EndedBy) {
    switch machine.withLock({ $0.stop(by) }) {
    case .endCapture(let why):
      endedBy.withLock { $0 = why }
      endCapture()
    case .releaseSource: endCapture()  // armed: no take has begun
    default: break
    }
  }

  /// Stops and moves the take to the trash.
  public func discard() -> TakeMachine.Action {
    let action = machine.withLock { $0.discard() }
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
  /// theirs would crash. Only after a start or arm that succeeded.
  public func wait() {
    ended.wait()
    ended.post()  // for the next caller
    let last = signalThread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    last?.join()
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
