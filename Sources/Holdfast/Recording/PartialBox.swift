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

  init(_ partial: PartialTake) { self.partial = Mutex(partial) }

  var current: PartialTake { partial.withLock { $0 } }
  /// It stands in another folder than it was made for.
  var isElsewhere: Bool { moved.load(ordering: .acquiring) }

  func write<E: Error>(_ body: (PartialTake) throws(E) -> Void) throws(E) {
    try writing.withLock { (_) throws(E) in try body(current) }
  }
  /// Goes on in a new partial take in `folder`, with all that the open files hold.
  ///
  /// - Returns: where the take will be.
  func move(into folder: Path) throws(DiskError) -> Path {
    try writing.withLock { (_) throws(DiskError) in
      let old = current
      let new = try old.copied(into: folder)
      partial.withLock { $0 = new }
      moved.store(true, ordering: .releasing)
      old.removeLeftovers()
      return new.place.audioPath
    }
  }
}
