import Glibc
import Platform
import Session
import Store
import Synchronization

/// The partial take that the store and sync threads share; it can be moved to another folder while it is written.
final class PartialBox: Sendable {
  private let partial: Mutex<PartialTake>
  /// Held while the store writes, and while the take moves. Never while it is synced: that may take as long as it likes.
  private let writing = Mutex<Void>(())
  private let moved = Atomic<Bool>(false)
  private let left = Mutex<[PartialTake]>([])

  init(_ partial: PartialTake) { self.partial = Mutex(partial) }

  var current: PartialTake { partial.withLock { $0 } }
  /// It stands in another folder than it was made for.
  var isElsewhere: Bool { moved.load(ordering: .acquiring) }

  func write<E: Error>(_ body: (PartialTake) throws(E) -> Void) throws(E) {
    try writing.withLock { (_) throws(E) in try body(current) }
  }
  /// Goes on in a new partial take in the first of `folders` that takes it, with all that the open files hold.
  ///
  /// - Returns: where the take will be.
  func move(into folders: [Path]) throws(DiskError) -> Path {
    try writing.withLock { (_) throws(DiskError) in
      let old = current
      let new = try Self.copy(old, into: folders)
      partial.withLock { $0 = new }
      moved.store(true, ordering: .releasing)
      left.withLock { $0.append(old) }
      old.removeLeftovers()
      return new.place.audioPath
    }
  }
  private static func copy(_ old: PartialTake, into folders: [Path]) throws(DiskError) -> PartialTake {
    var failure = DiskError(call: "mkdir", path: old.place.partialPath, errno: Errno(ENOENT))
    for (i, folder) in folders.enumerated() {
      do throws(DiskError) { return try old.copied(into: folder) } catch { if i == 0 { failure = error } }
    }
    throw failure
  }
  /// Removes what is still left where the take was before, such as behind rights that have come back.
  ///
  /// - Returns: where something stays.
  func sweep() -> [Path] {
    left.withLock { $0 }.compactMap { old in
      old.removeLeftovers()
      return old.place.isInPlace ? old.place.partialPath : nil
    }
  }
}
