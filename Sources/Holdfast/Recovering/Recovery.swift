import Platform
import Session
import Store

/// A take that recovery sealed.
public struct RecoveredTake: Sendable {
  public var take: SealedTake
  /// The most that can be lost of what the device had delivered, in ms.
  public var lostMsMax: Int64
  public var problems: [InspectProblem]

  public var json: JSON {
    var fields: [(String, JSON)] = [("event", .string("sealed"))]
    fields += take.fields + [("lost_ms_max", .int(lostMsMax))]
    if !problems.isEmpty { fields.append(("problems", .array(problems.map(\.json)))) }
    if let context = take.context { fields.append(("context", context)) }
    return .object(fields)
  }
}

/// Seals partial takes whose recorder is gone. Needs no recorder running; killed at any step, it can be run again.
public enum Recovery {
  public enum Result: Sendable {
    case recovered(RecoveredTake)
    /// Another program's file: a repaired copy was made.
    case repaired(RepairedFile)
    /// It is whole, or being recorded by someone.
    case nothingToDo(Path, String)
    case failed(RecorderFailure)
  }

  /// Recovers what a path names: a partial take (also by its `NAME.opus`), all those of a folder, or another program's
  /// damaged Ogg Opus file.
  ///
  /// - Parameters:
  ///   - path: a take, a folder, or a file.
  ///   - onMissing: told once, before the first take is touched, where the file system lacks something; with its name.
  ///   - progress: how many of how many takes are done, before each of a folder's.
  /// - Throws: where the path itself is nothing to look at.
  public static func recover(
    _ path: Path, onMissing: @escaping ([FileSystemGap], String?) -> Void = { _, _ in },
    progress: (Int, Int) -> Void = { _, _ in }
  ) throws(RecorderFailure) -> [Result] {
    var told = false
    func result(folder: Path, name: TakeName) -> Result {
      do throws(RecorderFailure) {
        return .recovered(
          try recover(folder: folder, name: name) { missing, system in
            if !told { onMissing(missing, system) }
            told = true
          })
      } catch { return .failed(error) }
    }
    let bare = path.withoutTrailingSlash
    // The audio inside a partial take stands for the take.
    if bare.name == TakeName.Inside.audio, let name = TakeName(naming: bare.parent.name),
      bare.parent.name == name.partial, PartialFolder.exists(name, in: bare.parent.parent)
    {
      return [result(folder: bare.parent.parent, name: name)]
    }
    if let name = TakeName(naming: bare.name), PartialFolder.exists(name, in: bare.parent) {
      return [result(folder: bare.parent, name: name)]
    }
    if let folder = try? Disk.openFolder(path) {
      PartialFolder.sweep(folder, path: path)
      let entries: [TakeName]
      do throws(DiskError) { entries = try TakesFolder.partials(path) } catch {
        throw Failures.recovering(error, path)
      }
      return entries.enumerated().map { i, name in
        progress(i, entries.count)
        let done = result(folder: path, name: name)
        if case .failed(let failure) = done, failure.code == 75 {
          return .nothingToDo(failure.path ?? path, "is being recorded now")
        }
        return done
      }
    }
    guard Disk.exists(path) else {
      throw RecorderFailure(
        code: 66, kind: "no_input", path: path, message: "\(path.display): no such take, file or folder")
    }
    do throws(RecorderFailure) {
      let repaired = try ForeignRepair.repair(path)
      return [repaired.written == nil ? .nothingToDo(path, repaired.message) : .repaired(repaired)]
    } catch { return [.failed(error)] }
  }
  /// - Parameters:
  ///   - folder: where the partial take lies.
  ///   - name: the take's.
  ///   - onMissing: told before it is touched, where the file system lacks something; with its name.
  /// - Throws: `busy` (75) where it is being recorded; `no_input` (66) where there is none; `unreadable` (65) where
  ///   nothing can be heard of it, with where it was put; `newer_version` (65); 74 where the disk fails.
  public static func recover(
    folder: Path, name: TakeName, onMissing: ([FileSystemGap], String?) -> Void = { _, _ in }
  ) throws(RecorderFailure) -> RecoveredTake {
    let place: PartialFolder
    do throws(OutputError) { place = try PartialFolder(opening: name, in: folder) } catch {
      throw opening(error, folder: folder, name: name)
    }
    let missing = place.missingPromises()
    if !missing.isEmpty { onMissing(missing, place.fileSystemName) }
    return try RecoveryWork(place).run()
  }

  static func opening(_ error: OutputError, folder: Path, name: TakeName) -> RecorderFailure {
    let path = folder.appending(name.audio)
    switch error {
    case .recording:
      return RecorderFailure(
        code: 75, kind: "busy", path: path,
        message: "\(path.display) is being recorded now; stop that recorder first")
    case .disk(let error) where [Errno.notFound, Errno.notAFolder].contains(error.errno.code):
      return RecorderFailure(
        code: 66, kind: "no_input", path: path, message: "\(path.display): no unfinished take of that name")
    case .disk(let error): return Failures.recovering(error, folder.appending(name.partial))
    default: return Failures.output(error, path: path)
    }
  }
}
