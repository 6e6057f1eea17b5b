#if HOLDFAST_TSAN
  import Glibc

  /// `Synchronization.Mutex` as ThreadSanitizer can see it, for `make sanitize` alone.
  ///
  /// Swift's own waits in a library that isn't instrumented, so that whatever a contended one protects looks like a race. This
  /// one is pthread's, which the sanitizer knows. Each module that locks names it `Mutex`.
  public struct SanitizedMutex<Value: ~Copyable>: Sendable {
    private let box: Box

    @safe private final class Box: @unchecked Sendable {
      let lock: UnsafeMutablePointer<pthread_mutex_t>
      var value: Value

      init(_ value: consuming sending Value) {
        self.value = value
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(lock, nil)
      }
      deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
      }
    }

    public init(_ value: consuming sending Value) { box = Box(value) }

    public borrowing func withLock<R: ~Copyable, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
      unsafe pthread_mutex_lock(box.lock)
      defer { unsafe pthread_mutex_unlock(box.lock) }
      return try body(&box.value)
    }
    public borrowing func withLockIfAvailable<R: ~Copyable, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R? {
      guard unsafe pthread_mutex_trylock(box.lock) == 0 else { return nil }
      defer { unsafe pthread_mutex_unlock(box.lock) }
      return try body(&box.value)
    }
  }
#endif
