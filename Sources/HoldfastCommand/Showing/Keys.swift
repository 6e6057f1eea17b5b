import CPlatform
import Glibc
import Platform
import Synchronization

/// Reads single keys from the terminal on standard input, and puts the terminal back as it was.
final class Keys: Sendable {
  enum Key { case toggle, mark, stop, almostDiscard, discard }
  private let saved: termios
  private let endRead: Int32
  private let endWrite: Int32
  private let restored = Atomic<Bool>(false)

  /// - Returns: nil where standard input is no terminal that we are in the foreground of.
  init?(_ pressed: @escaping @Sendable (Key) -> Void) {
    var mode = termios()
    guard isatty(0) == 1, tcgetpgrp(0) == getpgrp(), unsafe tcgetattr(0, &mode) == 0 else { return nil }
    saved = mode
    var ends: [Int32] = [0, 0]
    guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress) }) == 0 else { return nil }
    (endRead, endWrite) = (ends[0], ends[1])
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)  // ISIG stays: ctrl-C is a signal
    unsafe tcsetattr(0, TCSANOW, &mode)
    let end = endRead
    guard (try? Thread(name: "hf-keys") { Self.read(end, pressed) }) != nil else {
      restore()
      return nil
    }
  }

  private static func read(_ end: Int32, _ pressed: (Key) -> Void) {
    var lastX: MonotonicTime?
    while true {
      var polls = [
        pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: end, events: Int16(POLLIN), revents: 0),
      ]
      let code = unsafe polls.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, 2, -1) }
      if code < 0, errno == EINTR { continue }
      if code < 0 || polls[1].revents != 0 { return }
      var byte: UInt8 = 0
      guard unsafe Glibc.read(0, &byte, 1) == 1 else { return }  // the terminal is gone: HUP says the rest
      switch byte {
      case UInt8(ascii: " "): pressed(.toggle)
      case UInt8(ascii: "m"): pressed(.mark)
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "q"), 4: pressed(.stop)
      case UInt8(ascii: "x"):
        if let last = lastX, MonotonicTime.now < last.advanced(by: 2_000_000_000) {
          pressed(.discard)
        } else {
          pressed(.almostDiscard)
        }
        lastX = .now
        continue
      default: break
      }
      lastX = nil
    }
  }

  /// Puts the terminal back. In every ending, once.
  func restore() {
    guard !restored.exchange(true, ordering: .relaxed) else { return }
    var mode = saved
    unsafe tcsetattr(0, TCSANOW, &mode)
    var byte: UInt8 = 0
    _ = unsafe write(endWrite, &byte, 1)
  }
}
