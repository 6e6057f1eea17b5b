/// Little-endian fields, the way the ledger and the tails hold them.
extension Array where Element == UInt8 {
  public mutating func put<T: FixedWidthInteger>(_ value: T) {
    var rest = value
    for _ in 0..<(T.bitWidth / 8) {
      append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }
  public mutating func put(_ value: Double) { put(value.bitPattern) }
  public mutating func put(_ value: Float) { put(value.bitPattern) }
  /// The field at `offset`, which must lie inside.
  public func get<T: FixedWidthInteger>(_ offset: Int, as type: T.Type = T.self) -> T {
    var value: T = 0
    for i in (0..<(T.bitWidth / 8)).reversed() {
      value = (value << 8) | T(truncatingIfNeeded: self[offset + i])
    }
    return value
  }
}

/// CRC-32 as in IEEE 802.3 and zlib: polynomial 0xEDB88320 reflected, start and end inverted.
public func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
  var crc: UInt32 = 0xFFFF_FFFF
  for byte in bytes { crc = crcTable[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8) }
  return ~crc
}
private let crcTable: [UInt32] = (0..<256).map { i in
  (0..<8).reduce(UInt32(i)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
}

/// RFC 4648 section 4, with padding.
public enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  public static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count + 2) / 3 * 4)
    for i in stride(from: 0, to: bytes.count, by: 3) {
      let n = Swift.min(3, bytes.count - i)
      var group: UInt32 = 0
      for j in 0..<3 { group = group << 8 | (j < n ? UInt32(bytes[i + j]) : 0) }
      for j in 0..<4 {
        out.append(j <= n ? digits[Int(group >> UInt32(18 - 6 * j)) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
  /// - Returns: nil for a text that isn't Base64.
  public static func decode(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    guard bytes.count % 4 == 0 else { return nil }
    var values = [UInt8](repeating: 255, count: 256)
    for (i, digit) in digits.enumerated() { values[Int(digit)] = UInt8(i) }
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count / 4 * 3)
    for i in stride(from: 0, to: bytes.count, by: 4) {
      let last = i + 4 == bytes.count
      let pads = last ? bytes[(i + 2)..<(i + 4)].filter { $0 == UInt8(ascii: "=") }.count : 0
      var group: UInt32 = 0
      for j in 0..<4 {
        let value = j >= 4 - pads ? 0 : values[Int(bytes[i + j])]
        guard value != 255 else { return nil }
        group = group << 6 | UInt32(value)
      }
      for j in 0..<(3 - pads) { out.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * j))) }
    }
    return out
  }
}
