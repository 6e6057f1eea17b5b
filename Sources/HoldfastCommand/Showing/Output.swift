import CPlatform
import Glibc
import Holdfast
import Platform

/// Standard output and standard error of the command.
///
/// A reader that goes away changes nothing but what is printed: the first failed write ends the printing, quietly.
final class Output {
  private var alive = true
  /// Why standard output took no more, where that isn't a reader that went away.
  private(set) var failure: Errno?
  /// Nobody reads standard output any more.
  var hasNoReader: Bool { !alive && failure == nil }
  private var buffer: [UInt8] = []

  let style = Style.output
  /// Called before something is written, and after: what is drawn on the terminal gives way meanwhile.
  var around: (@Sendable (Bool) -> Void)?

  func line(_ text: String) { append(style.safe(text) + "\n") }
  /// Lines of our own.
  func lines(_ lines: [String]) { for one in lines { line(style.own(one)) } }
  /// C1 controls, which JSON may hold as they are, are escaped too: a terminal would obey them.
  func json(_ value: JSON) {
    let line = value.line
    let isPlain =
      !line.utf8.contains(0xC2) || !line.unicodeScalars.contains { (0x80...0x9F).contains($0.value) }
    append(isPlain ? line + "\n" : Self.escaped(line) + "\n")
  }
  /// What is made for programs, as it is.
  func text(_ text: String) { append(text) }
  private func append(_ text: String) {
    buffer += text.utf8
    if buffer.count > 65_536 { flush() }
  }
  private static func escaped(_ line: String) -> String {
    line.unicodeScalars.reduce(into: "") { out, scalar in
      if (0x80...0x9F).contains(scalar.value) {
        out += "\\u00" + String(scalar.value, radix: 16)
      } else {
        out.unicodeScalars.append(scalar)
      }
    }
  }

  func flush() {
    guard !buffer.isEmpty else { return }
    around?(true)
    defer { around?(false) }
    var done = 0
    while alive, done < buffer.count {
      let n = unsafe buffer.withUnsafeBytes { raw -> Int in
        guard let base = raw.baseAddress else { return 0 }
        return unsafe write(1, base + done, raw.count - done)
      }
      if n > 0 {
        done += n
      } else if errno == EAGAIN {
        // Somebody made the pipe non-blocking: wait for room instead of spinning.
        var poll = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        _ = unsafe Glibc.poll(&poll, 1, -1)
      } else if errno != EINTR {
        if errno != EPIPE { failure = failure ?? .current }
        alive = false
      }
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// The same as the static ones, with what is drawn on the terminal out of the way.
  func error(_ text: String) { aside { Self.error(text) } }
  func note(_ text: String) { aside { Self.note(text) } }
  private func aside(_ write: () -> Void) {
    around?(true)
    write()
    around?(false)
  }

  /// One line on standard error.
  static func error(_ text: String) {
    raw(Style.error.paint("holdfast:", .bad) + " " + Style.error.safe(text) + "\n")
  }
  static func note(_ text: String) { raw(Style.error.safe(text) + "\n") }
  /// As it is: a line that is drawn over.
  static func raw(_ text: String) {
    var bytes = Array(text.utf8)
    let count = bytes.count
    _ = unsafe bytes.withUnsafeMutableBytes { unsafe write(errorDescriptor, $0.baseAddress, count) }
  }
  /// Where people's lines go: standard error as it was at the start.
  static let errorDescriptor: Int32 = max(2, holdfast_duplicate(2))
  /// C libraries that write to standard error (libmpg123 does, for a damaged MP3) are heard no more; what they say
  /// comes back as an error of theirs. Once, before a file is opened.
  static func silenceLibraries() {
    guard errorDescriptor > 2 else { return }
    let null = unsafe open("/dev/null", O_WRONLY)
    guard null >= 0 else { return }
    dup2(null, 2)
    close(null)
  }
}

/// Descriptors 0, 1 and 2 that are closed become /dev/null, so that no file of ours ever gets one of these numbers.
func fillStandardDescriptors() {
  for wanted: Int32 in 0...2 where fcntl(wanted) == -1 {
    let got = unsafe open("/dev/null", wanted == 0 ? O_RDONLY : O_WRONLY)
    if got >= 0, got != wanted {
      dup2(got, wanted)
      close(got)
    }
  }
}
private func fcntl(_ descriptor: Int32) -> Int32 { holdfast_descriptor_flags(descriptor) }

/// A variable of the environment, as bytes.
func environment(_ name: String) -> Path? {
  guard let value = unsafe getenv(name) else { return nil }
  return unsafe Path(bytes: (0..<strlen(value)).map { unsafe UInt8(bitPattern: value[$0]) })
}

/// `mm:ss`, floored; minutes don't wrap.
func clockText(_ ms: Int64) -> String {
  let seconds = ms / 1000
  func two(_ n: Int64) -> String { n < 10 ? "0\(n)" : "\(n)" }
  return "\(two(seconds / 60)):\(two(seconds % 60))"
}
/// A number with a fixed count of decimals.
func fixed(_ value: Double, _ places: Int) -> String {
  var scale: Int64 = 1
  for _ in 0..<places { scale *= 10 }
  let scaled = Int64(min(1e17, max(-1e17, value.isFinite ? (value * Double(scale)).rounded() : 0)))
  let whole = abs(scaled) / scale
  guard places > 0 else { return "\(scaled < 0 ? "-" : "")\(whole)" }
  let rest = String(abs(scaled) % scale)
  return (scaled < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: places - rest.utf8.count)
    + rest
}
