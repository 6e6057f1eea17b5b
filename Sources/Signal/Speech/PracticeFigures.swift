/// What a take was as practice: how much of it was speech, and how it paused.
public struct PracticeFigures: Sendable, Equatable {
  /// In ms of effective time, each run floored at both ends as its fields in `speech` are.
  public var speechMs: Int64 = 0
  /// Of the take's length, 0…1.
  public var speechShare = 0.0
  /// Before the first word; the whole take where there is none.
  public var leadMs: Int64 = 0
  /// After the last word.
  public var tailMs: Int64 = 0
  public var pauses = 0
  public var longestMs: Int64 = 0
  /// Of an even number of pauses the lower of the two in the middle.
  public var medianMs: Int64 = 0
  public var totalMs: Int64 = 0
  /// Pauses per minute of speech.
  public var pausesPerMinute = 0.0

  /// - Parameters:
  ///   - speech: runs in effective frames, ascending.
  ///   - pauses: between them, in effective frames.
  ///   - frames: the take's length.
  public init(speech: [Range<Int64>], pauses: [Range<Int64>], frames: Int64) {
    func length(_ run: Range<Int64>) -> Int64 {
      milliseconds(frames: run.upperBound) - milliseconds(frames: run.lowerBound)
    }
    let whole = milliseconds(frames: frames)
    speechMs = speech.reduce(0) { $0 + length($1) }
    speechShare = whole > 0 ? Double(speechMs) / Double(whole) : 0
    leadMs = speech.first.map { milliseconds(frames: $0.lowerBound) } ?? whole
    tailMs = speech.last.map { whole - milliseconds(frames: $0.upperBound) } ?? 0
    let lengths = pauses.map(length).sorted()
    self.pauses = lengths.count
    longestMs = lengths.last ?? 0
    medianMs = lengths.isEmpty ? 0 : lengths[(lengths.count - 1) / 2]
    totalMs = lengths.reduce(0, +)
    pausesPerMinute = speechMs > 0 ? Double(lengths.count) * 60_000 / Double(speechMs) : 0
  }
}
