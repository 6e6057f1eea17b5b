/// Someone began or ceased to speak.
public struct SpeechChange: Sendable, Equatable {
  public var speaking: Bool
  /// Effective frame it happened at; the decision comes later.
  public var atFrame: Int64

  public init(speaking: Bool, atFrame: Int64) {
    self.speaking = speaking
    self.atFrame = atFrame
  }
}

/// Makes runs of speech and pauses between them from one logit a hop. Pure.
///
/// A gap shorter than the minimum pause is speech; a run shorter than 60 ms isn't, or 30 ms where an edge cuts it off. An
/// edge closes the run, and no pause spans it.
struct SpeechRuns {
  static let hop: Int64 = 480
  private static let shortest: Int64 = 2_880
  private static let latest: Int64 = 6_720
  private static let on: Float = 0.3
  private static let off: Float = -0.3
  /// At most this many are kept: ten hours of a pause every 1.8 s.
  static let most = 20_000

  private(set) var speech: [Range<Int64>] = []
  private(set) var pauses: [Range<Int64>] = []
  /// The hop that is decided next.
  private(set) var next: Int64 = 0
  private let minPause: Int64
  private var loud = false
  private var open: Range<Int64>?  // to the end of its last speaking hop
  private var isSure = false  // the open run is long enough
  private var lastEnd: Int64?  // of the run before, since the last edge
  private var segment: Int64 = 0  // the last edge

  init(minPause: Int64, from start: Int64 = 0) {
    segment = start
    next = start / Self.hop
    self.minPause = max(1, minPause)
    speech.reserveCapacity(512)
    pauses.reserveCapacity(512)
  }

  /// A run that is long enough to count is open.
  var isSpeaking: Bool { open != nil && isSure }

  /// Decides the next hop.
  ///
  /// - Parameter end: where the audio ends, should that be within the hop.
  mutating func decide(_ logit: Float, end: Int64 = .max, _ change: (SpeechChange) -> Void) {
    loud = loud ? logit > Self.off : logit > Self.on
    let from = max(segment, next * Self.hop)
    let to = min(end, (next + 1) * Self.hop)
    next += 1
    guard loud else {
      if let open, to - open.upperBound >= minPause { close(change) }
      return
    }
    guard to > from else { return }
    var run = (open?.lowerBound ?? from)..<to
    // What was short and is long past can't be told in time any more: it was a click before the word.
    if !isSure, to - run.lowerBound > Self.latest { run = from..<to }
    open = run
    if run.count >= Self.shortest { confirm(run, change) }
  }

  /// The open run counts, and with it the pause before it.
  private mutating func confirm(_ run: Range<Int64>, _ change: (SpeechChange) -> Void) {
    guard !isSure else { return }
    isSure = true
    if let lastEnd, pauses.count < Self.most { pauses.append(lastEnd..<run.lowerBound) }
    change(SpeechChange(speaking: true, atFrame: run.lowerBound))
  }

  /// Closes the open run, and begins anew at `frame`.
  ///
  /// Every hop that begins before `frame` must have been decided.
  mutating func edge(at frame: Int64, _ change: (SpeechChange) -> Void) {
    // A word that the edge cuts off is as long as it was until there: half will do.
    if let open, open.upperBound == frame, open.count >= Self.shortest / 2 { confirm(open, change) }
    close(change)
    lastEnd = nil
    segment = frame
    next = frame / Self.hop
  }

  private mutating func close(_ change: (SpeechChange) -> Void) {
    if let run = open, isSure {
      if speech.count < Self.most { speech.append(run) }
      lastEnd = run.upperBound
      change(SpeechChange(speaking: false, atFrame: run.upperBound))
    }
    open = nil
    isSure = false
  }
}
