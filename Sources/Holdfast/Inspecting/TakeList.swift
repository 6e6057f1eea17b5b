import Capture
import Encoding
import Platform
import Session
import Store

/// One line of `list`: a take or a partial take.
public struct ListedTake: Sendable {
  public enum Kind: String, Sendable { case complete, recovered, unfinished, recording, foreign, unreadable }
  public var path: Path
  public var kind: Kind
  public var effectiveFrames: Int64
  public var sizeBytes: Int64
  public var pauseCount: Int
  public var startedMs: Int64?
  /// Milliseconds that are missing to its `minValidMs`, rounded up; 0 where it is long enough.
  public var missingMs: Int64
  /// Milliseconds that its `maxMs` still leaves; nil without such a limit, and for what isn't a take.
  public var remainingMs: Int64?
  /// Why an unfinished take that nobody records isn't sealed.
  public var interruption: InterruptionReason?
  /// The front end's own, as it was given to the recorder.
  public var contextText: String?
  public var context: JSON? { contextText.map(TakeDescription.contextJSON) }
  /// Why it can't be read.
  public var fault: String?

  public var durationMs: Int64 { milliseconds(frames: effectiveFrames) }

  public var json: JSON { .object(path.fields + fields) }
  /// All but the path.
  var fields: [(String, JSON)] {
    var fields: [(String, JSON)] = [
      ("outcome", .string(kind.rawValue)), ("duration_ms", .int(durationMs)),
      ("effective_frames", .int(effectiveFrames)), ("size_bytes", .int(sizeBytes)),
      ("pause_count", .int(Int64(pauseCount))), ("missing_ms", .int(missingMs)),
    ]
    if let remainingMs { fields.append(("remaining_ms", .int(remainingMs))) }
    if let interruption { fields.append(("reason", .string(interruption.rawValue))) }
    if let startedMs { fields.append(("started_at", .string(Stamp.rfc3339(startedMs)))) }
    if let context { fields.append(("context", context)) }
    if let fault { fields.append(("message", .string(fault))) }
    return fields
  }
}

/// The takes of a folder, without decoding or sealing anything.
public enum TakeList {
  public static func list(_ folder: Path) throws(RecorderFailure) -> [ListedTake] {
    let entries: [TakeEntry]
    do throws(DiskError) { entries = try TakesFolder.list(folder) } catch {
      if error.errno.code == Errno.notAFolder {
        throw RecorderFailure(
          code: 66, kind: "no_input", path: folder,
          message:
            "\(folder.display) is no folder; `holdfast inspect \(folder.display)` says what is in a file")
      }
      let code: Int32 = error.errno.code == Errno.notFound ? 66 : error.errno.isPermission ? 77 : 74
      throw RecorderFailure(
        code: code, kind: code == 66 ? "no_input" : code == 77 ? "permission" : "io", path: folder,
        message: "\(folder.display): \(error.errno.text)")
    }
    return entries.map(read)
  }

  static func read(_ entry: TakeEntry) -> ListedTake {
    var take = ListedTake(
      path: entry.path, kind: .foreign, effectiveFrames: 0, sizeBytes: entry.size, pauseCount: 0,
      startedMs: nil, missingMs: 0, fault: nil)
    func tell(_ story: TakeStory) {
      take.pauseCount = story.pauses.count
      take.startedMs = story.startedMs
      take.contextText = story.description?.context
      if let most = story.description?.maxMs, most > 0 {
        take.remainingMs = max(0, most - take.durationMs)
      }
      take.missingMs = Manifest.missingMs(
        frames: take.effectiveFrames, minValidMs: story.description?.minValidMs ?? 0)
    }
    switch entry.kind {
    case .sealed:
      let manifest = entry.folder.appending(entry.name.manifest)
      let bytes =
        (try? readFile(manifest, limit: Manifest.largest + 1))
        ?? PartialContents.waitingManifest(
          folder: entry.folder, name: entry.name, limit: Manifest.largest + 1)
      if let bytes, let known = try? Manifest(bytes) {
        take.kind = known.outcome == .recovered ? .recovered : .complete
        take.effectiveFrames = known.effectiveFrames
        tell(known.story)
        return take
      }
      do throws(SourceError) {
        let file = try ByteFile.open(entry.path)
        do throws(OpusFileError) {
          take.effectiveFrames = try opusFileFacts(read: file.oggBytes).frames
        } catch {
          take.kind = .unreadable
          take.fault = Inspector.failure(error, shown: entry.name.audio).message
        }
      } catch {
        take.kind = .unreadable
        take.fault = Failures.source(error, path: entry.name.audio).message
      }
    case .unreadable(let name):
      take.kind = .unreadable
      take.path = entry.folder.appending(name)
      take.fault =
        PartialContents.reason(folder: entry.folder, unreadable: name) ?? "it was set aside as unreadable"
      if let contents = try? PartialContents(folder: entry.folder, setAside: name) {
        tell(TakeStory(contents.ledger.records, clampedTo: 0))
        (take.missingMs, take.remainingMs) = (0, nil)
      }
    case .partial(let recording):
      take.kind = recording ? .recording : .unfinished
      do throws(DiskError) {
        let contents = try PartialContents(folder: entry.folder, name: entry.name)
        let file = try? Inspector.partialAudio(folder: entry.folder, name: entry.name, shown: entry.path)
        if let whole = try? PartialAudio(
          audio: file?.oggBytes, size: file?.size ?? 0, ledger: contents.ledger.records,
          tails: contents.tails)
        {
          take.effectiveFrames = whole.frames
        }
        let story = TakeStory(contents.ledger.records, clampedTo: take.effectiveFrames)
        tell(story)
        take.fault = contents.failure?.text
        if !recording { take.interruption = story.openInterruption ?? .killed }
      } catch {
        take.kind = .unreadable
        take.fault = error.text
      }
    }
    return take
  }
}
