import Platform
import Session
import Store

/// The takes of one folder: what a front end shows after a launch, and what it can do with them.
///
/// Holds no state but the path: every call looks at the disk anew. Any thread; several may call at once, and other
/// processes may record into the folder meanwhile.
public struct TakeStore: Sendable {
  public let folder: Path

  /// - Parameter folder: need not exist yet; every call says then that it isn't there (`no_input`, 66).
  public init(folder: Path) { self.folder = folder.withoutTrailingSlash }

  // MARK: looking

  /// Everything that looks like a take, by name, also other programs' `NAME.opus`. Changes nothing.
  ///
  /// - Throws: 66 where there is no such folder, 77 permission, 74 where the disk fails.
  /// - Complexity: nothing is decoded. A sealed take costs its manifest, 0.15 ms; one without a manifest, and a partial
  ///   take, a pass over its pages: about 15 ms for each hour.
  public func takes() throws(RecorderFailure) -> [ListedTake] { try TakeList.list(folder) }

  /// The takes that wait for something to be done with them: sealed, unfinished and unreadable ones. Changes nothing.
  ///
  /// `effectiveFrames` of an unfinished take is what `recover` would seal. One that is being recorded now has kind
  /// `recording`; of the others `interruption` says why they aren't sealed.
  /// - Parameter context: only those of this very text, as it was given to the recorder; nil for all. What doesn't tell
  ///   its context any more, such as a take whose ledger is lost, is only among all.
  /// - Throws: as `takes`.
  public func pending(context: String? = nil) throws(RecorderFailure) -> [ListedTake] {
    try takes().filter { $0.kind != .foreign && (context == nil || $0.contextText == context) }
  }

  // MARK: saving

  /// Seals all unfinished takes that nobody records. Killed at any step, it can be called again.
  ///
  /// - Parameters:
  ///   - context: only those of this text; nil for all.
  ///   - onMissing: told once, before the first take is touched, where the file system lacks something; with its name.
  /// - Throws: as `takes`; what becomes of each take is in the results.
  public func recover(
    context: String? = nil, onMissing: ([FileSystemGap], String?) -> Void = { _, _ in }
  ) throws(RecorderFailure) -> [Recovery.Result] {
    var results: [Recovery.Result] = []
    var told = false
    for take in try pending(context: context) {
      switch take.kind {
      case .recording: results.append(.nothingToDo(take.path, "is being recorded now"))
      case .unfinished:
        do throws(RecorderFailure) {
          results.append(
            .recovered(
              try recover(take.path) { missing, system in
                if !told { onMissing(missing, system) }
                told = true
              }))
        } catch { results.append(.failed(error)) }
      case .complete, .recovered, .foreign, .unreadable: break
      }
    }
    return results
  }
  /// Seals one unfinished take.
  ///
  /// - Parameters:
  ///   - take: its `NAME.opus`, in this folder.
  ///   - onMissing: told before it is touched, where the file system lacks something; with its name.
  /// - Throws: what `Recovery.recover(folder:name:)` does.
  public func recover(
    _ take: Path, onMissing: ([FileSystemGap], String?) -> Void = { _, _ in }
  ) throws(RecorderFailure) -> RecoveredTake {
    guard let name = TakeName(naming: take.withoutTrailingSlash.name) else {
      throw RecorderFailure(
        code: 66, kind: "no_input", path: take, message: "\(take.display): no unfinished take of that name")
    }
    return try Recovery.recover(folder: folder, name: name, onMissing: onMissing)
  }

  // MARK: the trash

  /// What the trash beside the takes holds, oldest entry first. What is older than 7 days is deleted before that.
  ///
  /// - Throws: 66, 74 or 77.
  public func trash(context: String? = nil) throws(RecorderFailure) -> [TrashedTake] {
    try TakeTrash.list(folder).takes.filter { context == nil || $0.take?.contextText == context }
  }
  /// Moves an unfinished take that nobody records to the trash.
  ///
  /// - Parameter take: its `NAME.opus`, in this folder.
  /// - Returns: the entry of the trash.
  /// - Throws: 66 where there is none, 75 where it is being recorded, 74 or 77 where the disk refuses.
  public func discard(_ take: Path) throws(RecorderFailure) -> Path {
    try TakeTrash.discard(folder.appending(take.withoutTrailingSlash.name))
  }
  /// Brings a take back, never over anything.
  ///
  /// - Parameter name: `NAME.opus` as it stood in this folder, or an entry's name.
  /// - Throws: 66 where the trash has no such take, 73 where its name is taken, 74 or 77 where the disk refuses.
  public func restore(_ name: Path) throws(RecorderFailure) -> RestoredTake {
    try TakeTrash.restore(folder.appending(name.withoutTrailingSlash.name))
  }

  // MARK: deleting for good

  /// Deletes all takes of a context, sealed, unfinished, set aside and in the trash, with all that belongs to them.
  ///
  /// - Parameter context: the text that was given to the recorder.
  /// - Returns: what is gone, what isn't, and why; killed meanwhile, call it again.
  /// - Throws: 66, 74 or 77 for the folder itself, 74 also where the disk doesn't take the removal of the names.
  public func wipe(context: String) throws(RecorderFailure) -> WipeResult {
    try Wiping.run(folder, .context(context))
  }
  /// Deletes all of Holdfast's in the folder, the trash included. Where the result `isComplete`, no byte of audio that
  /// Holdfast recorded is left in it; what was exported under another name than `NAME.opus` is the person's own.
  ///
  /// - Returns, Throws: as `wipe(context:)`.
  public func wipeAll() throws(RecorderFailure) -> WipeResult { try Wiping.run(folder, .all) }
}
