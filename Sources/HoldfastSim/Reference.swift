import Session

/// What a take has to be, by the contract and the script alone: written apart from the product's own clock.
///
/// Everything has its place on the device's frames; effective time follows from pauses, losses, joints and the limit.
struct Reference {
  enum Event: Equatable {
    case start(preRoll: Int64)
    case pause, resume
    case mark(String)
    case lost(Int64)
    /// The sound breaks here; it goes on here.
    case broken(InterruptionReason)
    case joined

    var isBreak: Bool {
      switch self {
      case .broken, .joined: true
      case .start, .pause, .resume, .mark, .lost: false
      }
    }
    /// A person's doing.
    var isAsked: Bool {
      switch self {
      case .pause, .resume, .mark: true
      case .start, .lost, .broken, .joined: false
      }
    }
  }
  struct Placed: Equatable {
    var frame: Int64
    var label = ""
    var frames: Int64 = 0
  }
  private let rate: Int64
  private let limit: Int64?
  private let closesGaps: Bool

  private(set) var pauses: [Int64] = []
  private(set) var marks: [Placed] = []
  private(set) var gaps: [Placed] = []
  private(set) var breaks: [Placed] = []
  private(set) var effective: Int64

  // Positions are 48 kHz frames of the device's stream, losses that are filled included.
  private var position: Int64 = 0
  private var run: (device: Int64, position: Int64) = (0, 0)
  private var device: Int64 = 0  // frames since the source was opened, filled losses included
  private var filled: Int64 = 0
  private var hasBegun = false
  private var gate = Gate.shut
  private enum Gate: Equatable {
    case open
    /// A pause keeps 240 frames more.
    case closing(Int64)
    case shut
  }
  /// Nothing was kept since the last joint: a pause there has nothing to fade out.
  private var atJoint = false
  private var waiting: [Event] = []

  static let fade: Int64 = 240

  init(rate: Int, limitMs: Int64, closesGaps: Bool, continuing: Int64 = 0) {
    self.rate = Int64(rate)
    limit = limitMs > 0 ? limitMs * 48 : nil
    self.closesGaps = closesGaps
    effective = continuing
  }

  private var isFull: Bool { limit.map { effective >= $0 } ?? false }
  private func position(of device: Int64) -> Int64 {
    run.position + ((device - run.device) * 96_000 + rate) / (2 * rate)
  }

  /// Lets the stream go on to a frame of the device.
  private mutating func go(to frame: Int64) {
    device = frame
    let target = position(of: frame)
    while position < target, !isFull {
      settle()
      var n = target - position
      if case .closing(let left) = gate { n = min(n, left) }
      if gate != .shut {
        if let limit { n = min(n, limit - effective) }
        effective += n
        if n > 0 { atJoint = false }
      }
      position += n
      if case .closing(let left) = gate { gate = left == n ? .shut : .closing(left - n) }
    }
    position = target
    settle()
  }
  /// What was asked takes effect, in order; a resume waits for the fade of its pause, and what comes behind waits too.
  private mutating func settle() {
    while let next = waiting.first {
      if next == .resume, case .closing = gate { return }
      waiting.removeFirst()
      switch next {
      case .pause:
        guard gate == .open else { continue }
        pauses.append(effective)
        gate = atJoint ? .shut : .closing(Self.fade)
      case .resume: if gate == .shut { gate = .open }
      case .mark(let label): marks.append(Placed(frame: effective, label: label))
      case .lost(let frames):
        let length = (frames * 96_000 + rate) / (2 * rate)
        if gate != .shut, length > 0 { gaps.append(Placed(frame: effective, frames: length)) }
      case .broken(let reason): breaks.append(Placed(frame: effective, label: reason.rawValue))
      case .joined, .start: break
      }
    }
  }
  /// Nothing comes that could be faded: what was asked takes effect at once.
  private mutating func settleAtOnce() {
    settle()
    while case .closing = gate {
      gate = .shut
      settle()
    }
  }
  private var isAway = false
  /// The device had gone when the take began, and nobody knew yet.
  private var brokenBefore: Event?
  private mutating func joint() {
    if gate == .open { atJoint = true }
  }
  private mutating func endRun() { run = (device, position) }

  /// - Parameter captured: frames the device had delivered when it happened, or was asked for.
  mutating func take(_ event: Event, at captured: Int64) {
    guard !isFull else { return }
    if !hasBegun {
      switch event {
      case .broken: brokenBefore = event
      case .joined: brokenBefore = nil
      default: break
      }
      guard case .start(let preRoll) = event else { return }
      hasBegun = true
      device = captured
      run = (0, 0)
      position = position(of: captured)
      effective += min(preRoll, position)
      if let limit { effective = min(effective, limit) }
      gate = .open
      atJoint = false
      if let brokenBefore { take(brokenBefore, at: captured) }
      return
    }
    go(to: captured + filled)
    guard !isFull else { return }
    waiting.append(event)
    settle()
    switch event {
    case .lost(let frames):
      if closesGaps {
        endRun()
        joint()
      } else {
        filled += frames
        go(to: captured + filled)
      }
    case .broken:
      isAway = true
      endRun()
      settleAtOnce()
      joint()
    case .joined:
      isAway = false
      joint()
    case .start, .pause, .resume, .mark: break
    }
    if isAway { settleAtOnce() }
  }
  /// The stream ends here. What still waits takes effect: nothing that was accepted is dropped.
  mutating func finish(at captured: Int64) {
    guard hasBegun else { return }
    go(to: captured + filled)
    if !isFull { settleAtOnce() }
  }
}
