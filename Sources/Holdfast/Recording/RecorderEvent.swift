import Platform
import Session
import Signal
import Store

/// A sealed take as it will stay.
public struct SealedTake: Sendable, Equatable {
  public var path: Path
  public var effectiveFrames: Int64
  public var sizeBytes: Int64
  /// Lowercase hexadecimal.
  public var sha256: String
  public var pauseCount: Int
  public var outcome: Outcome
  public var endedBy: EndedBy
  /// Milliseconds that are missing to `min_valid_ms`, rounded up to whole ones; 0 where the take is long enough.
  public var missingMs: Int64
  public var context: JSON?
  /// What the samples of the source were found to be.
  public var faults = SampleFaults()
  /// Its folder was deleted meanwhile: it stands in the default takes folder.
  public var isElsewhere = false
  /// Something a person should know though the take is safe.
  public var warning: String?

  public var durationMs: Int64 { milliseconds(frames: effectiveFrames) }
  public var tooShort: Bool { missingMs > 0 }
  public static let contentType = "audio/ogg; codecs=opus"

  /// The fields of the contract, in its order.
  public var fields: [(String, JSON)] {
    path.fields + [
      ("duration_ms", .int(durationMs)), ("effective_frames", .int(effectiveFrames)),
      ("content_type", .string(Self.contentType)), ("size_bytes", .int(sizeBytes)),
      ("sha256", .string(sha256)),
      ("pause_count", .int(Int64(pauseCount))), ("outcome", .string(outcome.rawValue)),
      ("too_short", .bool(tooShort)), ("missing_ms", .int(missingMs)),
      ("ended_by", .string(endedBy.rawValue)),
    ]
  }
}

extension Path {
  /// `path`, and `path_hex` where its bytes aren't UTF-8.
  public var fields: [(String, JSON)] {
    [("path", .string(text))] + (isUTF8 ? [] : [("path_hex", .string(hex))])
  }
}

/// What a person should look after while it records.
public enum RecorderWarning: String, Sendable {
  /// Nothing but digital zero, a constant or hiss below −72 dBFS for 2 s.
  case noSignal = "no_signal"
  /// Clipped runs, the newest of them less than 5 s ago.
  case clipping
  /// Somebody speaks, but far too low for a good take, or no sound at all gets through.
  case tooQuiet = "too_quiet"
  /// The take will be stopped soon, unless a sound comes.
  case silence
  /// The disk takes longer than the bounds allow: a kill or a power cut now could cost as much as it is behind.
  case diskSlow = "disk_slow"
}

/// What a recorder reports. Times are effective time.
public enum RecorderEvent: Sendable {
  case state(TakeState, effectiveFrames: Int64)
  case level(Level, bars: [Double])
  /// Someone began or ceased to speak.
  case speech(SpeechChange)
  /// Silence begins to be left out, or sound goes on.
  case autoPause(active: Bool, effectiveFrames: Int64)
  case mark(effectiveFrames: Int64, label: String?)
  case gap(Gap, effectiveFrames: Int64)
  /// `atFrame` is where its cause began or ended.
  case warning(RecorderWarning, active: Bool, atFrame: Int64)
  /// How long the disk still holds the take.
  case lowDisk(LowDiskNotice, effectiveFrames: Int64)
  case interrupted(InterruptionReason, effectiveFrames: Int64)
  /// - Parameter movedTo: where the take is now, if its folder was what had gone.
  case resumed(InterruptionReason, effectiveFrames: Int64, movedTo: Path?)
  /// The file system lacks what some promises rest on. Once, at the start; its name where it has one that people know.
  case filesystem([FileSystemGap], String?)
  /// Where in the trash the take is, and where it stood: `holdfast restore` takes that name.
  case discarded(Path, take: Path)
  case sealed(SealedTake)
  case failed(RecorderFailure)

  /// The contract's object; `context` comes with every one.
  public func json(context: JSON?) -> JSON {
    var fields: [(String, JSON)]
    func ms(_ frames: Int64) -> JSON { .int(milliseconds(frames: frames)) }
    switch self {
    case .state(let state, let frames):
      fields = [("event", .string("state")), ("state", .string(state.name)), ("effective_ms", ms(frames))]
      if case .interrupted(let reason, _) = state { fields.append(("reason", .string(reason.rawValue))) }
    case .level(let level, let bars):
      fields = [
        ("event", .string("level")), ("db", .rounded(level.rmsDb, 2)), ("peak_db", .rounded(level.peakDb, 2)),
        ("effective_ms", ms(level.endFrame)), ("bars", .array(bars.map { .rounded($0, 3) })),
      ]
    case .speech(let change):
      fields = [
        ("event", .string("speech")), ("speaking", .bool(change.speaking)), ("at_ms", ms(change.atFrame)),
      ]
    case .autoPause(let active, let frames):
      fields = [("event", .string("auto_pause")), ("active", .bool(active)), ("at_ms", ms(frames))]
    case .mark(let frames, let label):
      fields = [("event", .string("mark")), ("at_ms", ms(frames))]
      if let label { fields.append(("label", .string(label))) }
    case .gap(let gap, let frames):
      fields = [
        ("event", .string("gap")), ("at_ms", ms(frames)), ("length_ms", ms(gap.frames)),
        ("frames", .int(gap.frames)), ("filled", .bool(gap.filled)), ("measured_by", .string(gap.measuredBy)),
        ("uncertainty_frames", .int(gap.uncertaintyFrames)),
      ]
    case .warning(let warning, let active, let frame):
      fields = [
        ("event", .string("warning")), ("kind", .string(warning.rawValue)), ("active", .bool(active)),
        ("at_ms", ms(frame)),
      ]
    case .lowDisk(let notice, let frames):
      fields = [("event", .string("warning")), ("kind", .string("low_disk"))]
      switch notice {
      case .low(let seconds):
        fields += [("active", .bool(true)), ("at_ms", ms(frames)), ("seconds_left", .int(seconds))]
      case .enough: fields += [("active", .bool(false)), ("at_ms", ms(frames))]
      }
    case .resumed(let reason, let frames, let path):
      fields =
        [("event", .string("resumed")), ("reason", .string(reason.rawValue)), ("effective_ms", ms(frames))]
        + (path?.fields ?? [])
    case .filesystem(let missing, let name): fields = FileSystemText.fields(missing, name)
    case .interrupted(let reason, let frames):
      fields = [
        ("event", .string("interrupted")), ("reason", .string(reason.rawValue)), ("effective_ms", ms(frames)),
      ]
    case .discarded(let path, let take):
      fields = [("event", .string("discarded"))] + path.fields + [("restore", .string(take.restoreCommand))]
    case .sealed(let take): fields = [("event", .string("sealed"))] + take.fields
    case .failed(let failure):
      fields =
        [("event", .string("error")), ("code", .int(Int64(failure.code))), ("kind", .string(failure.kind))]
        + (failure.path?.fields ?? []) + [("message", .string(failure.message))]
    }
    if let context { fields.append(("context", context)) }
    return .object(fields)
  }
}

/// A failure as the command and front ends tell it.
public struct RecorderFailure: Error, Sendable, Equatable {
  /// An exit code of the contract.
  public var code: Int32
  /// snake_case, for programs.
  public var kind: String
  public var path: Path?
  /// One line: what failed, on what, why, and what to do.
  public var message: String

  public init(code: Int32, kind: String, path: Path? = nil, message: String) {
    self.code = code
    self.kind = kind
    self.path = path
    self.message = message
  }
}
