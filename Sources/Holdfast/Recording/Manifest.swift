import Encoding
import Platform
import Session
import Signal
import Store

extension LevelSummary {
  /// The figures of the signal path that the ledger keeps.
  var totals: LevelTotals {
    get {
      var totals = LevelTotals()
      (totals.frames, totals.sum, totals.sumOfSquares, totals.peak) = (frames, sum, sumOfSquares, peak)
      return totals
    }
    set {
      (frames, sum, sumOfSquares, peak) = (
        newValue.frames, newValue.sum, newValue.sumOfSquares, newValue.peak
      )
    }
  }
}

/// What stands in `NAME.take.json`: the take's story out of the ledger, its levels, size and checksum.
public struct Manifest: Sendable {
  public static let format = "holdfast-take"
  public static let version: Int64 = 1
  /// Manifests larger than this are refused.
  public static let largest = 16 << 20

  public var outcome: Outcome
  public var effectiveFrames: Int64
  public var sizeBytes: Int64
  public var sha256: String
  public var story: TakeStory
  public var noiseFloorDb: Double
  public var bars: [Double]
  /// Nil where nobody listened: an older manifest, or a ledger that is lost.
  public var speech: SpeechFigures?
  /// The embedded ledger's bytes.
  public var ledger: [UInt8]

  public init(
    outcome: Outcome, effectiveFrames: Int64, sizeBytes: Int64, sha256: String, story: TakeStory,
    noiseFloorDb: Double, bars: [Double], speech: SpeechFigures?, ledger: [UInt8]
  ) {
    self.outcome = outcome
    self.effectiveFrames = effectiveFrames
    self.sizeBytes = sizeBytes
    self.sha256 = sha256
    self.story = story
    self.noiseFloorDb = noiseFloorDb
    self.bars = bars
    self.speech = speech
    self.ledger = ledger
  }

  public var durationMs: Int64 { milliseconds(frames: effectiveFrames) }
  /// What is missing to the shortest valid take, in milliseconds rounded up.
  public var missingMs: Int64 {
    Self.missingMs(frames: effectiveFrames, minValidMs: story.description?.minValidMs ?? 0)
  }
  static func missingMs(frames: Int64, minValidMs: Int64) -> Int64 {
    let perMs = Int64(takeRate / 1000)
    let (needed, overflow) = minValidMs.multipliedReportingOverflow(by: perMs)
    let missing = (overflow ? Int64.max : needed) - frames
    return missing > 0 ? (missing - 1) / perMs + 1 : 0
  }

  public var levels: LevelTotals { story.levels.totals }

  var bytes: [UInt8] { Array(text.utf8) }

  /// Seals a take with this manifest. Hours of speech runs are more than the reserve of a full disk holds: where it
  /// doesn't take them the manifest is written without, and `inspect` hears them again.
  func seal(_ body: ([UInt8]) throws(SealError) -> SealedFile) throws(RecorderFailure) -> SealedFile {
    do throws(SealError) { return try body(bytes) } catch {
      guard error.step == .manifest, error.cause.errno.isDiskFull, speech != nil else {
        throw Failures.seal(error)
      }
      var shorter = self
      shorter.speech = nil
      do throws(SealError) { return try body(shorter.bytes) } catch { throw Failures.seal(error) }
    }
  }

  /// The file's text.
  public var text: String {
    let description = story.description
    var fields: [(String, JSON)] = [
      ("format", .string(Self.format)), ("version", .int(Self.version)),
      ("take_id", .string(description?.takeID ?? "")),
    ]
    if let context = description?.contextJSON { fields.append(("context", context)) }
    if let started = story.startedMs { fields.append(("started_at", .string(Stamp.rfc3339(started)))) }
    if let ended = story.endedMs { fields.append(("ended_at", .string(Stamp.rfc3339(ended)))) }
    fields += [
      ("outcome", .string(outcome.rawValue)), ("ended_by", .string(story.endedBy?.rawValue ?? "")),
      ("too_short", .bool(missingMs > 0)), ("missing_ms", .int(missingMs)), ("duration_ms", .int(durationMs)),
      ("effective_frames", .int(effectiveFrames)), ("content_type", .string(SealedTake.contentType)),
      ("size_bytes", .int(sizeBytes)), ("sha256", .string(sha256)),
    ]
    fields += storyFields
    fields += [
      ("levels", .object(levelFields))
    ]
    if let speech { fields += speech.fields }
    fields += [
      ("bars", .array(bars.map { .rounded($0, 4) })),
      ("bitrate", .int(Int64(description?.bitrate ?? 0))),
      ("complexity", .int(Int64(description?.complexity ?? 0))),
      ("pre_skip", .int(Int64(description?.preSkip ?? 0))), ("encoder", .string(description?.encoder ?? "")),
      ("source", .string(description?.source ?? "")), ("channel", .string(description?.channel ?? "")),
      ("ledger", .string(Base64.encode(ledger))),
    ]
    return JSON.object(fields).pretty
  }

  /// What the story gives to manifest and `inspect` alike.
  public var storyFields: [(String, JSON)] { Self.storyFields(story) }
  static func storyFields(_ story: TakeStory) -> [(String, JSON)] {
    func ms(_ frames: Int64) -> JSON { .int(milliseconds(frames: frames)) }
    let fields: [(String, JSON)] = [
      ("pause_count", .int(Int64(story.pauses.count))),
      (
        "pauses",
        .array(
          story.pauses.map { pause in
            .object([("at_ms", ms(pause.frame))] + (pause.lengthMs.map { [("length_ms", .int($0))] } ?? []))
          })
      ),
      (
        "auto_pauses",
        .array(
          story.autoPauses.map { silence in
            .object(
              [("at_ms", ms(silence.frame))] + (silence.lengthMs.map { [("length_ms", .int($0))] } ?? []))
          })
      ),
      (
        "gaps",
        .array(
          story.gaps.map {
            .object([
              ("at_ms", ms($0.frame)), ("length_ms", ms($0.gap.frames)), ("frames", .int($0.gap.frames)),
              ("filled", .bool($0.gap.filled)), ("measured_by", .string($0.gap.measuredBy)),
            ])
          })
      ),
      (
        "marks",
        .array(
          story.marks.map { mark in
            .object([("at_ms", ms(mark.frame))] + (mark.label.map { [("label", .string($0))] } ?? []))
          })
      ),
      (
        "interruptions",
        .array(
          story.interruptions.map { i in
            .object(
              [("at_ms", ms(i.frame)), ("reason", .string(i.reason.rawValue))]
                + (i.lengthMs.map { [("length_ms", .int($0))] } ?? []))
          })
      ),
      ("gap_frames", .int(story.gapFrames)), ("device_rate", .int(Int64(story.description?.deviceRate ?? 0))),
      ("parts", .int(Int64(max(1, story.parts)))),
    ]
    guard let drift = story.clockDrift else { return fields }
    let figures: [(String, JSON)] = [
      ("ppm", .rounded(Double(drift.partsPerBillion) / 1_000, 3)),
      ("uncertainty_ppm", .rounded(Double(drift.uncertainty) / 1_000, 3)), ("seconds", .int(drift.seconds)),
    ]
    return fields + [("clock_drift", .object(figures))]
  }

  public var levelFields: [(String, JSON)] {
    [
      ("rms_db", .rounded(levels.rmsDb, 3)), ("peak_db", .rounded(levels.peakDb, 3)),
      ("ac_rms_db", .rounded(levels.acRmsDb, 3)), ("dc_offset", .rounded(levels.mean, 6)),
      ("noise_floor_db", .rounded(noiseFloorDb, 2)), ("clipped_runs", .int(story.levels.clippedRuns)),
      ("over_samples", .int(story.levels.over)), ("not_finite_samples", .int(story.levels.notFinite)),
    ]
  }
}
