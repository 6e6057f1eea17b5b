import Glibc

/// The pages of an Ogg file: where each stream of a chain lies, and what is broken between them.
///
/// libopusfile skips damage without a word, and takes a chain whose parts have the same serial number for one
/// stream. Pure, one pass, constant memory; checksums are verified, so that a false "OggS" is no page.
public struct OggLayout: Sendable, Equatable {
  /// One byte range a link, from its first page to behind its last whole one; the first begins at 0.
  public private(set) var links: [Range<Int64>] = []
  public private(set) var problems: [SourceProblem] = []

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
    var walk = OggWalk(source: source)
    try walk.run()
    links = walk.links
    problems = walk.problems
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

/// The walk itself: page after page, and over what is none.
private struct OggWalk {
  let source: ByteSource
  var links: [Range<Int64>] = []
  var problems: [SourceProblem] = []

  private var offset: Int64 = 0
  private var linkStart: Int64 = 0
  private var pagesEnd: Int64 = 0  // behind the last whole page
  private var pages = 0  // of this link
  private var expected: [UInt32: UInt32] = [:]  // serial to the next page's number
  private var inHeads = true
  private var closed = true
  private var damaged = false  // since the last whole page
  private var effort = mostEffort

  private static let mostLinks = 1_000
  /// Bytes looked at in vain, all in all. A file that is mostly junk is given up, not searched for minutes.
  private static let mostEffort = 32 << 20

  init(source: ByteSource) { self.source = source }

  mutating func run() throws(SourceError) {
    while offset < source.size {
      guard effort > 0, links.count < OggWalk.mostLinks else {
        let why = effort > 0 ? "it has more than \(links.count) streams" : "there is too much damage"
        note("rest_left_out", offset, source.size - offset, "\(why); the rest was left out")
        closed = true  // nobody knows
        break
      }
      if let page = try OggLayout.page(at: offset, of: source), page.isWhole {
        accept(page)
      } else {
        try skip()
      }
    }
    if links.count < OggWalk.mostLinks || links.isEmpty { links.append(linkStart..<pagesEnd) }
    if !closed { note("not_closed", nil, nil, "the last page lacks the end flag: the file wasn't closed") }
  }

  private mutating func accept(_ page: OggLayout.Page) {
    if page.begins, !inHeads {
      if !closed { note("not_closed", offset, nil, "a stream of the chain ends without its end flag") }
      links.append(linkStart..<offset)
      linkStart = offset
      expected = [:]
      pages = 0
    }
    if let due = expected[page.serial], page.sequence != due, !damaged {
      let missing = page.sequence &- due
      if missing < 1 << 31 {
        let which = missing == 1 ? "page number \(due) is" : "\(missing) pages from number \(due) on are"
        note("page_missing", offset, 0, "\(which) missing before here")
      } else {
        note("page_twice", offset, Int64(page.size), "page number \(page.sequence) comes again")
      }
    }
    if expected.count < 64 || expected[page.serial] != nil { expected[page.serial] = page.sequence &+ 1 }
    pages += 1
    if pages > 1, !page.begins, page.body.holds("OpusHead") {
      note(
        "second_head", offset, Int64(page.size), "a second OpusHead stands inside the stream; it isn't legal")
    }
    inHeads = page.begins
    closed = page.ends
    damaged = false
    offset += Int64(page.size)
    pagesEnd = offset
  }

  /// Steps over what is no whole page, and says what it is.
  private mutating func skip() throws(SourceError) {
    let start = try source.read(offset, 4)
    let page = try OggLayout.page(at: offset, of: source)
    var next = offset + Int64(page?.size ?? 0)
    let follower = try source.read(next, 4)
    // A page's length is true where the next page follows it.
    if page == nil || next < source.size && !follower.holds("OggS") { next = try nextPage(after: offset) }
    effort -= page?.size ?? 0
    if !start.holds("OggS") {
      note("junk", offset, next - offset, "bytes that belong to no page")
    } else if page == nil, next == source.size {
      note("page_cut", offset, next - offset, "the file ends inside a page")
    } else {
      note("page_checksum", offset, next - offset, "a page's checksum doesn't match; it is damaged")
    }
    damaged = true
    offset = next
  }

  /// The next whole page, found by its pattern and its checksum; the end where there is none.
  private mutating func nextPage(after offset: Int64) throws(SourceError) -> Int64 {
    let step = 1 << 16
    var start = offset + 1
    while start < source.size, effort > 0 {
      let bytes = try source.read(start, step + 3)
      var from = 0
      while let index = bytes.firstPage(from: from), effort > 0 {
        let place = start + Int64(index)
        let page = try OggLayout.page(at: place, of: source)
        if let page, page.isWhole {
          effort -= index
          return place
        }
        effort -= 1_024 + (page?.size ?? 0)
        from = index + 1
      }
      effort -= step
      start += Int64(step)
    }
    return effort > 0 ? source.size : min(start, source.size)
  }

  private mutating func note(_ kind: String, _ offset: Int64?, _ bytes: Int64?, _ message: String) {
    guard problems.count < SourceLimits.problems else { return }
    problems.append(SourceProblem(kind: kind, offset: offset, bytes: bytes, message: message))
  }
}

extension [UInt8] {
  /// Where the next "OggS" stands.
  fileprivate func firstPage(from start: Int) -> Int? {
    unsafe withUnsafeBytes { bytes in
      var at = start
      while bytes.count - at >= 4, let base = bytes.baseAddress {
        guard let found = unsafe memchr(base + at, 0x4F, bytes.count - at - 3) else { return nil }
        at = unsafe UnsafeRawPointer(found) - base
        if unsafe bytes[at + 1] == 0x67 && bytes[at + 2] == 0x67 && bytes[at + 3] == 0x53 { return at }
        at += 1
      }
      return nil
    }
  }
}
