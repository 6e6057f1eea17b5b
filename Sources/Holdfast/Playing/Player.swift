import Platform
import Session
import Signal
import Synchronization

/// Plays a clip of a file, exact to the sample: any file that `inspect` reads, also an unfinished take's audio so far.
///
/// Every method may be called from any thread, at any time; a call that makes no sense does nothing. Several players run side by side. A player that was started lives until it ends: `stop` it.
public final class Player: Sendable {
  public let path: Path
  public let range: ClipRange
  public let output: OutputSpec

  /// What it reports: one reader; a slow one loses positions and nothing else, and the player never waits for it. Ends when
  /// the player has.
  public let events = EventQueue<PlayerEvent>(lossless: false)

  private let inbox = Mutex<[PlayerMachine.Command]>([])
  private let wake = CountingSemaphore()
  private let ended = CountingSemaphore()
  private let current = Mutex(PlayerState.idle)
  private let position: Atomic<Int64>
  private let losses = Mutex<[Range<Int64>]>([])

  /// - Parameters:
  ///   - path: the file.
  ///   - range: its end may lie behind the file's: then it plays to that.
  ///   - output: where the sound goes; opened by `start`.
  public init(_ path: Path, range: ClipRange = .all, output: OutputSpec) {
    (self.path, self.range, self.output) = (path, range, output)
    position = Atomic(range.fromMs)
  }

  /// Where in the file it is, milliseconds: of what is heard, frames given to the device less those still on their way.
  public var positionMs: Int64 { position.load(ordering: .relaxed) }
  public var state: PlayerState { current.withLock { $0 } }
  /// Stretches of the file, in milliseconds, in whose place silence was played. Complete once it has ended.
  public var lostMs: [ClosedRange<Int64>] {
    losses.withLock { $0 }.map { milliseconds(frames: $0.lowerBound)...milliseconds(frames: $0.upperBound) }
  }

  /// Opens file and device, and begins to play. Once only.
  ///
  /// - Throws: 64 an empty stretch, 65 no audio, 66 no such file, 69 no such device or server, 73 the output file can't be
  ///   made, 75 the device is busy, 77. What happens later comes as an event.
  public func start() throws(RecorderFailure) {
    let isFirst = current.withLock { state in
      guard state == .idle else { return false }
      state = .playing
      return true
    }
    guard isFirst else {
      throw RecorderFailure(code: 64, kind: "already_running", message: "this player was started before")
    }
    do throws(RecorderFailure) {
      _ = try range.frames(rate: takeRate)
      let reader = try ClipReader(path)
      let frames = try range.frames(rate: reader.rate)
      let parts = Parts(reader: reader, output: try output.open(for: reader))
      do throws(Errno) { _ = try Thread(name: "hf-player") { [self] in run(parts, frames) } } catch {
        throw RecorderFailure(code: 74, kind: "io", message: "can't start a thread: \(error.text)")
      }
    } catch {
      current.withLock { $0 = .failed }
      events.close()
      ended.post()
      throw error
    }
  }

  /// Silent at once; `resume` goes on with the very frame that was to be heard next.
  public func pause() { send(.pause) }
  public func resume() { send(.resume) }
  /// Pauses or resumes.
  public func toggle() { send(state == .paused ? .resume : .pause) }
  /// Goes to a place of the clip; outside of it, to its nearest end. A paused player stays paused.
  public func seek(toMs ms: Int64) { send(.seek(ms: ms)) }
  /// Ends it, for good.
  public func stop() { send(.stop) }
  private func send(_ command: PlayerMachine.Command) {
    inbox.withLock { $0.append(command) }
    wake.post()
  }

  /// Waits until it has ended in whichever way, or until `deadline`.
  ///
  /// - Returns: whether it has. A device that hangs in ALSA's own calls may never let it: leave it to its thread.
  @discardableResult
  public func wait(until deadline: MonotonicTime? = nil) -> Bool {
    if let deadline {
      guard ended.wait(until: deadline) else { return false }
    } else {
      ended.wait()
    }
    ended.post()  // for whoever waits beside
    return true
  }

  // MARK: the player's thread

  /// The player thread's own once it runs.
  private struct Parts: @unchecked Sendable {
    let reader: ClipReader
    let output: any PlayerOutput
  }

  private func run(_ parts: Parts, _ frames: Range<Int64>) {
    let playing = Playing(parts.reader, parts.output, frames)
    var machine = PlayerMachine()
    do throws(RecorderFailure) {
      try playing.begin()
      set(.playing, playing)
      while machine.state != .over {
        for command in inbox.withLock({ commands in
          defer { commands = [] }
          return commands
        }) {
          switch machine.take(command) {
          case .none: break
          case .hold:
            try playing.hold()
            set(.paused, playing)
          case .goOn:
            set(.playing, playing)
          case .jump(let ms):
            try playing.jump(toMs: ms)
            tell(playing, always: true)
          case .end: try playing.silence()
          }
        }
        switch machine.state {
        case .playing: if try !playing.feed() { machine.fedAll() }
        case .draining:
          if try parts.output.drain() {
            playing.isDrained = true
            machine.drained()
          }
        case .paused: wake.wait()
        case .over: break
        }
        if machine.state != .paused { tell(playing, always: false) }
      }
      losses.withLock { $0 = parts.reader.lost.filter { $0.overlaps(frames) } }
      try parts.output.finish()
      parts.output.close()
      if let failure = playing.failure { throw failure }
      set(playing.isDrained ? .ended : .stopped, playing)
    } catch {
      parts.output.close()
      current.withLock { $0 = .failed }
      events.push(.failed(error))
    }
    events.close()
    ended.post()
  }

  private func set(_ state: PlayerState, _ playing: Playing) {
    current.withLock { $0 = state }
    let ms = playing.positionMs
    position.store(ms, ordering: .relaxed)
    events.push(.state(state, positionMs: ms))
  }
  private func tell(_ playing: Playing, always: Bool) {
    let ms = playing.positionMs
    let before = position.exchange(ms, ordering: .relaxed)
    if always || ms / 250 != before / 250 { events.push(.position(ms: ms)) }
    if let count = playing.newUnderruns() { events.push(.underrun(count: count, positionMs: ms)) }
  }
}

/// What is with the device, and what of it was heard. The player thread's own.
private final class Playing {
  private let output: any PlayerOutput
  private let range: Range<Int64>
  private let rate: Int64
  private let reader: ClipReader
  private var feeding: PlayerFeed?
  private var used = 0  // frames of the feed's block that the output has
  /// Frame of the file with which the output's count began.
  private var base: Int64
  /// Frames that the output has taken since, at its rate.
  private var fed: Int64 = 0
  /// Frame of the file that is heard; never falls but by a jump.
  private var heard: Int64
  private var toldUnderruns = 0
  var isDrained = false
  /// The file is damaged from here on: told once what came before was heard.
  private(set) var failure: RecorderFailure?

  init(_ reader: ClipReader, _ output: any PlayerOutput, _ range: Range<Int64>) {
    (self.reader, self.output, self.range) = (reader, output, range)
    rate = Int64(reader.rate)
    base = range.lowerBound
    heard = range.lowerBound
  }

  func begin() throws(RecorderFailure) {
    feeding = try PlayerFeed(reader, range, rate: output.rate, channels: output.channels)
    try go(to: range.lowerBound)
    guard try feeding?.next() == true || range.lowerBound == 0 else {
      let length = ClipTime.text(reader.position * 1_000 / rate)
      throw RecorderFailure(
        code: 64, kind: "range", path: reader.shown,
        message: "\(reader.shown.display) ends at \(length): the stretch lies behind it")
    }
  }
  private func go(to frame: Int64) throws(RecorderFailure) {
    base = try feeding?.seek(to: frame) ?? frame
    (fed, used, heard, failure) = (0, 0, base, nil)
  }

  /// Gives the output what it has room for.
  ///
  /// - Returns: false once it has all.
  func feed() throws(RecorderFailure) -> Bool {
    if used == feeding?.count ?? 0 {
      used = 0
      do throws(RecorderFailure) {
        guard try feeding?.next() == true else {
          failure = reader.missing(in: range)
          return false
        }
      } catch {
        failure = error
        return false
      }
    }
    guard let feeding else { return false }
    let n = try output.write(feeding.samples, from: used, count: feeding.count - used)
    used += n
    fed += Int64(n)
    return true
  }

  /// Silent at once.
  func silence() throws(RecorderFailure) {
    listen()
    try output.drop()
  }
  /// Silent at once, ready to go on with what wasn't heard.
  func hold() throws(RecorderFailure) {
    try silence()
    try go(to: heard)
  }
  func jump(toMs ms: Int64) throws(RecorderFailure) {
    try output.drop()
    let (product, overflow) = ms.multipliedReportingOverflow(by: rate)
    try go(to: overflow ? (ms < 0 ? 0 : Int64.max) : product / 1_000)
  }

  @discardableResult private func listen() -> Int64 {
    let delay = isDrained ? 0 : output.delay.map { Int64($0) }
    if let delay {
      let played = max(0, fed - max(0, delay))
      heard = max(heard, base + played * rate / Int64(output.rate))
      if range.upperBound != .max { heard = min(heard, range.upperBound) }
    }
    return heard
  }
  /// Milliseconds in the file.
  var positionMs: Int64 { listen() * 1_000 / rate }

  func newUnderruns() -> Int? {
    guard output.underruns > toldUnderruns else { return nil }
    toldUnderruns = output.underruns
    return toldUnderruns
  }
}
