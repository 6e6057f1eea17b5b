import Platform
import Synchronization

/// Since when store and sync wait for the disk. They write it, the signal thread reads it: nobody waits for anybody.
final class DiskClock: Sendable {
  /// A power cut loses at most 1 s while a sync takes less than this; a kill at most 50 ms while a write takes less than
  /// the other. Beyond, the bound is the stall, and the person is told.
  static let slowSync: Int64 = 400_000_000
  static let slowStore: Int64 = 100_000_000

  enum Work { case store, sync }
  private let storeSince = Atomic<Int64>(0)  // CLOCK_MONOTONIC, 0 where it doesn't wait
  private let syncSince = Atomic<Int64>(0)

  /// Does what may wait for the disk.
  func during<E: Error>(_ work: Work, _ body: () throws(E) -> Void) throws(E) {
    let now = max(1, MonotonicTime.now.nanoseconds)
    if work == .store {
      storeSince.store(now, ordering: .relaxed)
    } else {
      syncSince.store(now, ordering: .relaxed)
    }
    defer {
      if work == .store {
        storeSince.store(0, ordering: .relaxed)
      } else {
        syncSince.store(0, ordering: .relaxed)
      }
    }
    try body()
  }

  /// Any thread.
  var isSlow: Bool {
    let (store, sync) = (storeSince.load(ordering: .relaxed), syncSince.load(ordering: .relaxed))
    if store == 0, sync == 0 { return false }
    let now = MonotonicTime.now.nanoseconds
    return (store > 0 && now - store > Self.slowStore) || (sync > 0 && now - sync > Self.slowSync)
  }
}
