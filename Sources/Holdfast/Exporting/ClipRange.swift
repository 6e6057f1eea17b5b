import Session

/// A stretch of a file's time, in milliseconds from its start.
public struct ClipRange: Sendable, Equatable {
  /// 0 or more.
  public var fromMs: Int64
  /// Behind `fromMs`; nil for the end of the file.
  public var toMs: Int64?

  /// The whole file.
  public static let all = ClipRange()

  public init(fromMs: Int64 = 0, toMs: Int64? = nil) {
    self.fromMs = fromMs
    self.toMs = toMs
  }

  /// Frames at a rate: those that begin at `fromMs` or later, and before `toMs`. `Int64.max` stands for the end.
  ///
  /// - Throws: 64 where it is no stretch.
  func frames(rate: Int) throws(RecorderFailure) -> Range<Int64> {
    let longest = Int64.max / 4_000_000_000  // milliseconds: 73 years, and no product below overflows
    guard fromMs >= 0, fromMs <= longest, (toMs ?? 0) <= longest else {
      throw RecorderFailure(code: 64, kind: "range", message: "there is no such time in a file")
    }
    let from = (fromMs * Int64(rate) + 999) / 1_000
    guard let toMs else { return from..<Int64.max }
    let to = (toMs * Int64(rate) + 999) / 1_000
    guard from < to else {
      throw RecorderFailure(
        code: 64, kind: "range",
        message:
          "the stretch from \(ClipTime.text(fromMs)) to \(ClipTime.text(toMs)) is empty: its end must lie behind its start"
      )
    }
    return from..<to
  }
}

/// Times as people write them.
public enum ClipTime {
  /// Reads `mm:ss[.mmm]` or `h:mm:ss[.mmm]`; without hours the minutes don't wrap. One to three decimals.
  ///
  /// - Returns: milliseconds; nil for anything else.
  public static func milliseconds(_ text: String) -> Int64? {
    let halves = text.split(separator: ".", omittingEmptySubsequences: false)
    let fields = halves[0].split(separator: ":", omittingEmptySubsequences: false)
    guard halves.count <= 2, (2...3).contains(fields.count) else { return nil }
    func number(_ digits: Substring, _ most: Int) -> Int64? {
      guard (1...most).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
      else { return nil }
      return Int64(digits)
    }
    guard let seconds = number(fields[fields.count - 1], 2), seconds < 60,
      let minutes = number(fields[fields.count - 2], fields.count == 3 ? 2 : 9),
      let hours = fields.count == 3 ? number(fields[0], 7) : 0, fields.count == 2 || minutes < 60
    else { return nil }
    var rest: Int64 = 0
    if halves.count == 2 {
      guard let decimals = number(halves[1], 3) else { return nil }
      rest = decimals
      for _ in halves[1].utf8.count..<3 { rest *= 10 }
    }
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000 + rest
  }
  /// `mm:ss.mmm`; minutes don't wrap.
  public static func text(_ milliseconds: Int64) -> String {
    func padded(_ value: Int64, _ digits: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
    let seconds = milliseconds / 1_000
    return "\(padded(seconds / 60, 2)):\(padded(seconds % 60, 2)).\(padded(milliseconds % 1_000, 3))"
  }
}
