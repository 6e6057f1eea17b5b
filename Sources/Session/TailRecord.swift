/// The bytes of a tail: packets that aren't in a synced page yet. `docs/ARCHITECTURE.md` draws them.
public enum Tail {
  public static let magic = Array("HFtail\u{0}\u{1}".utf8)
  public static let headerSize = 16
  public static let recordHeaderSize = 16

  /// - Parameter generation: grows by one with each tail begun, so that the older of two is known.
  public static func header(generation: UInt32) -> [UInt8] {
    var bytes = magic
    bytes.put(generation)
    bytes.put(crc32(bytes[...]))
    return bytes
  }

  /// One packet. `index` counts the stream's audio packets from 0.
  public static func append(packet: ArraySlice<UInt8>, index: Int64, to bytes: inout [UInt8]) {
    var record: [UInt8] = []
    record.put(UInt32(packet.count))
    record.put(index)
    record += packet
    let crc = crc32(record[...])
    bytes.put(crc)
    bytes += record
  }
}

/// What a tail's bytes hold.
public struct TailContents: Sendable, Equatable {
  public var generation: UInt32?
  public var packets: [(index: Int64, bytes: [UInt8])] = []
  /// Bytes that belong to no whole record.
  public var tornBytes = 0
  /// They are the beginning of one record that was being written: what a kill may leave.
  public var isTornWrite = false
  /// No packet has an index beyond this: 24 hours a day for 500 years.
  static let largestIndex: Int64 = 1 << 40

  public static func == (a: Self, b: Self) -> Bool {
    a.generation == b.generation && a.tornBytes == b.tornBytes && a.packets.count == b.packets.count
      && zip(a.packets, b.packets).allSatisfy { $0.index == $1.index && $0.bytes == $1.bytes }
  }

  /// Reads all whole, checksummed records; one that is damaged but tells its size is passed over. Their indices rise; those between two that don't follow on one
  /// another came together with the page that holds them, while this tail couldn't be left yet.
  public init(_ bytes: [UInt8]) {
    guard bytes.count >= Tail.headerSize, bytes.starts(with: Tail.magic),
      bytes.get(12, as: UInt32.self) == crc32(bytes[0..<12])
    else {
      tornBytes = bytes.count
      isTornWrite = (1..<Tail.headerSize).contains(bytes.count)
      return
    }
    generation = bytes.get(8)
    var at = Tail.headerSize
    while bytes.count - at >= Tail.recordHeaderSize {
      let size = Int(bytes.get(at + 4, as: UInt32.self))
      let index: Int64 = bytes.get(at + 8)
      let end = at + Tail.recordHeaderSize + size
      guard size <= 1_276 else { break }
      guard end <= bytes.count else {
        isTornWrite = tornBytes == 0
        break
      }
      if bytes.get(at, as: UInt32.self) == crc32(bytes[(at + 4)..<end]),
        (0..<Self.largestIndex).contains(index),
        packets.last.map({ index > $0.index }) ?? true
      {
        packets.append((index, Array(bytes[(at + Tail.recordHeaderSize)..<end])))
      } else {
        tornBytes += end - at
      }
      at = end
    }
    if bytes.count - at < Tail.recordHeaderSize { isTornWrite = tornBytes == 0 }
    tornBytes += bytes.count - at
    if tornBytes == 0 { isTornWrite = false }
  }
}
