/// Hears speech and its pauses in 48 kHz mono, causally: a small recurrent net on cheap features.
///
/// Hops of 10 ms lie on effective frames from 0. Pure; the same runs however the samples are cut into calls, and no
/// allocation after start but for a result list that grows beyond 512 runs. A start or the end of a pause is known 0.19
/// to 0.27 s after it, a pause that much after it has become long enough.
public struct SpeechDetector: Sendable {
  public static let minPauseMs: Int64 = 250

  private var features: SpeechFeatures
  private var decisions: Decisions

  /// A detector may begin anywhere that is a multiple of this.
  public static let grid: Int64 = 1_920

  /// - Parameters:
  ///   - minPauseMs: shorter gaps are speech.
  ///   - start: effective frame that the first sample is: a multiple of `grid`.
  public init(minPauseMs: Int64 = minPauseMs, from start: Int64 = 0) {
    features = SpeechFeatures(from: start)
    decisions = Decisions(minPause: min(max(minPauseMs, 10), 3_600_000) * 48, from: start)
  }

  /// Finished runs of speech, in effective frames.
  public var speech: [Range<Int64>] { decisions.runs.speech }
  /// Pauses between two runs of speech, in effective frames: never before the first or behind the last of a segment.
  public var pauses: [Range<Int64>] { decisions.runs.pauses }
  /// Someone is speaking, as far as is decided.
  public var isSpeaking: Bool { decisions.runs.isSpeaking }
  /// Frames pushed so far.
  public var frames: Int64 { features.frames }

  /// Hears the next samples, full scale ±1.0, all finite.
  ///
  /// - Parameter change: gets each start and end of speech once it is decided, dated back to where it was.
  public mutating func push(_ samples: Span<Float>, change: (SpeechChange) -> Void = { _ in }) {
    features.push(samples) { hop, inputs in decisions.hear(hop, inputs, change) }
  }

  /// The audio that follows doesn't belong to what came before: a recorder's pause, a gap, a joint.
  ///
  /// Closes the open run at the last frame pushed, unless it ended before. No pause spans the edge; what is known of the
  /// noise and of the talker stays.
  public mutating func edge(change: (SpeechChange) -> Void = { _ in }) {
    let end = features.frames
    features.catchUp { hop, inputs in decisions.hear(hop, inputs, change) }
    decisions.edge(at: end, features, change)
  }

  /// Ends the take: as an edge at its last frame.
  public mutating func finish(change: (SpeechChange) -> Void = { _ in }) { edge(change: change) }

  /// The net and what becomes of its output: apart from the features, which call it.
  private struct Decisions {
    var net = SpeechNet(weights: .trained)
    var runs: SpeechRuns

    init(minPause: Int64, from start: Int64) { runs = SpeechRuns(minPause: minPause, from: start) }

    mutating func hear(_ hop: Int64, _ inputs: Span<Float>, _ change: (SpeechChange) -> Void) {
      net.step(inputs)
      // Outputs that speak of hops before the last edge come too late: those were decided at the edge.
      guard hop - Int64(SpeechNet.lookAhead) == runs.next else { return }
      runs.decide(net.logit, change)
    }
    /// The last hops haven't been followed by the audio that the net wants to hear: to a copy of it the newest goes on. Of
    /// the last 140 ms before a cut 11.6 % are wrong so, 24.8 % if the last output stood for all of them (cuts at random
    /// and near edges of the set of benchmarks/hearing).
    mutating func edge(at end: Int64, _ features: SpeechFeatures, _ change: (SpeechChange) -> Void) {
      var net = net
      var hop = features.next
      while runs.next * SpeechRuns.hop < end {
        if features.hasBegun { net.step(features.values.span.extracting(0..<SpeechFeatures.count)) }
        if !features.hasBegun || hop - Int64(SpeechNet.lookAhead) >= runs.next {
          runs.decide(net.logit, end: end, change)
        }
        hop += 1
      }
      runs.edge(at: end, change)
    }
  }
}
