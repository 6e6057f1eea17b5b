import Platform
import Session
import Store
import Synchronization

/// What the threads that write tell of the disk.
struct DiskNews: Sendable {
  /// Who is in trouble; each on its own.
  enum Part: Sendable { case store, sync, folder }
  /// A call fails; it is tried again.
  var onTrouble: @Sendable (Part, InterruptionReason) -> Void
  /// It works again. With a path, in another folder.
  var onRecovery: @Sendable (Part, _ movedTo: Path?) -> Void
  /// It isn't tried any longer.
  var onGivenUp: @Sendable () -> Void
  var onLowDisk: @Sendable (LowDiskNotice) -> Void
  /// The file system lacks something that the take's promises rest on. Once, at the start.
  var onMissing: @Sendable ([FileSystemGap], _ fileSystem: String?) -> Void
}

/// Syncs the partial take every 500 ms, on a thread of its own: a sync can take as long as the disk likes. Before each it
/// looks whether the take's folder is still there, and how much the disk still holds.
final class SyncThread: @unchecked Sendable {
  static let interval: Int64 = 500_000_000
  private let box: PartialBox
  private let clock: DiskClock
  private let elsewhere: [Path]
  private let patience: Int64
  private let news: DiskNews
  private let stopped = CountingSemaphore()
  private var low: LowDisk
  private var lastLook = MonotonicTime.now
  private var isGone = false
  private var failingSince: MonotonicTime?
  private var reason: InterruptionReason?
  /// Why the disk was given up; to be read when the thread has ended.
  private(set) var failure: DiskError?

  /// - Parameters:
  ///   - elsewhere: folders for a take whose own has gone, the best first.
  ///   - patience: nanoseconds for which a sync that fails is tried again.
  init(
    box: PartialBox, clock: DiskClock, elsewhere: [Path], patience: Int64, bytesPerSecond: Double,
    news: DiskNews
  ) {
    self.box = box
    self.clock = clock
    self.elsewhere = elsewhere
    self.patience = patience
    self.news = news
    low = LowDisk(bytesPerSecond: bytesPerSecond)
  }
  func stop() { stopped.post() }

  func run() {
    let place = box.current.place
    var missing: [FileSystemGap] = []
    clock.during(.sync) { missing = place.missingPromises() }
    if !missing.isEmpty { news.onMissing(missing, place.fileSystemName) }
    var due = MonotonicTime.now.advanced(by: Self.interval)
    while !stopped.wait(until: due) {
      follow()
      weigh()
      sync()
      due = max(due, .now).advanced(by: Self.interval)
    }
  }

  /// A take whose folder has gone is written on in another.
  private func follow() {
    guard box.current.isGone else { return }
    if !isGone { news.onTrouble(.folder, .folderGone) }
    isGone = true
    // Where that fails it is tried again with the next sync.
    guard let path = try? box.move(into: elsewhere) else { return }
    isGone = false
    news.onRecovery(.folder, path)
  }

  private func weigh() {
    let now = MonotonicTime.now
    defer { lastLook = now }
    guard let free = box.current.place.freeBytes else { return }
    let seconds = Double(now.nanoseconds - lastLook.nanoseconds) / 1e9
    if let notice = low.look(free: free, seconds: seconds) { news.onLowDisk(notice) }
  }

  private func sync() {
    let partial = box.current
    do throws(DiskError) {
      try clock.during(.sync) { () throws(DiskError) in try partial.sync() }
      guard failingSince != nil else { return }
      (failingSince, reason) = (nil, nil)
      news.onRecovery(.sync, nil)
    } catch {
      // One that a stop comes upon is tried again by the seal, which doesn't go on without it.
      if reason != error.interruption { news.onTrouble(.sync, error.interruption) }
      reason = error.interruption
      let since = failingSince ?? .now
      failingSince = since
      if failure == nil, MonotonicTime.now >= since.advanced(by: patience) {
        failure = error
        news.onGivenUp()
      }
    }
  }
}
