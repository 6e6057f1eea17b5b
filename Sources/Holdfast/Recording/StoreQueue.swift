import Platform
import Synchronization

/// What goes from the signal thread to the store thread, in order: packets and ledger records.
///
/// It bridges a disk that stalls for 60 s. Where it is full the signal thread waits, the ring fills, and the device
/// keeps what it has. Two buffers are swapped, so that the disk is never waited for with the lock held.
final class StoreQueue: Sendable {
  enum Entry: UInt8 { case packet, ledger }
  private struct State {
    var bytes: [UInt8] = []
    var ended = false
    var readerWaits = false
    var writerWaits = false
  }
  private let state = Mutex(State())
  private let filled = CountingSemaphore()
  private let drained = CountingSemaphore()
  private let capacity: Int
  private let wakeAt: Int
  /// How the thread behind it fares.
  let clock = DiskClock()
  /// The disk is behind a live source. One that isn't loses nothing by waiting.
  var isDiskSlow: Bool { wakeAt == 1 && clock.isSlow }

  /// - Parameters:
  ///   - capacity: bytes.
  ///   - wakeAt: bytes from which the store thread is woken. 1 for a device; more for a file, where nothing is lost
  ///     by waiting and a wake-up a packet would cost as much as the rest of the store.
  init(capacity: Int, wakeAt: Int) {
    self.capacity = capacity
    self.wakeAt = wakeAt
  }

  func push(_ kind: Entry, _ payload: Span<UInt8>) {
    while true {
      let (done, wake) = state.withLock { s -> (Bool, Bool) in
        guard s.bytes.isEmpty || s.bytes.count + payload.count + 3 <= capacity else {
          s.writerWaits = true
          defer { s.readerWaits = false }
          return (false, s.readerWaits)
        }
        s.bytes.append(kind.rawValue)
        s.bytes.append(UInt8(payload.count & 255))
        s.bytes.append(UInt8(payload.count >> 8))
        unsafe payload.withUnsafeBufferPointer { unsafe s.bytes.append(contentsOf: $0) }
        guard s.readerWaits, s.bytes.count >= wakeAt else { return (true, false) }
        s.readerWaits = false
        return (true, true)
      }
      if wake { filled.post() }
      if done { return }
      drained.wait()
    }
  }

  /// Nothing more comes.
  func end() {
    let wake = state.withLock { s in
      s.ended = true
      defer { s.readerWaits = false }
      return s.readerWaits
    }
    if wake { filled.post() }
  }

  /// Waits for entries and swaps them into `bytes`.
  ///
  /// - Returns: false at the end, with `bytes` empty.
  func take(into bytes: inout [UInt8]) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    while true {
      let (got, wake, ended) = state.withLock { s -> (Bool, Bool, Bool) in
        guard !s.bytes.isEmpty else {
          s.readerWaits = !s.ended
          return (false, false, s.ended)
        }
        swap(&s.bytes, &bytes)
        defer { s.writerWaits = false }
        return (true, s.writerWaits, false)
      }
      if wake { drained.post() }
      if got { return true }
      if ended { return false }
      filled.wait()
    }
  }
}
