/// What a front end sees of a session.
public enum TakeState: Sendable, Equatable {
  /// Nothing was begun.
  case idle
  /// The device is being opened.
  case preparing
  /// It listens, and keeps nothing.
  case armed
  case recording
  /// The person has paused; the device stays open.
  case paused
  /// Source, disk or folder failed and is waited for; pause, resume and mark count meanwhile.
  case interrupted(InterruptionReason, whilePaused: Bool)
  /// The last packets and the manifest go to the disk.
  case sealing
  /// The file is final.
  case sealed
  /// It couldn't be sealed: the partial take stays.
  case failed
  /// In the trash.
  case discarded
  /// The user may not listen to the device. No take was made.
  case denied
  /// There is no such device, or it is busy, or its server is dead. No take was made.
  case unavailable

  /// The person has paused: nothing is kept, whether frames come or not.
  public var isPaused: Bool {
    switch self {
    case .paused, .interrupted(_, whilePaused: true): true
    default: false
    }
  }
  /// A take is under way.
  public var isTaking: Bool { self == .recording || self == .paused || isInterrupted }
  /// Interrupted, for whichever reason.
  public var isInterrupted: Bool { if case .interrupted = self { true } else { false } }
  /// The name in events.
  public var name: String {
    switch self {
    case .idle: "idle"
    case .preparing: "preparing"
    case .armed: "armed"
    case .recording: "recording"
    case .paused: "paused"
    case .interrupted: "interrupted"
    case .sealing: "sealing"
    case .sealed: "sealed"
    case .failed: "failed"
    case .discarded: "discarded"
    case .denied: "denied"
    case .unavailable: "unavailable"
    }
  }
}

/// Decides what a session does next. Pure: no clock, no disk, no device, one method an event.
///
/// Every event is answered in every state: with the action to perform, with `.none` where it is late and harmless, or
/// with `.reject` where it makes no sense. `docs/ARCHITECTURE.md` has the table, and a test holds it against this.
public struct TakeMachine: Sendable, Equatable {
  public enum Action: Sendable, Equatable {
    case none
    /// A call at the wrong time; nothing changed.
    case reject(Misuse)
    case openSource
    /// Make the partial take and let frames through from the next one on.
    case beginTake
    case closeGate
    case openGate
    case writeMark
    /// Take no more frames; what was delivered still goes into the take, then `drained` is due.
    case endCapture(EndedBy)
    /// Capture is broken: it goes into the ledger, and the source is waited for.
    case awaitSource(InterruptionReason)
    /// Frames flow again: they join the same take, behind a joint.
    case joinSource
    /// The front end wants the source back: try to open it.
    case retrySource
    /// The disk or the folder fails: it goes into the ledger; what is captured waits in memory.
    case awaitDisk(InterruptionReason)
    /// All that waited is stored.
    case diskIsBack(InterruptionReason)
    case seal
    case moveToTrash
    /// Close everything and leave the partial take for later.
    case keepPartial
    case releaseSource
  }
  public enum Misuse: Sendable, Equatable {
    case alreadyRunning, notArmed, notRecording, notPaused, notInterrupted, nothingToDiscard
    /// The words of a mark are longer than `LedgerEvent.largestLabel`.
    case labelTooLong
  }

  public private(set) var state = TakeState.idle
  private var startWhenOpen = false
  /// Why no frames come, and why none can be stored: each is waited for on its own.
  private var source: InterruptionReason?
  private var disk: InterruptionReason?

  public init() {}

  /// Interrupted by whatever isn't over, the source's trouble before the disk's.
  private func stillInterrupted(whilePaused: Bool) -> TakeState {
    guard let reason = source ?? disk else { return whilePaused ? .paused : .recording }
    return .interrupted(reason, whilePaused: whilePaused)
  }
  /// The front end has gone: this session is over.
  private var hasLeft: Bool { if case .interrupted(.left, _) = state { true } else { false } }
  private var isWhilePaused: Bool {
    switch state {
    case .paused, .interrupted(_, whilePaused: true): true
    default: false
    }
  }

  /// The user wants to record: at once, or armed first.
  public mutating func prepare(arm: Bool) -> Action {
    switch state {
    case .idle, .sealed, .failed, .discarded, .denied, .unavailable, .interrupted(.left, _):
      state = .preparing
      (startWhenOpen, source, disk) = (!arm, nil, nil)
      return .openSource
    case .preparing, .armed, .recording, .paused, .interrupted, .sealing: return .reject(.alreadyRunning)
    }
  }

  /// The source is open and delivers.
  public mutating func opened() -> Action {
    switch state {
    case .preparing:
      state = startWhenOpen ? .recording : .armed
      return startWhenOpen ? .beginTake : .none
    case .interrupted(_, let whilePaused) where source != nil:
      source = nil
      state = stillInterrupted(whilePaused: whilePaused)
      return .joinSource
    case .interrupted, .idle, .armed, .recording, .paused, .sealing, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .none  // late
    }
  }

  /// The source can't be opened, or no take can be made.
  public mutating func refused(permission: Bool) -> Action {
    switch state {
    case .preparing, .armed:
      state = permission ? .denied : .unavailable
      return .releaseSource
    case .recording:  // the partial take couldn't be made
      state = .unavailable
      return .releaseSource
    case .idle, .paused, .interrupted, .sealing, .sealed, .failed, .discarded, .denied, .unavailable:
      return .none
    }
  }

  public mutating func start() -> Action {
    switch state {
    case .armed:
      state = .recording
      return .beginTake
    case .preparing:
      startWhenOpen = true
      return .none
    case .idle, .sealed, .failed, .discarded, .denied, .unavailable, .interrupted(.left, _):
      return .reject(.notArmed)
    case .recording, .paused, .interrupted, .sealing: return .reject(.alreadyRunning)
    }
  }

  public mutating func pause() -> Action {
    switch state {
    case .recording:
      state = .paused
      return .closeGate
    case .interrupted(let reason, whilePaused: false) where reason != .left:  // nobody wants what comes then
      state = stillInterrupted(whilePaused: true)
      return .closeGate
    case .paused: return .none
    case .interrupted, .idle, .preparing, .armed, .sealing, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .reject(.notRecording)
    }
  }

  public mutating func resume() -> Action {
    switch state {
    case .paused:
      state = .recording
      return .openGate
    case .interrupted(let reason, whilePaused: true) where reason != .left:
      state = stillInterrupted(whilePaused: false)
      return .openGate
    case .recording: return .none
    case .interrupted, .idle, .preparing, .armed, .sealing, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .reject(.notPaused)
    }
  }

  public mutating func mark() -> Action {
    switch state {
    case .recording, .paused: return .writeMark
    case .interrupted(let reason, _) where reason != .left: return .writeMark
    case .interrupted, .idle, .preparing, .armed, .sealing, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .reject(.notRecording)
    }
  }

  /// A stop, whoever asks: the user, a signal, a limit, the source's end, a device or disk lost for good.
  public mutating func stop(_ by: EndedBy) -> Action {
    switch state {
    case .interrupted(.left, _): return .none
    case .recording, .paused, .interrupted:
      state = .sealing
      return .endCapture(by)
    case .preparing, .armed:
      state = .idle
      return .releaseSource
    case .sealing, .sealed, .failed, .discarded, .idle, .denied, .unavailable:
      return .none  // a second stop is harmless
    }
  }

  /// Capture is disturbed.
  public mutating func interrupted(_ reason: InterruptionReason) -> Action {
    switch state {
    case .recording, .paused, .interrupted:
      guard !hasLeft else { return .none }
      let isNew = source != reason  // a second disturbance: the newest names it
      source = reason
      state = stillInterrupted(whilePaused: isWhilePaused)
      return isNew ? .awaitSource(reason) : .none
    case .preparing, .armed:
      state = .unavailable
      return .releaseSource
    case .idle, .sealing, .sealed, .failed, .discarded, .denied, .unavailable: return .none
    }
  }

  /// The disk or the folder doesn't take what is captured.
  public mutating func diskFailed(_ reason: InterruptionReason) -> Action {
    switch state {
    case .recording, .paused, .interrupted:
      guard !hasLeft, disk != reason else { return .none }
      disk = reason
      state = stillInterrupted(whilePaused: isWhilePaused)
      return .awaitDisk(reason)
    case .preparing, .armed, .idle, .sealing, .sealed, .failed, .discarded, .denied, .unavailable:
      return .none
    }
  }

  /// It takes it again, all of it.
  public mutating func diskWorks() -> Action {
    switch state {
    case .interrupted(_, let whilePaused):
      guard let reason = disk else { return .none }
      disk = nil
      state = stillInterrupted(whilePaused: whilePaused)
      return .diskIsBack(reason)
    case .preparing, .armed, .recording, .paused, .idle, .sealing, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .none
    }
  }

  /// The front end wants to go on after an interruption: a device that is away is tried again.
  public mutating func goOn() -> Action {
    switch state {
    case .interrupted where source != nil: return .retrySource
    case .interrupted where disk != nil: return .none  // it is tried anyway
    case .interrupted, .recording, .paused, .idle, .preparing, .armed, .sealing, .sealed, .failed, .discarded,
      .denied, .unavailable:
      return .reject(.notInterrupted)
    }
  }

  /// The front end goes away and wants the take kept.
  public mutating func leave() -> Action {
    switch state {
    case .recording, .paused, .interrupted:
      guard !hasLeft else { return .none }
      state = .interrupted(.left, whilePaused: isWhilePaused)
      (source, disk) = (nil, nil)
      return .keepPartial
    case .preparing, .armed:
      state = .idle
      return .releaseSource
    case .idle, .sealing, .sealed, .failed, .discarded, .denied, .unavailable: return .none
    }
  }

  public mutating func discard() -> Action {
    switch state {
    case .interrupted(.left, _): return .reject(.nothingToDiscard)
    case .recording, .paused, .interrupted:
      state = .discarded
      return .moveToTrash
    case .preparing, .armed:
      state = .idle
      return .releaseSource
    case .idle, .sealing, .sealed, .failed, .discarded, .denied, .unavailable:
      return .reject(.nothingToDiscard)
    }
  }

  /// Everything captured has gone through to the packets.
  public mutating func drained() -> Action {
    switch state {
    case .sealing: return .seal
    case .idle, .preparing, .armed, .recording, .paused, .interrupted, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .none
    }
  }

  public mutating func finished(sealed: Bool) -> Action {
    switch state {
    case .sealing:
      state = sealed ? .sealed : .failed
      return .releaseSource
    case .discarded where !sealed:  // the trash refused it: the partial take stays
      state = .failed
      return .releaseSource
    case .idle, .preparing, .armed, .recording, .paused, .interrupted, .sealed, .failed, .discarded, .denied,
      .unavailable:
      return .none
    }
  }
}
