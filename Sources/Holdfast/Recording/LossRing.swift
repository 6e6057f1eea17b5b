import Capture
import Synchronization

/// Losses on their way from the capture thread to the signal thread: lock-free, one writer, one reader.
@safe final class LossRing: @unchecked Sendable {
  struct Entry {
    /// Device frames delivered before the lost ones.
    var captureFrame: Int64
    var loss: CaptureLoss
  }
  private static let capacity: Int64 = 256
  private let entries: UnsafeMutablePointer<Entry>
  private let written = Atomic<Int64>(0)
  private let read = Atomic<Int64>(0)

  init() {
    unsafe entries = .allocate(capacity: Int(Self.capacity))
    unsafe entries.initialize(
      repeating: Entry(
        captureFrame: 0,
        loss: CaptureLoss(frames: 0, measuredBy: .monotonic, uncertaintyFrames: 0, cause: .overrun)),
      count: Int(Self.capacity))
  }
  deinit { unsafe entries.deallocate() }

  /// Writer only. Allocates nothing, waits for nothing.
  ///
  /// - Returns: false where the ring is full: the writer keeps the loss and adds it to the next one.
  func push(_ loss: CaptureLoss, at captureFrame: Int64) -> Bool {
    let position = written.load(ordering: .relaxed)
    guard position - read.load(ordering: .acquiring) < Self.capacity else { return false }
    unsafe entries[Int(position % Self.capacity)] = Entry(captureFrame: captureFrame, loss: loss)
    written.store(position + 1, ordering: .releasing)
    return true
  }
  /// Reader only.
  func pop() -> Entry? {
    let position = read.load(ordering: .relaxed)
    guard position < written.load(ordering: .acquiring) else { return nil }
    let entry = unsafe entries[Int(position % Self.capacity)]
    read.store(position + 1, ordering: .releasing)
    return entry
  }
}
