import Platform
import Session
import Signal

/// A fault found in a file.
public struct InspectProblem: Sendable, Equatable {
  public var kind: String
  public var offset: Int64?
  public var bytes: Int64?
  public var atMs: Int64?
  public var lengthMs: Int64?
  public var message: String
  /// Audio is missing, damaged, or not what its checksum says: exit code 65.
  public var costsAudio: Bool

  public init(
    kind: String, offset: Int64? = nil, bytes: Int64? = nil, atMs: Int64? = nil, lengthMs: Int64? = nil,
    costsAudio: Bool = false, message: String
  ) {
    self.kind = kind
    self.offset = offset
    self.bytes = bytes
    self.atMs = atMs
    self.lengthMs = lengthMs
    self.message = message
    self.costsAudio = costsAudio
  }

  var json: JSON {
    var fields: [(String, JSON)] = [("kind", .string(kind))]
    for (key, value) in [("offset", offset), ("bytes", bytes), ("at_ms", atMs), ("length_ms", lengthMs)] {
      if let value { fields.append((key, .int(value))) }
    }
    return .object(fields + [("message", .string(message))])
  }
}

/// Levels of one channel, or of all.
public struct LevelFigures: Sendable, Equatable {
  public var rmsDb: Double
  public var peakDb: Double
  public var acRmsDb: Double
  public var dcOffset: Double
  public var clippedRuns: Int64

  init(_ totals: LevelTotals, clippedRuns: Int64) {
    rmsDb = Self.sane(totals.rmsDb)
    peakDb = Self.sane(totals.peakDb)
    acRmsDb = Self.sane(totals.acRmsDb)
    dcOffset = min(1e9, max(-1e9, totals.mean))
    self.clippedRuns = clippedRuns
  }
  /// A float file may hold anything that a Float can: no figure goes beyond +200 dBFS.
  private static func sane(_ db: Double) -> Double { min(200, db) }
  /// Over all channels: energies averaged, the highest peak, the runs of all.
  init(all totals: [LevelTotals], clippedRuns: [Int64]) {
    let n = Double(max(1, totals.count))
    rmsDb = Self.sane(decibels(meanSquare: totals.reduce(0) { $0 + $1.meanSquare } / n))
    peakDb = Self.sane(totals.map(\.peakDb).max() ?? levelFloor)
    acRmsDb = Self.sane(
      decibels(meanSquare: totals.reduce(0) { $0 + max(0, $1.meanSquare - $1.mean * $1.mean) } / n))
    dcOffset = min(1e9, max(-1e9, totals.reduce(0) { $0 + $1.mean } / n))
    self.clippedRuns = clippedRuns.reduce(0, +)
  }

  var fields: [(String, JSON)] {
    [
      ("rms_db", .rounded(rmsDb, 3)), ("peak_db", .rounded(peakDb, 3)), ("ac_rms_db", .rounded(acRmsDb, 3)),
      ("dc_offset", .rounded(dcOffset, 6)), ("clipped_runs", .int(clippedRuns)),
    ]
  }
}

/// What `inspect` says of a file.
public struct InspectReport: Sendable {
  public enum Outcome: String, Sendable { case complete, recovered, unfinished, foreign }
  public enum MeasuredOn: String, Sendable { case manifest, decoded }

  public var path: Path
  public var outcome: Outcome
  /// Frames at the file's own rate.
  public var frames: Int64
  public var sampleRate: Int
  public var channels: Int
  public var contentType: String
  public var sizeBytes: Int64
  /// Of the file; for an unfinished take of what sealing it now would give.
  public var sha256: String
  /// What the ledger tells; nil for a file that isn't a take.
  public var story: TakeStory?
  public var levels: LevelFigures
  public var noiseFloorDb: Double
  public var loudness: Double
  /// Mains hum, measured on the decoded audio; nil where there is none.
  public var hum: Hum?
  public var channelLevels: [LevelFigures]
  public var bars: [Double]
  /// Stretches without any signal, in ms.
  public var silences: [ClosedRange<Int64>]
  public var speech: SpeechFigures
  public var parts: Int
  public var problems: [InspectProblem]
  public var measuredOn: MeasuredOn
  /// An unfinished take that a recorder is at work on now.
  public var recording = false

  /// 48 kHz frames.
  public var effectiveFrames: Int64 { takeFrames(deviceFrames: frames, rate: sampleRate) }
  public var durationMs: Int64 { milliseconds(frames: effectiveFrames) }
  /// What a person should know of the sound; empty where it is good.
  public var verdicts: [Verdict] { Verdict.all(of: self) }
  /// The exit code of a look at this file.
  public var code: Int32 { problems.contains { $0.costsAudio } ? 65 : 0 }

  public var json: JSON {
    let empty = TakeStory([])
    let told = Dictionary(uniqueKeysWithValues: Manifest.storyFields(story ?? empty))
    func tell(_ key: String) -> (String, JSON) { (key, told[key] ?? .array([])) }
    var fields = path.fields
    fields += [
      ("outcome", .string(outcome.rawValue)), ("duration_ms", .int(durationMs)),
      ("effective_frames", .int(effectiveFrames)), ("frames", .int(frames)),
      ("sample_rate", .int(Int64(sampleRate))),
      ("channels", .int(Int64(channels))), ("content_type", .string(contentType)),
      ("size_bytes", .int(sizeBytes)),
      ("sha256", .string(sha256)), tell("pause_count"), tell("pauses"), tell("auto_pauses"), tell("gaps"),
      tell("marks"),
      tell("interruptions"),
      ("silences", .array(silences.map { .array([.int($0.lowerBound), .int($0.upperBound)]) })),
    ]
    fields += speech.fields
    fields += [
      (
        "levels",
        .object(
          levels.fields + [
            ("noise_floor_db", .rounded(noiseFloorDb, 2)), ("loudness_lufs", .rounded(loudness, 2)),
          ] + (hum.map { [("hum_hz", .int(Int64($0.hertz))), ("hum_db", .rounded($0.db, 1))] } ?? []))
      ),
      ("verdicts", .array(verdicts.map(\.json))),
      ("channel_levels", .array(channelLevels.map { .object($0.fields) })),
      ("bars", .array(bars.map { .rounded($0, 4) })), ("gap_frames", .int(story?.gapFrames ?? 0)),
      ("device_rate", .int(Int64(story?.description?.deviceRate ?? sampleRate))),
      ("parts", .int(Int64(parts))),
      ("problems", .array(problems.map(\.json))), ("measured_on", .string(measuredOn.rawValue)),
    ]
    if let drift = told["clock_drift"] { fields.append(("clock_drift", drift)) }
    if let story {
      if let context = story.description?.contextJSON { fields.append(("context", context)) }
      if let description = story.description { fields.append(("take_id", .string(description.takeID))) }
      if let ended = story.endedBy { fields.append(("ended_by", .string(ended.rawValue))) }
      let missing = Manifest.missingMs(
        frames: effectiveFrames, minValidMs: story.description?.minValidMs ?? 0)
      fields += [("too_short", .bool(missing > 0)), ("missing_ms", .int(missing))]
    }
    if outcome == .unfinished { fields.append(("recording", .bool(recording))) }
    return .object(fields)
  }
}
