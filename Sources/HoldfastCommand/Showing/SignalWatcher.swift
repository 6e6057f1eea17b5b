import CPlatform
import Glibc
import Platform

/// Takes the process's signals on a thread of its own and hands them on as plain calls.
///
/// Made before anything else starts, so that a signal that comes early waits instead of killing.
struct SignalWatcher {
  /// XCPU too: `ulimit -t` is a wish to end, and the kill comes a second later.
  private static let stops = [SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXCPU]
  private let watched: [Int32]

  /// Blocks the signals for every thread. INT, TERM and QUIT are stops even where they were ignored at the start (a
  /// script's `&`); HUP isn't where it was ignored (nohup).
  init() {
    let hangup = holdfast_is_ignored(SIGHUP) == 0
    watched = Self.stops.filter { $0 != SIGHUP || hangup } + [SIGUSR1, SIGUSR2]
    var set = Self.set(watched)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    for signal in watched { holdfast_set_default(signal) }
  }

  private static func set(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    return set
  }

  /// Calls the closures on the watcher's thread until the process ends.
  func start(
    stop: @escaping @Sendable () -> Void, toggle: @escaping @Sendable () -> Void,
    mark: @escaping @Sendable () -> Void
  ) throws(Errno) {
    try start { signal in
      switch signal {
      case SIGUSR1: toggle()
      case SIGUSR2: mark()
      default: stop()
      }
    }
  }
  /// Hands on the number of each signal that comes.
  func start(_ received: @escaping @Sendable (Int32) -> Void) throws(Errno) {
    let watched = watched
    _ = try Thread(name: "hf-signals") {
      var set = Self.set(watched)
      while true {
        var signal: Int32 = 0
        guard unsafe sigwait(&set, &signal) == 0 else { continue }
        received(signal)
      }
    }
  }

  /// Ends the process by a signal that was held back, as if it had come now.
  static func die(of signal: Int32) -> Never {
    var set = set([signal])
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(signal)
    exit(128 + signal)
  }
}
