import Glibc

/// The gate and the count of effective time. Pure: frames and commands in, kept frames and transitions out.
///
/// Positions are 48 kHz frames of the conformed stream since the take's start, effective frames those that are kept.
public struct TakeClock: Sendable {
  /// Length of the fades at a joint: 5 ms.
  public static let fadeFrames = 240

  /// A note changes nothing: it only finds its effective frame. Its number is the caller's.
  public enum Command: Sendable, Equatable {
    case pause, resume
    case note(Int)
    /// Silence is left out, and sound goes on: gates like a pause and a resume, which no person asked for.
    case leaveOut, takeIn
  }
  /// Something that took effect at an exact frame.
  public struct Transition: Sendable, Equatable {
    public var command: Command
    /// Device frame it was asked at.
    public var captureFrame: Int64
    /// Effective frame it took effect at.
    public var effectiveFrame: Int64
    /// True for the second report of a pause: its fade-out is through, nothing is kept from here on.
    public var closed = false
    /// For a note: nothing was kept when it took effect.
    public var paused = false
  }
  private enum Gate: Equatable {
    case waiting  // armed: the take hasn't begun
    case open
    case fadingOut(done: Int)
    case closed
  }

  public private(set) var position: Int64 = 0
  public private(set) var effectiveFrames: Int64 = 0
  public let maxFrames: Int64?
  private var gate = Gate.open
  private var leavesOut = false  // the gate is shut, or about to be, because of silence
  private var hasEnded = false
  private var fadedIn = fadeFrames  // frames of the fade-in that are through; all of them at the start
  private var commands: [(command: Command, position: Int64, captureFrame: Int64)] = []

  /// - Parameters:
  ///   - maxFrames: effective frames after which nothing more is kept; nil for no limit.
  ///   - waiting: nothing is kept before `begin`.
  ///   - continuing: effective frames that are there already, which the first that are kept fade in behind; nil for a
  ///     new take.
  public init(maxFrames: Int64?, waiting: Bool = false, continuing: Int64? = nil) {
    self.maxFrames = maxFrames
    if let continuing {
      effectiveFrames = continuing
      fadedIn = 0
    }
    if waiting { gate = .waiting }
  }

  /// The take begins here, without a fade: all that comes from now on is kept.
  public mutating func begin() { if gate == .waiting { gate = .open } }
  /// The take begins at a later position, without a fade.
  public mutating func begin(at position: Int64) { schedule(.resume, at: position, captureFrame: 0) }
  /// Counts positions back: frames that were let go by while waiting come once more.
  public mutating func step(back frames: Int64) { position -= frames }
  /// The next frames follow on ones that are missing: they fade in.
  ///
  /// A pause right there closes at once: there is nothing to fade out.
  public mutating func joint() {
    if gate == .open { (fadedIn, isAtJoint) = (0, true) }
  }
  private var isAtJoint = false

  /// No frames come that would bring it about: a fade-out that is under way is through, and all that was asked by now
  /// takes effect.
  public mutating func settle(_ transition: (Transition) -> Void) {
    apply(transition)
    while case .fadingOut = gate {
      gate = .closed
      if !leavesOut { transition(closedPause) }
      apply(transition)
    }
  }

  /// Nothing more is kept: the limit is reached, or the take was ended.
  public var isFull: Bool { hasEnded || (maxFrames.map { effectiveFrames >= $0 } ?? false) }
  /// Nothing is kept now, and a resume is awaited.
  public var isPaused: Bool { gate == .closed }
  /// Ends the take here.
  public mutating func end() { hasEnded = true }

  /// Schedules a command at a stream position not before `position`. Commands come in order.
  public mutating func schedule(_ command: Command, at position: Int64, captureFrame: Int64) {
    commands.append((command, max(position, self.position, commands.last?.position ?? 0), captureFrame))
  }

  /// Passes the first `count` samples through the gate, with fades applied in place.
  ///
  /// - Parameters:
  ///   - keep: gets each kept range of `samples`, in order.
  ///   - transition: gets each command as it takes effect, between the ranges before and after it.
  public mutating func pass(
    _ samples: inout MutableSpan<Float>, count: Int, keep: (Span<Float>) -> Void,
    transition: (Transition) -> Void
  ) {
    var first = 0
    apply(transition)
    while first < count, !isFull {
      var n = count - first
      if let next = commands.first, canApply(next.command) { n = min(n, Int(next.position - position)) }
      switch gate {
      case .open: break
      case .closed, .waiting:
        advance(n, kept: false)
        first += n
        apply(transition)
        continue
      case .fadingOut(let done): n = min(n, Self.fadeFrames - done)
      }
      if fadedIn < Self.fadeFrames { n = min(n, Self.fadeFrames - fadedIn) }
      if let maxFrames { n = Int(min(Int64(n), maxFrames - effectiveFrames)) }
      fade(&samples, first, n)
      keep(samples.span.extracting(first..<(first + n)))
      advance(n, kept: true)
      first += n
      if case .fadingOut(let done) = gate, done == Self.fadeFrames {
        gate = .closed
        if !leavesOut { transition(closedPause) }
      }
      apply(transition)
    }
    if isFull { position += Int64(count - first) }
  }
  private var lastPause: Int64 = 0
  private var closedPause: Transition {
    Transition(command: .pause, captureFrame: lastPause, effectiveFrame: effectiveFrames, closed: true)
  }

  /// A gate that is to open waits for its fade-out, a pause for that of a silence; what makes no sense is dropped at once.
  private func canApply(_ command: Command) -> Bool {
    switch (command, gate) {
    case (.resume, .fadingOut), (.takeIn, .fadingOut): false
    case (.pause, .fadingOut): !leavesOut
    case (.pause, _), (.resume, _), (.note, _), (.leaveOut, _), (.takeIn, _): true
    }
  }
  private mutating func apply(_ transition: (Transition) -> Void) {
    while let next = commands.first, next.position <= position, canApply(next.command) {
      commands.removeFirst()
      switch (next.command, gate) {
      case (.pause, .open) where isAtJoint:
        gate = .closed
        lastPause = next.captureFrame
        transition(
          Transition(
            command: .pause, captureFrame: next.captureFrame, effectiveFrame: effectiveFrames))
        transition(closedPause)
        continue
      case (.pause, .open):
        gate = .fadingOut(done: 0)
        lastPause = next.captureFrame
      case (.leaveOut, .open):
        gate = .fadingOut(done: 0)
        leavesOut = true
      case (.pause, .closed) where leavesOut:  // silence ends where the person's pause begins
        leavesOut = false
        lastPause = next.captureFrame
        for command in [Command.takeIn, .pause] {
          transition(
            Transition(
              command: command, captureFrame: next.captureFrame, effectiveFrame: effectiveFrames,
              paused: true))
        }
        transition(closedPause)
        continue
      case (.resume, .closed) where !leavesOut, (.takeIn, .closed) where leavesOut:
        gate = .open
        leavesOut = false
        fadedIn = 0
      case (.resume, .waiting):
        gate = .open
        continue
      case (.note, _): break
      case (.pause, _), (.resume, _), (.leaveOut, _), (.takeIn, _): continue
      }
      transition(
        Transition(
          command: next.command, captureFrame: next.captureFrame, effectiveFrame: effectiveFrames,
          paused: gate == .closed))
    }
  }
  private mutating func advance(_ n: Int, kept: Bool) {
    position += Int64(n)
    guard kept else { return }
    effectiveFrames += Int64(n)
    isAtJoint = isAtJoint && n == 0
    fadedIn = min(Self.fadeFrames, fadedIn + n)
    if case .fadingOut(let done) = gate { gate = .fadingOut(done: done + n) }
  }
  /// Raised-cosine gain; the first faded sample is already below 1 and the last still above 0. A pause in the middle
  /// of a fade-in multiplies both, so that no step is heard.
  private func fade(_ samples: inout MutableSpan<Float>, _ first: Int, _ n: Int) {
    if fadedIn < Self.fadeFrames {
      for i in 0..<n { samples[first + i] *= Self.gain(fadedIn + i) }
    }
    if case .fadingOut(let done) = gate {
      for i in 0..<n { samples[first + i] *= Self.gain(Self.fadeFrames - 1 - done - i) }
    }
  }
  private static func gain(_ step: Int) -> Float {
    Float(0.5 * (1 - cos(.pi * Double(step + 1) / Double(fadeFrames + 1))))
  }
}
