import Capture
import Encoding
import Platform
import Session
import Store

/// What a wipe came to.
public struct WipeResult: Sendable, Equatable {
  /// Something that stays.
  public struct Kept: Sendable, Equatable {
    public var path: Path
    /// One clause for people.
    public var why: String
  }
  /// What is deleted: `NAME.opus` of takes, `NAME.take.json` of those that had no audio any more, the folder of those that
  /// were set aside or lay in the trash.
  public var gone: [Path] = []
  /// Takes that somebody records now: refused.
  public var recording: [Path] = []
  /// What couldn't be deleted, or may belong to the context and doesn't tell.
  public var kept: [Kept] = []

  /// Nothing that was to go is left.
  public var isComplete: Bool { recording.isEmpty && kept.isEmpty }
}

/// Looks through a folder, decides of each thing whether it is Holdfast's and wanted, and has it deleted.
struct Wiping {
  enum Wanted {
    case all
    case context(String)
  }
  /// Whose something is.
  private enum Owner {
    case context(String?)
    /// It is Holdfast's, and what told its context is lost.
    case unknown
    /// It stands where a take of that context stood, and isn't that: another file, or a damaged one.
    case instead(of: String?)
    case somebodyElse
  }

  private let folder: Path
  private let wanted: Wanted
  private var result = WipeResult()

  static func run(_ folder: Path, _ wanted: Wanted) throws(RecorderFailure) -> WipeResult {
    var wiping = Wiping(folder: folder, wanted: wanted)
    do throws(DiskError) {
      let wipe = try Wipe(folder: folder)
      if case .all = wanted { wipe.sweep() }
      for (name, identity) in try wipe.names() { wiping.take(name, identity, wipe) }
      for entry in try Trash(folder: folder).entries() { wiping.take(entry, wipe) }
      try wipe.finish()
      return wiping.result
    } catch {
      let missing = [Errno.notFound, Errno.notAFolder].contains(error.errno.code) && error.path == folder
      throw RecorderFailure(
        code: missing ? 66 : error.errno.isPermission ? 77 : 74,
        kind: missing ? "no_input" : error.errno.isPermission ? "permission" : "io", path: error.path,
        message: missing ? "\(folder.display): \(error.errno.text)" : "can't delete: \(error.text); try again"
      )
    }
  }
  private init(folder: Path, wanted: Wanted) { (self.folder, self.wanted) = (folder, wanted) }

  /// Whether it goes; what might have to and doesn't tell is kept and named.
  private mutating func goes(_ owner: Owner, _ path: Path) -> Bool {
    switch (owner, wanted) {
    case (.somebodyElse, _): return false
    case (.instead(let its), _):
      if case .context(let text) = wanted, its != text { return false }
      keep(path, "it isn't the file that its manifest tells: look into it before you delete it")
      return false
    case (_, .all): return true
    case (.context(let its), .context(let text)): return its == text
    case (.unknown, .context):
      result.kept.append(.init(path: path, why: "what told its context is lost: only wiping all deletes it"))
      return false
    }
  }

  // MARK: beside the takes

  private mutating func take(_ name: Path, _ identity: FileIdentity, _ wipe: borrowing Wipe) {
    let path = folder.appending(name)
    switch identity.kind {
    case .file where name.hasSuffix(".opus"):
      let owner = owner(sealed: TakeName(audio: name), identity, wipe)
      guard goes(owner, path) else { return }
      // The audio first: the manifest tells whose it is until it is gone.
      remove(name, identity, wipe, shown: path)
    case .file where name.hasSuffix(".take.json"):
      let audio = TakeName(audio: name.droppingSuffix(".take.json").addingSuffix(".opus"))
      let owner = owner(manifest: try? wipe.read(name, limit: Manifest.largest + 1))
      guard goes(owner, path) else { return }
      let shown = result.gone.contains(folder.appending(audio.audio)) ? nil : path
      remove(name, identity, wipe, shown: shown)
    case .file where name.bytes.starts(with: Exporter.temporary):
      // Of a killed export; one that is at work is told by its lock.
      guard case .all = wanted else { return }
      guard let file = try? wipe.open(name), (try? Disk.lock(file, path: name)) == true else {
        result.kept.append(.init(path: path, why: "it is being exported now"))
        return
      }
      remove(name, identity, wipe, shown: path)
    case .folder where name.hasSuffix(".opus.partial") && wipe.holdsTake(name):
      let take = TakeName(audio: name.droppingSuffix(".partial"))
      guard goes(owner(takeFolder: name), path) else { return }
      do throws(OutputError) {
        settle(try wipe.removePartial(take), folder.appending(take.audio), in: path)
      } catch { keep(path, Failures.output(error, path: path).message) }
    case .folder where TakeName(unreadable: name) != nil && wipe.holdsTake(name):
      guard goes(owner(takeFolder: name), path) else { return }
      do throws(DiskError) { settle(try wipe.removeSetAside(name), path, in: path) } catch {
        keep(path, error.errno.text)
      }
    case .file, .folder, .symlink, .other: return
    }
  }

  private mutating func remove(
    _ name: Path, _ seen: FileIdentity, _ wipe: borrowing Wipe, shown: Path?
  ) {
    do throws(DiskError) {
      try wipe.remove(name, seen: seen)
      if let shown { result.gone.append(shown) }
    } catch { keep(folder.appending(name), error.errno.text) }
  }
  private mutating func settle(_ outcome: Wipe.Outcome, _ shown: Path, in place: Path) {
    switch outcome {
    case .gone: if !result.gone.contains(shown) { result.gone.append(shown) }
    case .recording: result.recording.append(shown)
    case .holdsOthers(let names):
      result.gone.append(shown)
      for name in names { keep(place.appending(name), "it isn't Holdfast's") }
    }
  }
  private mutating func keep(_ path: Path, _ why: String) { result.kept.append(.init(path: path, why: why)) }

  // MARK: in the trash

  private mutating func take(_ entry: TrashEntry, _ wipe: borrowing Wipe) {
    let place = folder.appending(Trash.name).appending(entry.name)
    var going: [TrashEntry.Item] = []
    for item in entry.items {
      let isGoing =
        switch item {
        case .sealed(let take):
          goes(owner(trashed: take.manifest, in: place), place.appending(take.audio))
        case .manifest(let take):
          goes(owner(trashed: take.manifest, in: place), place.appending(take.manifest))
        case .partial(let take):
          goes(owner(takeFolder: take.partial, in: place), place.appending(take.partial))
        case .cut(let name), .export(let name): goes(.unknown, place.appending(name))
        case .dying: true  // it is on its way already
        case .foreign(let name): stays(place.appending(name))
        case .note: false
        }
      if isGoing { going.append(item) }
    }
    guard !going.isEmpty else { return }
    do throws(DiskError) {
      let kept = try wipe.remove(entry) { going.contains($0) }
      for (name, outcome) in kept where outcome != .gone {
        settle(outcome, place.appending(name), in: place.appending(name))
      }
      if !kept.contains(where: { $0.outcome == .recording }) { result.gone.append(place) }
    } catch { keep(place, error.errno.text) }
  }
  private mutating func stays(_ path: Path) -> Bool {
    if case .all = wanted { keep(path, "it isn't Holdfast's") }
    return false
  }
  private func owner(trashed manifest: Path, in place: Path) -> Owner {
    switch owner(manifest: try? readFile(place.appending(manifest), limit: Manifest.largest + 1)) {
    case .context(let text): .context(text)
    case .unknown, .instead, .somebodyElse: .unknown  // in an entry of the trash nobody else puts a NAME.opus
    }
  }

  // MARK: whose it is

  private func owner(takeFolder name: Path, in place: Path? = nil) -> Owner {
    guard let contents = try? PartialContents(folder: place ?? folder, setAside: name),
      let description = TakeStory(contents.ledger.records).description
    else { return .unknown }
    return .context(description.context)
  }
  private func owner(manifest bytes: [UInt8]?) -> Owner {
    guard let bytes else { return .somebodyElse }
    if let manifest = try? Manifest(bytes) { return .context(manifest.story.description?.context) }
    // Edited, damaged or a later version's: still Holdfast's, by what it says first.
    let isOurs = (try? JSON.read(bytes))?["format"]?.string == Manifest.format
    return isOurs ? .unknown : .somebodyElse
  }
  /// A `NAME.opus` is a take where its tags say so, or the manifest beside it tells its size.
  private func owner(sealed name: TakeName, _ identity: FileIdentity, _ wipe: borrowing Wipe) -> Owner {
    let bytes =
      (try? wipe.read(name.manifest, limit: Manifest.largest + 1))
      ?? PartialContents.waitingManifest(folder: folder, name: name, limit: Manifest.largest + 1)
    let manifest = bytes.flatMap { try? Manifest($0) }
    if let manifest, manifest.sizeBytes == identity.size {
      return .context(manifest.story.description?.context)
    }
    let its = manifest?.story.description?.context
    guard let file = try? wipe.open(name.audio), isTagged(file) else {
      return manifest == nil ? .somebodyElse : .instead(of: its)
    }
    return manifest == nil ? .unknown : .context(its)
  }
  private func isTagged(_ file: borrowing Descriptor) -> Bool {
    guard let bytes = try? ByteFile.open(descriptor: file.raw) else { return false }
    var reader = OpusStreamReader(read: bytes.oggBytes)
    guard (try? reader.nextStep()) != nil, let tags = reader.headers?.tags else { return false }
    let mark = Array("ENCODER=holdfast".utf8)
    return tags.indices.contains { tags[$0...].starts(with: mark) }
  }
}
