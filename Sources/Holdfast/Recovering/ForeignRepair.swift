import Capture
import Encoding
import Platform
import Store

/// What the repair of a file that isn't a take came to.
public struct RepairedFile: Sendable, Equatable {
  public var source: Path
  /// The repaired copy; nil where the source is whole.
  public var written: Path?
  /// The copy stood there already, byte for byte: nothing was written.
  public var wasThere = false
  /// 48 kHz frames that the copy decodes to, or the source where it is whole.
  public var frames: Int64
  public var channels: Int
  public var parts: Int
  /// Of the source.
  public var problems: [InspectProblem]
  /// Silence in place of lost audio, of `frames`.
  public var filledMs: Int64
  /// The most that the damage can have cost, of what the file once held; nil where nothing tells it, as of a cut file.
  public var lostMsMax: Int64?
  /// One line.
  public var message: String

  public var durationMs: Int64 { milliseconds(frames: frames) }
}

/// Repairs Ogg Opus files that other programs made.
///
/// The source is never touched. Packets are copied as they are, never encoded anew; where some are lost, silence of their
/// length takes their place, so that all that follows keeps its time.
public enum ForeignRepair {
  /// Looks at a file, and writes a repaired copy beside it where it needs one: `NAME.recovered.opus`, or the next free
  /// name. The same damage gives the same bytes; a copy that stands there already isn't written again.
  ///
  /// - Parameter path: an Ogg Opus file, or a symbolic link to one. The copy goes beside what `path` names.
  /// - Throws: 65 where it holds no audio or can't be repaired, 66 no such file, 73 and 77 the copy can't be made, 74 the
  ///   source can't be read or the copy not be written, 75 another process repairs it. Nothing is left behind then.
  public static func repair(_ path: Path) throws(RecorderFailure) -> RepairedFile {
    let file = try open(path)
    let survey = try survey(file, shown: path)
    if let refusal = survey.refusal {
      throw RecorderFailure(
        code: 65, kind: refusal.kind, path: path, message: "\(path.display): \(refusal.text)")
    }
    guard survey.needsRepair else {
      let parts = survey.facts.partCount
      let what = parts > 1 ? "a chain of \(parts) parts, each of them whole" : "whole"
      return survey.result(of: path, message: "\(path.display) is \(what): nothing to repair")
    }
    let base = base(of: path.name)
    let output: FreshFile
    do throws(DiskError) {
      output = try FreshFile(in: path.parent, hidden: Path(bytes: Array(".recovering-".utf8) + base.bytes))
    } catch { throw failure(error, source: path) }
    try write(file, survey, to: output, shown: path)
    do throws(DiskError) {
      let made = try output.commit { number in
        base.addingSuffix(number == 1 ? ".recovered.opus" : ".recovered-\(number).opus")
      }
      var result = survey.result(of: path, message: "")
      result.written = path.parent.appending(made.name)
      result.wasThere = !made.isNew
      result.message = result.story
      return result
    } catch { throw failure(error, source: path) }
  }

  /// `NAME` of `NAME.recovered.opus`: without the endings that Ogg Opus files have.
  static func base(of name: Path) -> Path {
    for ending in [".opus", ".ogg", ".oga"] where name.hasSuffix(ending) {
      return name.droppingSuffix(ending)
    }
    return name
  }

  private static func open(_ path: Path) throws(RecorderFailure) -> ByteFile {
    if let folder = try? Disk.openFolder(path.parent), Disk.identity(path.name, in: folder)?.kind == .other {
      throw Failures.source(.notAFile("a device, FIFO or socket"), path: path)
    }
    do throws(SourceError) { return try ByteFile.open(path) } catch {
      throw Failures.source(error, path: path)
    }
  }

  private static func survey(_ file: ByteFile, shown: Path) throws(RecorderFailure) -> RepairSurvey {
    do throws(OpusFileError) { return try RepairSurvey(read: file.oggBytes) } catch {
      throw Inspector.failure(error, shown: shown)
    }
  }

  private static func write(
    _ file: ByteFile, _ survey: RepairSurvey, to output: FreshFile, shown: Path
  ) throws(RecorderFailure) {
    guard let part = survey.facts.parts.first, let headers = survey.headers else {
      throw Inspector.failure(.noAudio("no part of the file can be read"), shown: shown)
    }
    var reader = OpusStreamReader(read: file.oggBytes)
    var mender = OpusMender(part, headers)
    let emit = { (bytes: [UInt8]) throws(RecorderFailure) in
      do throws(DiskError) { try output.append(bytes) } catch { throw failure(error, source: shown) }
    }
    try mender.begin(emit)
    while true {
      let step: OpusStep?
      do throws(OpusFileError) { step = try reader.nextStep() } catch {
        throw Inspector.failure(error, shown: shown)
      }
      guard let step else { break }
      try mender.take(step, emit)
    }
    try mender.finish(emit)
    guard reader.facts == survey.facts, mender.frames == survey.facts.frames else {
      throw RecorderFailure(
        code: 75, kind: "busy", path: shown,
        message: "\(shown.display) changed while it was read; nothing was made, try again once it is finished"
      )
    }
  }

  private static func failure(_ error: DiskError, source: Path) -> RecorderFailure {
    let rest = "no copy was made, \(source.display) is as it was"
    switch error.call {
    case "pwrite", "pread", "fdatasync", "fsync":
      return RecorderFailure(
        code: 74, kind: error.errno.isDiskFull ? "disk_full" : "disk_error", path: source,
        message: "can't write the repaired copy: \(error.errno.text) (\(error.call)); \(rest)")
    default:
      if error.errno.code == Errno.busy {
        return RecorderFailure(
          code: 75, kind: "busy", path: source,
          message: "\(source.display) is being repaired by another process; try again")
      }
      var failure = Failures.disk(error, at: source.parent, doing: "can't make the repaired copy in")
      failure.path = source
      failure.message += "; \(rest)"
      return failure
    }
  }
}

extension RepairedFile {
  /// A line of `recover --json`.
  public var json: JSON {
    var fields: [(String, JSON)] = [("event", .string("repaired"))]
    fields += (written ?? source).fields
    fields += [("source", .string(source.text))]
    if !source.isUTF8 { fields.append(("source_hex", .string(source.hex))) }
    fields += [
      ("duration_ms", .int(durationMs)), ("effective_frames", .int(frames)),
      ("channels", .int(Int64(channels))),
      ("parts", .int(Int64(parts))), ("content_type", .string(SealedTake.contentType)),
      ("filled_ms", .int(filledMs)),
    ]
    if let lostMsMax { fields.append(("lost_ms_max", .int(lostMsMax))) }
    fields.append(("problems", .array(problems.map(\.json))))
    fields.append(("message", .string(message)))
    return .object(fields)
  }
}
