/// Why a text isn't JSON: what was expected, and the byte where it wasn't.
public struct JSONError: Error, Equatable, Sendable {
  public var message: String
  public var offset: Int
}

extension JSON {
  /// Reads one JSON text (RFC 8259). Hostile input costs no more than its own size: nesting stops at 64.
  ///
  /// - Parameter bytes: UTF-8; bytes that aren't become U+FFFD inside strings.
  public static func read(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    var reader = JSONReader(bytes: bytes)
    let value = try reader.value(depth: 0)
    reader.skipBlanks()
    guard reader.at == bytes.count else { throw reader.error("more follows the value") }
    return value
  }
}

private struct JSONReader {
  let bytes: [UInt8]
  var at = 0

  func error(_ message: String) -> JSONError { JSONError(message: message, offset: at) }
  private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

  mutating func skipBlanks() {
    while let b = next, b == 0x20 || b == 0x09 || b == 0x0A || b == 0x0D { at += 1 }
  }
  private mutating func expect(_ text: StaticString) throws(JSONError) {
    let wanted = Array(text.description.utf8)
    guard bytes[at...].starts(with: wanted) else { throw error("expected \(text)") }
    at += wanted.count
  }

  mutating func value(depth: Int) throws(JSONError) -> JSON {
    guard depth < 64 else { throw error("nested too deep") }
    skipBlanks()
    switch next {
    case UInt8(ascii: "{"): return try object(depth)
    case UInt8(ascii: "["): return try array(depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try expect("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try expect("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try expect("null")
      return .null
    case UInt8(ascii: "-"), (UInt8(ascii: "0")...UInt8(ascii: "9"))?: return try number()
    case nil: throw error("it ends too early")
    default: throw error("no value starts so")
    }
  }

  private mutating func object(_ depth: Int) throws(JSONError) -> JSON {
    at += 1
    var fields: [(String, JSON)] = []
    var names: Set<String> = []
    skipBlanks()
    if next == UInt8(ascii: "}") {
      at += 1
      return .object([])
    }
    while true {
      skipBlanks()
      guard next == UInt8(ascii: "\"") else { throw error("expected a field name") }
      let key = try string()
      // Readers differ in which of two they take: RFC 8259 section 4.
      guard names.insert(key).inserted else { throw error("a field name stands there twice") }
      skipBlanks()
      try expect(":")
      fields.append((key, try value(depth: depth + 1)))
      skipBlanks()
      if next == UInt8(ascii: "}") {
        at += 1
        return .object(fields)
      }
      try expect(",")
    }
  }
  private mutating func array(_ depth: Int) throws(JSONError) -> JSON {
    at += 1
    var items: [JSON] = []
    skipBlanks()
    if next == UInt8(ascii: "]") {
      at += 1
      return .array([])
    }
    while true {
      items.append(try value(depth: depth + 1))
      skipBlanks()
      if next == UInt8(ascii: "]") {
        at += 1
        return .array(items)
      }
      try expect(",")
    }
  }

  private mutating func string() throws(JSONError) -> String {
    at += 1
    var out: [UInt8] = []
    while let b = next {
      at += 1
      switch b {
      case UInt8(ascii: "\""): return String(decoding: out, as: UTF8.self)
      case UInt8(ascii: "\\"): out += try escape()
      case 0..<0x20: throw error("a control character in a string")
      default: out.append(b)
      }
    }
    throw error("a string without an end")
  }
  private mutating func escape() throws(JSONError) -> [UInt8] {
    guard let b = next else { throw error("a string without an end") }
    at += 1
    switch b {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [b]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      var code = try hex4()
      if (0xD800..<0xDC00).contains(code), bytes[at...].starts(with: Array("\\u".utf8)) {
        let back = at
        at += 2
        let low = try hex4()
        if (0xDC00..<0xE000).contains(low) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        } else {
          at = back
        }
      }
      return Array(String(Unicode.Scalar(code) ?? "\u{FFFD}").utf8)
    default: throw error("no such escape")
    }
  }
  private mutating func hex4() throws(JSONError) -> UInt32 {
    guard at + 4 <= bytes.count else { throw error("a string without an end") }
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(bytes[at])).hexDigitValue else {
        throw error("no hex digit")
      }
      code = code << 4 | UInt32(digit)
      at += 1
    }
    return code
  }

  private mutating func number() throws(JSONError) -> JSON {
    let start = at
    var whole = true
    while let b = next {
      switch b {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"): break
      case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): whole = false
      default:
        return try finish(start, whole)
      }
      at += 1
    }
    return try finish(start, whole)
  }
  private func finish(_ start: Int, _ whole: Bool) throws(JSONError) -> JSON {
    guard at - start <= 64 else { throw error("a number too long") }
    let text = String(decoding: bytes[start..<at], as: UTF8.self)
    if whole, let i = Int64(text) { return .int(i) }
    guard let d = Double(text), d.isFinite else { throw error("no number") }
    return .double(d)
  }
}
