import Capture
import Encoding
import Platform
import Session
import Store

/// A take that came back from the trash.
public struct RestoredTake: Sendable {
  /// As it is now.
  public var take: ListedTake
  /// Where it was.
  public var entry: Path
  public var trashedMs: Int64
  /// Takes of its name that are still in the trash; this was the newest, or the one that was named.
  public var others: Int

  public var isUnfinished: Bool { take.kind == .unfinished }

  public var json: JSON {
    .object(
      [("event", .string("restored"))] + take.path.fields + take.fields + [
        ("entry", .string(entry.text)), ("trashed_at", .string(Stamp.rfc3339(trashedMs))),
        ("others", .int(Int64(others))),
      ])
  }
}

extension TakeTrash {
  /// Brings a take back from the trash, never over anything. Killed at any step, it can be done again.
  ///
  /// - Parameters:
  ///   - path: `NAME.opus` where it stood, or an entry of the trash: its name beside the takes, or its path.
  ///   - takesFolder: where a bare name is looked for too.
  /// - Throws: 66 where the trash has no such take, 73 where its name is taken, 74 or 77 where the disk refuses.
  public static func restore(_ path: Path, takesFolder: Path? = nil) throws(RecorderFailure) -> RestoredTake {
    let path = path.withoutTrailingSlash
    var wanted = Wanted(path)
    var found = try find(wanted)
    if found.isEmpty, let takesFolder, path.name == path {
      wanted.folder = takesFolder
      // A takes folder that isn't there yet has no trash: the message is about the name.
      found = (try? find(wanted)) ?? []
    }
    if let finished = try finish(wanted) { return finished }
    guard var chosen = found.first else { throw missing(path, Wanted(path)) }
    for line in found.dropFirst() where chosen.stamp.precedes(line.stamp) { chosen = line }
    return try bringBack(chosen, others: found.count - 1)
  }

  /// What a path asks for.
  private struct Wanted {
    var folder: Path
    /// The entry, where one is named.
    var entry: Path?
    /// The take, unless the entry alone tells it.
    var take: TakeName?

    init(_ path: Path) {
      if path.parent.parent.name == Trash.name {  // …/.holdfast-trash/ENTRY/NAME.opus
        (folder, entry, take) = (path.parent.parent.parent, path.parent.name, TakeName(naming: path.name))
      } else if path.parent.name == Trash.name {
        (folder, entry, take) = (path.parent.parent, path.name, nil)
      } else if TrashEntry.isName(path.name) {
        (folder, entry, take) = (path.parent, path.name, nil)
      } else {
        (folder, entry) = (path.parent, nil)
        take = TakeName(naming: path.name) ?? TakeName(audio: path.name.addingSuffix(".opus"))
      }
    }
  }

  private static func find(_ wanted: Wanted) throws(RecorderFailure) -> [TrashedTake] {
    do throws(DiskError) {
      return try list(Trash(folder: wanted.folder)).filter { line in
        line.take != nil && (wanted.entry.map { $0 == line.entry } ?? true)
          && (wanted.take.map { $0.audio == line.name } ?? true)
      }
    } catch { throw failure(error, wanted.folder) }
  }

  /// A restore that was killed between the audio and its manifest is brought to its end.
  private static func finish(_ wanted: Wanted) throws(RecorderFailure) -> RestoredTake? {
    let trash = Trash(folder: wanted.folder)
    for entry in (try? trash.entries()) ?? [] where wanted.entry.map({ $0 == entry.name }) ?? true {
      for case .manifest(let name) in entry.items
      where !entry.has(.sealed(name)) && (wanted.take.map { $0 == name } ?? true) {
        let audio = wanted.folder.appending(name.audio)
        guard trash.kindBeside(name.audio) == .file, trash.kindBeside(name.manifest) == nil,
          let bytes = try? readFile(
            trash.path(of: entry).appending(name.manifest), limit: Manifest.largest + 1),
          let manifest = try? Manifest(bytes), let file = try? ByteFile.open(audio),
          file.size == manifest.sizeBytes,
          let digest = try? Inspector.digest(file.oggBytes), digest == manifest.sha256
        else { continue }
        try putBack([name.manifest], of: entry.name, in: trash, audio)
        let back = (try? TakeList.list(wanted.folder))?.first { $0.path == audio }
        guard let back else { continue }
        return RestoredTake(take: back, entry: entry.name, trashedMs: entry.stamp.named, others: 0)
      }
    }
    return nil
  }

  private static func missing(_ path: Path, _ wanted: Wanted) -> RecorderFailure {
    let stands = wanted.take.map { Trash(folder: wanted.folder).kindBeside($0.audio) != nil } ?? false
    let folder = wanted.folder.display
    let rest = (try? TakeTrash.list(Trash(folder: wanted.folder)))?.first { line in
      line.kind == .rest && (line.entry == path.name || line.name == path.name)
    }
    if let rest {
      let place = Trash(folder: wanted.folder).folder.appending(Trash.name).appending(rest.entry)
      return RecorderFailure(
        code: 66, kind: "no_take", path: path,
        message:
          "\(path.display) is no take: it lies in \(place.display), from where you can move it yourself")
    }
    return RecorderFailure(
      code: 66, kind: "no_input", path: path,
      message: "\(path.display): the trash has no such take"
        + (stands ? ", it stands in its folder" : "")
        + "; `holdfast list --trash \(folder)` shows what there is")
  }

  private static func bringBack(_ line: TrashedTake, others: Int) throws(RecorderFailure) -> RestoredTake {
    let name = TakeName(audio: line.name)
    let trash = Trash(folder: line.folder)
    let manifest = line.hasManifest ? [name.manifest] : []
    for taken in [name.audio, name.partial] + manifest where trash.kindBeside(taken) != nil {
      throw isTaken(line, taken)
    }
    do throws(RecorderFailure) {
      try putBack(
        line.kind == .discarded ? [name.partial] : [name.audio] + manifest, of: line.entry, in: trash,
        line.folder.appending(line.name))
    } catch {
      throw error.kind == "exists" ? isTaken(line, error.path?.name ?? line.name) : error
    }
    guard var take = line.take else { throw missing(line.path, Wanted(line.path)) }
    take.path = line.folder.appending(line.name)
    return RestoredTake(take: take, entry: line.entry, trashedMs: line.trashedMs, others: others)
  }
  private static func putBack(
    _ names: [Path], of entry: Path, in trash: Trash, _ shown: Path
  ) throws(RecorderFailure) {
    do throws(DiskError) { try trash.putBack(names, of: entry) } catch {
      let (code, kind): (Int32, String) =
        error.errno.code == Errno.exists
        ? (73, "exists") : error.errno.isPermission ? (77, "permission") : (74, "io")
      throw RecorderFailure(
        code: code, kind: kind, path: code == 73 ? error.path : shown,
        message:
          "\(shown.display) can't be brought back: \(error.text); what isn't back is still in the trash")
    }
  }

  private static func isTaken(_ line: TrashedTake, _ name: Path) -> RecorderFailure {
    let there = line.folder.appending(name)
    return RecorderFailure(
      code: 73, kind: "exists", path: there,
      message:
        "\(there.display) exists, and nothing is restored over it; rename what is there, then restore again: "
        + "the trash keeps \(line.entry.display) for \(remainingText(line.remainingMs)) more")
  }

  /// Such as `6 days` or `5 hours`, floored.
  public static func remainingText(_ ms: Int64) -> String {
    let (days, hours) = (ms / 86_400_000, ms / 3_600_000)
    if days > 0 { return "\(days) day\(days == 1 ? "" : "s")" }
    return hours > 0 ? "\(hours) hour\(hours == 1 ? "" : "s")" : "less than an hour"
  }
}
