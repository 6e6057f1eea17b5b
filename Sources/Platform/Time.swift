import CPlatform
import Glibc

/// A moment on CLOCK_MONOTONIC, in nanoseconds. Steps of the wall clock don't touch it.
public struct MonotonicTime: Comparable, Sendable {
  public let nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  public static var now: MonotonicTime { MonotonicTime(nanoseconds: read(CLOCK_MONOTONIC)) }
  /// Nanoseconds that the machine has slept since it started: CLOCK_BOOTTIME less CLOCK_MONOTONIC, to some microseconds.
  public static var asleep: Int64 { read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC) }
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  public func advanced(by nanoseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: self.nanoseconds + nanoseconds)
  }
  public var timespec: timespec {
    Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

/// Wall-clock and boot-time stamps. Never used to measure a length of audio.
public enum Stamp {
  /// Milliseconds since 1970 in UTC.
  public static var wallMilliseconds: Int64 { read(CLOCK_REALTIME) / 1_000_000 }
  /// Nanoseconds since the machine started, time asleep included.
  public static var bootNanoseconds: Int64 { read(CLOCK_BOOTTIME) }

  /// The calendar's parts of a stamp in UTC: year, month, day, hour, minute, second, milliseconds.
  ///
  /// What lies outside the years 0 to 9999, which RFC 3339 can't write, is shown as the nearest stamp inside them.
  private static func parts(_ stamp: Int64) -> [Int32] {
    let milliseconds = min(max(stamp, -62_167_219_200_000), 253_402_300_799_999)
    let rest = ((milliseconds % 1000) + 1000) % 1000
    var seconds = time_t((milliseconds - rest) / 1000)
    var t = unsafe tm()
    unsafe gmtime_r(&seconds, &t)
    return unsafe [t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, Int32(rest)]
  }
  private static func pad(_ value: Int32, _ digits: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
  /// RFC 3339 in UTC, such as `2026-11-01T09:00:00.123Z`.
  public static func rfc3339(_ milliseconds: Int64) -> String {
    let t = parts(milliseconds)
    return "\(pad(t[0], 4))-\(pad(t[1], 2))-\(pad(t[2], 2))T"
      + "\(pad(t[3], 2)):\(pad(t[4], 2)):\(pad(t[5], 2)).\(pad(t[6], 3))Z"
  }
  /// ISO 8601 basic form in UTC for file names: text order is time order. Such as `20261101T090000.123Z`.
  public static func compact(_ milliseconds: Int64) -> String {
    rfc3339(milliseconds).filter { $0 != "-" && $0 != ":" }
  }
  /// The reverse of `compact`; nil for anything else.
  public static func milliseconds(compact bytes: [UInt8]) -> Int64? {
    guard bytes.count == 20, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "."),
      bytes[19] == UInt8(ascii: "Z")
    else { return nil }
    func field(_ range: Range<Int>) -> Int? {
      let digits = bytes[range]
      guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
      return Int(String(decoding: digits, as: UTF8.self))
    }
    guard let year = field(0..<4), let month = field(4..<6), let day = field(6..<8), let hour = field(9..<11),
      let minute = field(11..<13), let second = field(13..<15), let rest = field(16..<19)
    else { return nil }
    var parts = unsafe tm()
    unsafe parts.tm_year = Int32(year - 1900)
    unsafe parts.tm_mon = Int32(month - 1)
    unsafe parts.tm_mday = Int32(day)
    unsafe parts.tm_hour = Int32(hour)
    unsafe parts.tm_min = Int32(minute)
    unsafe parts.tm_sec = Int32(second)
    return Int64(unsafe timegm(&parts)) * 1000 + Int64(rest)
  }
}

private func read(_ clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
