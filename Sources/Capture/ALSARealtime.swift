import CALSA
import Glibc

/// What a thread was given; nothing of it is an error where it wasn't.
public struct RealtimeGrant: Sendable, Equatable {
  /// It runs before all ordinary threads (SCHED_FIFO).
  public var isFIFO: Bool
  /// Its stack stays in memory.
  public var isStackLocked: Bool
}

/// Makes the calling thread a real-time thread as far as this user may: SCHED_FIFO, and its stack locked.
///
/// Call it once, on the capture thread, before the first read. No RLIMIT_RTTIME is set: its SIGXCPU would kill the host
/// program and its take where a driver spins; the kernel's own throttling (sched_rt_runtime_us) keeps the machine usable.
/// Allocates nothing; says nothing where it isn't allowed.
///
/// - Parameter priority: 1…99; 10 is below what sound servers and the kernel's own interrupt threads run at.
@discardableResult
public func adoptRealtime(priority: Int = 10) -> RealtimeGrant {
  let fifo = holdfast_set_fifo(Int32(min(99, max(1, priority)))) == 0
  return RealtimeGrant(isFIFO: fifo, isStackLocked: holdfast_lock_stack(128 * 1024) == 0)
}

/// Keeps `memory` from being paged out, until it is freed. For what the capture thread writes to, such as the ring.
///
/// - Returns: whether it was allowed (RLIMIT_MEMLOCK).
@discardableResult
public func lockInMemory(_ memory: RawSpan) -> Bool {
  unsafe memory.withUnsafeBytes { bytes in
    guard let base = bytes.baseAddress, bytes.count > 0 else { return true }
    return unsafe mlock(base, bytes.count) == 0
  }
}
