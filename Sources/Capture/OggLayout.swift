/// The pages of an Ogg file: where each stream of a chain lies, and what is broken between them.
///
/// libopusfile skips damage without a word, and takes a chain whose parts have the same serial number for one
/// stream. Pure, one pass, constant memory; checksums are verified, so that a false "OggS" is no page.
public struct OggLayout: Sendable, Equatable {
  /// One byte range a link; the first begins at 0, the last ends with the file.
  public private(set) var links: [Range<Int64>] = []
  public private(set) var problems: [SourceProblem] = []

  private static let mostLinks = 1_000
  private static let wastedBytes = 64 << 20  // checksums over what turned out to be no page

  struct Page {
    var flags: UInt8
    var serial: UInt32
    var sequence: UInt32
    var packets: [Range<Int>]  // in `body`, those that end on this page
    var body: [UInt8]
    var size: Int
    var isWhole: Bool
    var begins: Bool { flags & 2 != 0 }
    var ends: Bool { flags & 4 != 0 }
  }

  /// Reads one page whose head stands at `offset`.
  ///
  /// - Returns: nil where there is no page's head, or where the file ends inside the page.
  static func page(at offset: Int64, of source: ByteSource) throws(SourceError) -> Page? {
    let head = try source.read(offset, 27 + 255)
    guard head.count >= 27, head.holds("OggS"), head[4] == 0 else { return nil }
    let segments = Int(head[26])
    guard head.count >= 27 + segments else { return nil }
    var packets: [Range<Int>] = []
    var length = 0
    var start = 0
    for index in 0..<segments {
      length += Int(head[27 + index])
      if head[27 + index] < 255 {
        packets.append(start..<length)
        start = length
      }
    }
    let size = 27 + segments + length
    var whole = try source.read(offset, size)
    guard whole.count == size else { return nil }
    let stated = whole.u32(22)
    for index in 22..<26 { whole[index] = 0 }
    return Page(
      flags: head[5], serial: head.u32(14), sequence: head.u32(18), packets: packets,
      body: Array(whole[(27 + segments)...]), size: size, isWhole: checksum(whole) == stated)
  }

  public init(reading source: ByteSource) throws(SourceError) {
    var offset: Int64 = 0
    var linkStart: Int64 = 0
    var expected: [UInt32: UInt32] = [:]  // serial to the next page's number
    var inHeads = true
    var closed = true
    var pages = 0
    var wasted = 0
    var damaged = false
    while offset < source.size, wasted < OggLayout.wastedBytes {
      guard let page = try OggLayout.page(at: offset, of: source) else {
        let next = try OggLayout.nextPage(after: offset, of: source, wasted: &wasted) ?? source.size
        let start = try source.read(offset, 4)
        let isCut = next == source.size && start.holds("OggS")
        note(
          isCut ? "page_cut" : "junk", offset, next - offset,
          isCut ? "the file ends inside a page" : "bytes that belong to no page")
        damaged = true
        offset = next
        continue
      }
      guard page.isWhole else {
        wasted += page.size
        let end = offset + Int64(page.size)
        var next = end
        let follower = try source.read(end, 4)
        if end < source.size, !follower.holds("OggS") {
          next = try OggLayout.nextPage(after: offset, of: source, wasted: &wasted) ?? source.size
        }
        note("page_checksum", offset, next - offset, "a page's checksum doesn't match; it is damaged")
        damaged = true
        offset = next
        continue
      }
      if page.begins, !inHeads, links.count < OggLayout.mostLinks {
        if !closed { note("not_closed", offset, nil, "a stream of the chain ends without its end flag") }
        links.append(linkStart..<offset)
        linkStart = offset
        expected = [:]
        pages = 0
      }
      inHeads = page.begins
      if let due = expected[page.serial], page.sequence != due, !damaged {
        let missing = page.sequence &- due
        if missing < 1 << 31 {
          let which = missing == 1 ? "page number \(due) is" : "\(missing) pages from number \(due) on are"
          note("page_missing", offset, 0, "\(which) missing before here")
        } else {
          note("page_twice", offset, Int64(page.size), "page number \(page.sequence) comes again")
        }
      }
      damaged = false
      if expected.count < 64 || expected[page.serial] != nil {
        expected[page.serial] = page.sequence &+ 1
      }
      pages += 1
      if pages > 1, !page.begins, page.body.holds("OpusHead") {
        note(
          "second_head", offset, Int64(page.size),
          "a second OpusHead stands inside the stream; it isn't legal")
      }
      closed = page.ends
      offset += Int64(page.size)
    }
    links.append(linkStart..<source.size)
    if !closed { note("not_closed", nil, nil, "the last page lacks the end flag: the file wasn't closed") }
    if wasted >= OggLayout.wastedBytes {
      note("junk", offset, source.size - offset, "the rest is too damaged to map")
    }
  }

  private mutating func note(_ kind: String, _ offset: Int64?, _ bytes: Int64?, _ message: String) {
    guard problems.count < SourceLimits.problems else { return }
    problems.append(SourceProblem(kind: kind, offset: offset, bytes: bytes, message: message))
  }

  /// The next whole page behind `offset`, found by its pattern and its checksum.
  private static func nextPage(
    after offset: Int64, of source: ByteSource, wasted: inout Int
  ) throws(SourceError) -> Int64? {
    let step = 1 << 16
    var start = offset + 1
    while start < source.size, wasted < wastedBytes {
      let bytes = try source.read(start, step + 3)
      for index in 0..<max(0, bytes.count - 3)
      where bytes[index] == UInt8(ascii: "O") && bytes.holds("OggS", at: index) {
        guard wasted < wastedBytes else { return nil }
        guard let page = try page(at: start + Int64(index), of: source) else { continue }
        if page.isWhole { return start + Int64(index) }
        wasted += page.size
      }
      start += Int64(step)
    }
    return nil
  }

  // MARK: Checksum

  /// CRC-32 with the polynomial 0x04C11DB7, from the top bit down, as RFC 3533 has it.
  static func checksum(_ bytes: [UInt8]) -> UInt32 {
    let table = OggLayout.table
    var sum: UInt32 = 0
    for byte in bytes { sum = sum << 8 ^ table[Int(UInt8(truncatingIfNeeded: sum >> 24) ^ byte)] }
    return sum
  }
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index) << 24) { sum, _ in sum & 0x8000_0000 == 0 ? sum << 1 : sum << 1 ^ 0x04C1_1DB7
    }
  }
}
