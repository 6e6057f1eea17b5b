import CPlatform
import Glibc
import Holdfast
import Platform

/// Standard output and standard error of the command.
///
/// A reader that goes away changes nothing but what is printed: the first failed write ends the printing, quietly.
final class Output {
  private var alive = true
  private var buffer: [UInt8] = []

  func line(_ text: String) {
    buffer += text.utf8
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count > 65_536 { flush() }
  }
  func json(_ value: JSON) { line(value.line) }

  func flush() {
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
        alive = false
      }
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// One line on standard error.
  static func error(_ text: String) { raw("holdfast: \(text)\n") }
  static func note(_ text: String) { raw("\(text)\n") }
  static func raw(_ text: String) {
    var bytes = Array(text.utf8)
    let count = bytes.count
    _ = unsafe bytes.withUnsafeMutableBytes { unsafe write(2, $0.baseAddress, count) }
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
  let scaled = Int64((value * Double(scale)).rounded())
  let whole = abs(scaled) / scale
  guard places > 0 else { return "\(scaled < 0 ? "-" : "")\(whole)" }
  let rest = String(abs(scaled) % scale)
  return (scaled < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: places - rest.utf8.count)
    + rest
}
/// Heights 0…1 as block characters.
func blocks(_ bars: [Double]) -> String {
  let steps = Array(" ▁▂▃▄▅▆▇█")
  return String(bars.map { steps[min(8, max(0, Int(($0 * 8).rounded(.up))))] })
}
