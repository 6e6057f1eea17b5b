/// A JSON value (RFC 8259). Objects keep the order of their fields.
public indirect enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([(String, JSON)])

  public static func == (a: JSON, b: JSON) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let x), .bool(let y)): x == y
    case (.int(let x), .int(let y)): x == y
    case (.double(let x), .double(let y)): x == y
    case (.string(let x), .string(let y)): x == y
    case (.array(let x), .array(let y)): x == y
    case (.object(let x), .object(let y)):
      x.count == y.count && zip(x, y).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 }
    default: false
    }
  }

  /// A number rounded to `places` decimals; what isn't finite is written as 0, so that output stays JSON.
  public static func rounded(_ value: Double, _ places: Int) -> JSON {
    guard value.isFinite else { return .double(0) }
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    let rounded = (value * scale).rounded() / scale
    return .double(rounded == 0 ? 0 : rounded)  // no -0.0
  }

  public subscript(_ key: String) -> JSON? {
    guard case .object(let fields) = self else { return nil }
    return fields.first { $0.0 == key }?.1
  }
  public var string: String? { if case .string(let s) = self { s } else { nil } }
  public var bool: Bool? { if case .bool(let b) = self { b } else { nil } }
  public var array: [JSON]? { if case .array(let a) = self { a } else { nil } }
  /// The whole number it is; a double only where it is one exactly.
  public var int: Int64? {
    switch self {
    case .int(let i): i
    case .double(let d): Int64(exactly: d)
    default: nil
    }
  }
  public var double: Double? {
    switch self {
    case .int(let i): Double(i)
    case .double(let d): d
    default: nil
    }
  }

  // MARK: writing

  /// One line, no blanks.
  public var line: String {
    var out: [UInt8] = []
    write(to: &out, indent: nil)
    return String(decoding: out, as: UTF8.self)
  }
  /// For people: two blanks an indent.
  public var pretty: String {
    var out: [UInt8] = []
    write(to: &out, indent: 0)
    return String(decoding: out, as: UTF8.self) + "\n"
  }

  private func write(to out: inout [UInt8], indent: Int?) {
    switch self {
    case .null: out += "null".utf8
    case .bool(let b): out += (b ? "true" : "false").utf8
    case .int(let i): out += String(i).utf8
    case .double(let d):
      out += (d.isFinite ? (d == d.rounded() && abs(d) < 1e15 ? String(Int64(d)) : "\(d)") : "0").utf8
    case .string(let s): Self.quote(s, to: &out)
    case .array(let items):
      out.append(UInt8(ascii: "["))
      for (i, item) in items.enumerated() {
        if i > 0 { out.append(UInt8(ascii: ",")) }
        item.write(to: &out, indent: nil)
      }
      out.append(UInt8(ascii: "]"))
    case .object(let fields):
      out.append(UInt8(ascii: "{"))
      for (i, (key, value)) in fields.enumerated() {
        if i > 0 { out.append(UInt8(ascii: ",")) }
        Self.newline(&out, indent.map { $0 + 1 })
        Self.quote(key, to: &out)
        out.append(UInt8(ascii: ":"))
        if indent != nil { out.append(UInt8(ascii: " ")) }
        value.write(to: &out, indent: indent.map { $0 + 1 })
      }
      if !fields.isEmpty { Self.newline(&out, indent) }
      out.append(UInt8(ascii: "}"))
    }
  }
  private static func newline(_ out: inout [UInt8], _ indent: Int?) {
    guard let indent else { return }
    out.append(UInt8(ascii: "\n"))
    out += [UInt8](repeating: UInt8(ascii: " "), count: indent * 2)
  }
  private static func quote(_ text: String, to out: inout [UInt8]) {
    let hex = Array("0123456789abcdef".utf8)
    out.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): out += "\\n".utf8
      case UInt8(ascii: "\t"): out += "\\t".utf8
      case UInt8(ascii: "\r"): out += "\\r".utf8
      case 0..<0x20, 0x7F: out += Array("\\u00".utf8) + [hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
  }
}
