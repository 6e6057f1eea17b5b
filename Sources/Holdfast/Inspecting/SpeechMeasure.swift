import Session
import Signal

/// What is told of speech in a file: runs, the pauses between them, and both as practice.
public struct SpeechFigures: Sendable, Equatable {
  /// 48 kHz frames.
  public var speech: [Range<Int64>] = []
  /// Between runs of speech; 48 kHz frames.
  public var pauses: [Range<Int64>] = []
  /// What it says of how someone spoke.
  public var practice: PracticeFigures

  /// All in 48 kHz frames.
  ///
  /// - Parameters:
  ///   - speech: its runs, in order.
  ///   - pauses: what lies between them.
  ///   - frames: the audio's length.
  public init(speech: [Range<Int64>], pauses: [Range<Int64>], frames: Int64) {
    self.speech = speech
    self.pauses = pauses
    practice = PracticeFigures(speech: speech, pauses: pauses, frames: frames)
  }

  /// What the ledger tells.
  init(_ story: TakeStory, frames: Int64) {
    self.init(speech: story.speech, pauses: story.speechPauses, frames: frames)
  }
  /// Reads what `fields` gave: to the ms.
  ///
  /// - Returns: nil where the fields aren't there; an older manifest has none.
  init?(_ json: JSON, frames: Int64) {
    func runs(_ key: String) -> [Range<Int64>]? {
      var end: Int64 = 0
      guard let list = json[key]?.array else { return nil }
      var runs: [Range<Int64>] = []
      for item in list {
        guard let pair = item.array, pair.count == 2, let from = pair[0].int, let to = pair[1].int,
          from >= end,
          to >= from, to <= milliseconds(frames: frames)
        else { return nil }
        runs.append((from * 48)..<(to * 48))
        end = to
      }
      return runs
    }
    guard let speech = runs("speech"), let pauses = runs("speech_pauses") else { return nil }
    self.init(speech: speech, pauses: pauses, frames: frames)
  }

  /// As `inspect` and the manifest say it.
  var fields: [(String, JSON)] {
    func list(_ runs: [Range<Int64>]) -> JSON {
      .array(
        runs.map {
          .array([.int(milliseconds(frames: $0.lowerBound)), .int(milliseconds(frames: $0.upperBound))])
        })
    }
    return [("speech", list(speech)), ("speech_pauses", list(pauses)), ("practice", practice.json)]
  }
}

extension PracticeFigures {
  var json: JSON {
    .object([
      ("speech_ms", .int(speechMs)), ("speech_share", .rounded(speechShare, 4)), ("lead_ms", .int(leadMs)),
      ("tail_ms", .int(tailMs)), ("pauses", .int(Int64(pauses))), ("longest_ms", .int(longestMs)),
      ("median_ms", .int(medianMs)), ("total_ms", .int(totalMs)),
      ("pauses_per_minute", .rounded(pausesPerMinute, 2)),
    ])
  }
}

/// Hears speech in decoded audio of any rate, by the way that a recording takes: conformed to 48 kHz first.
final class SpeechMeasure {
  private var detector: SpeechDetector
  private let conformer: Conformer?
  private let isHeard: Bool  // also false for a rate that no resampler takes
  private var edges: ArraySlice<Int64>

  /// - Parameters:
  ///   - edges: 48 kHz frames where a recording paused, lost sound or was joined.
  ///   - minPauseMs: shorter gaps are speech.
  ///   - listening: false where what was said is known.
  init(
    rate: Int, edges: [Int64] = [], minPauseMs: Int64 = SpeechDetector.minPauseMs, listening: Bool = true
  ) {
    detector = SpeechDetector(minPauseMs: minPauseMs)
    self.edges = edges.sorted()[...]
    let format = SourceFormat(sample: .float32, rate: rate, channels: 1)
    conformer =
      rate == takeRate ? nil : try? Conformer(format: format, choice: .channel(1), quality: .fastest)
    isHeard = listening && (rate == takeRate || conformer != nil)
  }

  /// - Parameter mono: full scale ±1.0, all finite.
  func push(_ mono: Span<Float>) {
    guard isHeard else { return }  // and nothing was said
    guard let conformer else { return hear(mono) }
    conformer.push(unsafe mono.bytes, count: mono.count) { span, count in
      hear(span.span.extracting(0..<count))
    }
  }

  private func hear(_ samples: Span<Float>) {
    var first = 0
    while first < samples.count {
      while let edge = edges.first, edge <= detector.frames {
        detector.edge()
        edges.removeFirst()
      }
      let room = edges.first.map { Int(min($0 - detector.frames, Int64(samples.count))) } ?? samples.count
      let n = min(samples.count - first, room)
      detector.push(samples.extracting(first..<(first + n)))
      first += n
    }
  }

  func finish() -> SpeechFigures {
    conformer?.finish { span, count in hear(span.span.extracting(0..<count)) }
    detector.finish()
    return SpeechFigures(speech: detector.speech, pauses: detector.pauses, frames: detector.frames)
  }
}
