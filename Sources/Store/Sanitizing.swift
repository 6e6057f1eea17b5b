#if HOLDFAST_TSAN
  import Platform

  typealias Mutex = SanitizedMutex
#endif
