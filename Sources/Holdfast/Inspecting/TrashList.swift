import Platform
import Session
import Store

/// One line of `list --trash`: a take that can be brought back, or what else an entry of the trash holds.
public struct TrashedTake: Sendable {
  public enum Kind: String, Sendable {
    /// A partial take that was discarded.
    case discarded
    /// A sealed one that another replaced.
    case replaced
    /// No take: what recovery cut off, a manifest without its take, somebody else's files.
    case rest
  }
  public var kind: Kind
  /// The folder of the takes.
  public var folder: Path
  /// The entry's name in the trash.
  public var entry: Path
  /// `NAME.opus`; of what is no take the first file's name.
  public var name: Path
  /// What is in it; nil where it is no take.
  public var take: ListedTake?
  /// What it is, where it is no take.
  public var message: String?
  /// When it was put there, ms since 1970.
  public var trashedMs: Int64
  /// How long the trash still keeps it, ms.
  public var remainingMs: Int64
  var stamp: TrashStamp
  /// A sealed take's manifest lies beside it.
  var hasManifest = false

  /// Where it is: the entry's folder.
  public var path: Path { folder.appending(Trash.name).appending(entry) }

  public var json: JSON { .object(fields) }
  /// Once it is deleted.
  public var deletedJSON: JSON { .object(fields + [("deleted", .bool(true))]) }
  private var fields: [(String, JSON)] {
    var fields =
      path.fields + [
        ("kind", .string(kind.rawValue)), ("entry", .string(entry.text)), ("name", .string(name.text)),
      ]
    if !name.isUTF8 { fields.append(("name_hex", .string(name.hex))) }
    fields += [
      ("trashed_at", .string(Stamp.rfc3339(trashedMs))), ("remaining_ms", .int(remainingMs)),
    ]
    if let take { fields += take.fields }
    if let message { fields.append(("message", .string(message))) }
    return fields
  }
}

/// The trash beside the takes of a folder: what is in it, bringing back, deleting.
public enum TakeTrash {
  /// What is in the trash of a folder, oldest entry first. What is older than 7 days is deleted before that.
  ///
  /// - Returns: also how many entries were deleted.
  public static func list(_ folder: Path) throws(RecorderFailure) -> (takes: [TrashedTake], deleted: Int) {
    let folder = folder.withoutTrailingSlash
    let trash = Trash(folder: folder)
    do throws(DiskError) {
      // Sweeping is no reason to fail: the trash may be of a disk that is read-only.
      let deleted = (try? trash.sweep())?.count ?? 0
      return (try list(trash), deleted)
    } catch { throw failure(error, folder) }
  }

  static func list(_ trash: Trash) throws(DiskError) -> [TrashedTake] {
    let (now, boot) = (Stamp.wallMilliseconds, TrashStamp.Boot.now)
    var lines: [TrashedTake] = []
    for entry in try trash.entries() where !entry.isEmpty {
      func line(_ kind: TrashedTake.Kind, _ name: Path, _ take: ListedTake?) -> TrashedTake {
        TrashedTake(
          kind: kind, folder: trash.folder, entry: entry.name, name: name, take: take, message: nil,
          trashedMs: entry.stamp.named,
          remainingMs: max(0, TrashStamp.kept - entry.stamp.age(now: now, boot: boot)), stamp: entry.stamp)
      }
      let known = (try? TakesFolder.list(trash.folder.appending(Trash.name).appending(entry.name))) ?? []
      for take in entry.takes {
        let isPartial = entry.has(.partial(take))
        // A partial and a sealed take of one name aren't put into one entry; somebody else may.
        let listed = known.first {
          if case .partial = $0.kind { $0.name == take && isPartial } else { $0.name == take && !isPartial }
        }
        guard let listed else { continue }  // it went meanwhile
        var found = line(isPartial ? .discarded : .replaced, take.audio, TakeList.read(listed))
        found.hasManifest = !isPartial && entry.has(.manifest(take))
        lines.append(found)
      }
      if entry.takes.isEmpty, let first = entry.rest.first {
        var rest = line(.rest, first, nil)
        rest.message = describe(entry)
        lines.append(rest)
      }
    }
    return lines
  }

  private static func describe(_ entry: TrashEntry) -> String {
    let names = entry.rest.map(\.display).joined(separator: ", ")
    for item in entry.items {
      switch item {
      case .cut: return "what recovery cut off or found torn: \(names)"
      case .export: return "an export that another replaced: \(names)"
      case .foreign: return "not Holdfast's, and never deleted: \(names)"
      case .manifest: return "a manifest without its take: \(names)"
      case .sealed, .partial, .dying, .note: continue
      }
    }
    return names
  }

  /// Deletes everything of Holdfast's in the trash, whatever its age.
  ///
  /// - Returns: what is gone, and what stayed since it holds somebody else's files.
  public static func empty(_ folder: Path) throws(RecorderFailure) -> (gone: [TrashedTake], kept: [Path]) {
    let folder = folder.withoutTrailingSlash
    let trash = Trash(folder: folder)
    do throws(DiskError) {
      let lines = try list(trash)
      var gone: [TrashedTake] = []
      var kept: [Path] = []
      for entry in try trash.entries() {
        if try trash.delete(entry) {
          gone += lines.filter { $0.entry == entry.name }
        } else {
          kept.append(folder.appending(Trash.name).appending(entry.name))
        }
      }
      return (gone, kept)
    } catch { throw failure(error, folder) }
  }

  /// Moves an unfinished take that nobody records to the trash, as one that is left over after a relaunch.
  ///
  /// - Parameter path: its `NAME.opus`.
  /// - Returns: the entry.
  public static func discard(_ path: Path) throws(RecorderFailure) -> Path {
    let path = path.withoutTrailingSlash
    guard let name = TakeName(naming: path.name), PartialFolder.exists(name, in: path.parent) else {
      throw RecorderFailure(
        code: 66, kind: "no_input", path: path, message: "\(path.display): no unfinished take of that name")
    }
    let place: PartialFolder
    do throws(OutputError) { place = try PartialFolder(opening: name, in: path.parent) } catch {
      throw Recovery.opening(error, folder: path.parent, name: name)
    }
    do throws(DiskError) { return try place.discard() } catch {
      throw Failures.discarding(error, place.partialPath)
    }
  }

  static func failure(_ error: DiskError, _ folder: Path) -> RecorderFailure {
    let missing = [Errno.notFound, Errno.notAFolder].contains(error.errno.code) && error.path == folder
    let code: Int32 = missing ? 66 : error.errno.isPermission ? 77 : 74
    return RecorderFailure(
      code: code, kind: code == 66 ? "no_input" : code == 77 ? "permission" : "io", path: error.path,
      message: missing ? "\(folder.display): \(error.errno.text)" : "the trash can't be used: \(error.text)")
  }
}

extension Path {
  /// What brings a take back that stood here, as a shell takes it.
  public var restoreCommand: String {
    let plain = bytes.allSatisfy {
      (0x2B...0x3A).contains($0) || (0x40...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F
        || $0 >= 0x80
    }
    let dashes = bytes.first == UInt8(ascii: "-") ? "-- " : ""
    let quoted =
      "'" + display.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    return "holdfast restore " + dashes + (plain ? display : quoted)
  }
}
