import CPlatform
import Glibc
import Platform

/// How people's text looks on one of the standard streams: width, colours, characters. Made once; pure behind that.
struct Style: Sendable, Equatable {
  /// A terminal that isn't dumb: lines may be drawn over, colours are possible.
  var isTerminal = false
  var hasColours = false
  /// The locale is UTF-8; without it our own signs are ASCII, and on a terminal everything is.
  var isUnicode = true
  /// Columns of the terminal; nil where there is none.
  var columns: Int?
  /// Columns that running text is broken at.
  var textWidth: Int { max(20, min(columns ?? 100, 100)) }

  /// - Parameters:
  ///   - isatty: whether the stream is a terminal, and how wide.
  ///   - variable: the environment.
  init(isatty: Bool, columns: Int, _ variable: (String) -> Path?) {
    func text(_ name: String) -> String? { variable(name).map(\.text).flatMap { $0.isEmpty ? nil : $0 } }
    isTerminal = isatty && text("TERM") != nil && text("TERM") != "dumb"
    hasColours = isTerminal && text("NO_COLOR") == nil
    let locale = (text("LC_ALL") ?? text("LC_CTYPE") ?? text("LANG") ?? "").lowercased()
    isUnicode = locale.contains("utf-8") || locale.contains("utf8")
    if isatty { self.columns = columns > 0 ? columns : 80 }
  }
  init() {}

  static let output = Style(isatty: isatty(1) == 1, columns: terminalWidth(1), environment)
  static let error = Style(
    isatty: isatty(Output.errorDescriptor) == 1, columns: terminalWidth(Output.errorDescriptor), environment)

  // MARK: colours, one meaning each

  enum Tone: Sendable { case plain, good, warning, bad, strong, faint }

  func paint(_ text: String, _ tone: Tone) -> String {
    guard hasColours, !text.isEmpty, let code = Self.codes[tone] else { return text }
    return "\u{1B}[\(code)m\(text)\u{1B}[0m"
  }
  func strong(_ text: String) -> String { paint(text, .strong) }
  private static let codes: [Tone: String] = [
    .good: "32", .warning: "33", .bad: "31", .strong: "1", .faint: "2",
  ]

  // MARK: characters

  var ellipsis: String { isUnicode ? "…" : "..." }
  /// Heights 0…1 as block characters.
  func blocks(_ bars: [Double]) -> String {
    let steps = Array(isUnicode ? " ▁▂▃▄▅▆▇█" : " .:-=+*#@")
    return String(bars.map { steps[min(8, max(0, Int(($0 * 8).rounded(.up))))] })
  }
  /// Text of our own, with its signs as the locale has them.
  func own(_ text: String) -> String {
    guard !isUnicode else { return text }
    return String(text.flatMap { $0 == "…" ? "..." : $0 == "−" ? "-" : $0 == "±" ? "+-" : "\($0)" })
  }
  /// What may go to the stream: no control character but our own colours', on an ASCII terminal nothing but ASCII.
  func safe(_ text: String) -> String {
    let onlyASCII = columns != nil && !isUnicode
    guard text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }) else { return text }
    let scalars = Array(text.unicodeScalars)
    var out = String.UnicodeScalarView()
    var i = 0
    while i < scalars.count {
      let value = scalars[i].value
      if value == 0x1B, let length = Self.colourLength(scalars[i...]), hasColours {
        out.append(contentsOf: scalars[i..<(i + length)])
        i += length
        continue
      }
      let isControl = value < 0x20 || (0x7F...0x9F).contains(value) || Self.turns(value)
      out.append(isControl || onlyASCII && value > 0x7F ? (isUnicode ? "\u{FFFD}" : "?") : scalars[i])
      i += 1
    }
    return String(out)
  }
  /// Signs that turn the writing direction around: a name could look like another.
  private static func turns(_ value: UInt32) -> Bool {
    (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value) || value == 0x2028
      || value == 0x2029
  }
  private static func colourLength(_ scalars: ArraySlice<Unicode.Scalar>) -> Int? {
    let text = scalars.prefix(5)
    guard text.dropFirst().first == "[", let end = text.firstIndex(of: "m") else { return nil }
    let code = String(String.UnicodeScalarView(text.dropFirst(2).prefix(while: { $0 != "m" })))
    return code == "0" || codes.values.contains(code) ? end - text.startIndex + 1 : nil
  }
}

func terminalWidth(_ descriptor: Int32) -> Int { Int(holdfast_terminal_width(descriptor)) }
