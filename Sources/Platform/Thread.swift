import CPlatform
import Glibc
import Synchronization

/// One POSIX thread. It takes no signals: those are the host program's business.
public final class Thread: Sendable {
  private let handle: pthread_t

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts `body` on a thread of its own.
  ///
  /// - Parameter name: at most 15 bytes, as the kernel shows it.
  public init(name: StaticString, _ body: @escaping @Sendable () -> Void) throws(Errno) {
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let boxed = unsafe Unmanaged.passRetained(Body(body))
    var made = pthread_t()
    let code = unsafe pthread_create(
      &made, nil,
      { raw in
        guard let raw = unsafe raw else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
        return nil
      }, boxed.toOpaque())
    guard code == 0 else {
      unsafe boxed.release()
      throw Errno(code)
    }
    handle = made
    _ = name.withUTF8Buffer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { text in
        guard let base = text.baseAddress else { return Int32(0) }
        return unsafe holdfast_name_thread(made, base)
      }
    }
  }

  /// Waits until the thread has ended. A thread that nobody waited for ends by itself.
  public func join() { if !joined.exchange(true, ordering: .relaxed) { pthread_join(handle, nil) } }
  private let joined = Atomic<Bool>(false)
  deinit { if !joined.load(ordering: .relaxed) { pthread_detach(handle) } }
}

/// Lets the calling thread run before ordinary ones, as far as this user may (RLIMIT_NICE); silent where not. Not a
/// real-time thread: one that has work for seconds takes nothing from the machine that others couldn't share.
public func raisePriority() { _ = holdfast_set_nice(-11) }

/// A counting semaphore. `post` is a system call at most, never a lock: it may be called on the capture thread.
@safe public final class CountingSemaphore: @unchecked Sendable {
  private let raw: UnsafeMutablePointer<sem_t>

  public init() {
    unsafe raw = .allocate(capacity: 1)
    unsafe raw.initialize(to: sem_t())
    unsafe sem_init(raw, 0, 0)
  }
  deinit {
    unsafe sem_destroy(raw)
    unsafe raw.deallocate()
  }

  public func post() { unsafe sem_post(raw) }
  public func wait() { while unsafe sem_wait(raw) != 0, Glibc.errno == EINTR {} }
  /// Waits until `deadline` on the monotonic clock at the latest.
  ///
  /// - Returns: whether it was posted.
  public func wait(until deadline: MonotonicTime) -> Bool {
    var time = deadline.timespec
    while true {
      if unsafe holdfast_sem_wait_until(raw, &time) == 0 { return true }
      if Glibc.errno != EINTR { return false }
    }
  }
}
