import Encoding
import Testing

@Suite struct OggReaderTests {
  private func items(_ file: [UInt8], step: Int = .max) throws -> [OggItem] {
    var reader = OggPageReader(read: bytesSource(file, step: step))
    var items: [OggItem] = []
    while let item = try reader.next() { items.append(item) }
    #expect(reader.bytesRead == file.count)
    return items
  }
  private func stretches(_ items: [OggItem]) -> [OggSkip] {
    items.compactMap { if case .skipped(let stretch) = $0 { stretch } else { nil } }
  }

  @Test(arguments: [1, 7, 27, 4_096, Int.max])
  func `pages tile the file, however the source cuts it`(step: Int) throws {
    let file = OpusFixture.good.bytes
    var end: Int64 = 0
    for item in try items(file, step: step) {
      guard case .page(let page) = item else {
        Issue.record("\(item)")
        continue
      }
      #expect(page.offset == end)
      end += Int64(page.size)
    }
    #expect(end == file.count)
  }

  @Test func `a page tells its fields and pieces`() throws {
    let packet = [UInt8](repeating: 9, count: 300)
    let page = TestPage(
      flags: 5, granule: -2, serial: 0xFEDC_BA98, sequence: .max, lacing: [255, 45, 0, 255],
      body: packet + [UInt8](repeating: 1, count: 255))
    guard case .page(let found)? = try items(page.bytes).first else {
      Issue.record("no page")
      return
    }
    #expect(found.isContinued && found.isEnd && !found.isBeginning)
    #expect(found.granule == -2 && found.serial == 0xFEDC_BA98 && found.sequence == .max)
    #expect(found.pieces.map(\.range) == [0..<300, 300..<300, 300..<555])
    #expect(found.pieces.map(\.endsPacket) == [true, true, false])
    #expect(found.endedPackets == 2)
  }

  @Test func `junk between pages is told with its place and size, and a false head in it is no page`() throws
  {
    let pages = OpusFixture.good
    let junk = [UInt8](repeating: 0x55, count: 90) + Array("OggS".utf8) + [UInt8](repeating: 0, count: 60)
    let file = pages[..<3].flatMap(\.bytes) + junk + pages[3...].flatMap(\.bytes)
    let found = try items(file)
    #expect(found.count == pages.count + 1)
    #expect(
      stretches(found) == [OggSkip(offset: Int64(pages.offsets[3]), bytes: Int64(junk.count), kind: .junk)])
  }

  @Test func `a page with a false checksum is told as damaged, with what its header claims`() throws {
    let pages = OpusFixture.good
    var file = pages.bytes
    file[pages.offsets[3] + 400] ^= 0x20
    let damaged = try #require(stretches(try items(file)).first)
    #expect(damaged.offset == pages.offsets[3] && damaged.bytes == pages[3].bytes.count)
    guard case .damagedPage(let claim) = damaged.kind else {
      Issue.record("\(damaged)")
      return
    }
    #expect(claim.sequence == pages[3].sequence && claim.granule == pages[3].granule)
  }

  @Test func `whole pages behind a false head at the end of the file are found`() throws {
    let pages = OpusFixture.good
    // It states a page longer than the rest of the file, so that libogg waits for more.
    let false65k = Array("OggS".utf8) + [UInt8](repeating: 0, count: 22) + [UInt8](repeating: 255, count: 256)
    let file = pages.dropLast().flatMap(\.bytes) + false65k + (pages.last?.bytes ?? [])
    let found = try items(file)
    #expect(found.count == pages.count + 1)
    #expect(stretches(found).map(\.bytes) == [282])
    guard case .page(let last)? = found.last else {
      Issue.record("the last page is lost")
      return
    }
    #expect(last.isEnd)
  }

  @Test(arguments: [1, 3, 4, 26, 27, 100, 8_000])
  func `a file that ends inside a page says how much of it is there`(kept: Int) throws {
    let file = OpusFixture.good[..<2].flatMap(\.bytes) + OpusFixture.good[2].bytes.prefix(kept)
    let last = try #require(stretches(try items(file)).last)
    #expect(last.bytes == kept)
    if case .cutPage = last.kind {} else { Issue.record("\(last)") }
  }

  @Test func `bytes that can't become a page aren't taken for a cut one`() throws {
    let found = stretches(try items(OpusFixture.good.bytes + Array("abc Ogg".utf8)))
    #expect(found.map(\.bytes) == [4, 3])
    #expect(found.first?.kind == .junk)
  }

  @Test func `files made of false heads come to an end`() throws {
    #expect(throws: Never.self) {
      try items(Array(repeating: Array("OggS".utf8), count: 300_000).flatMap { $0 })
    }
    let head = Array("OggS".utf8) + [UInt8](repeating: 0, count: 22) + [UInt8](repeating: 255, count: 1)
    let file = Array(repeating: head, count: 200_000).flatMap { $0 }
    #expect(throws: OpusFileError.notOpus("full of false page heads")) { try items(file) }
  }

  @Test func `what the source throws comes out`() throws {
    var reader = OggPageReader { (_: Int64, _: inout MutableRawSpan) throws(OpusFileError) -> Int in
      throw .io(5)
    }
    var thrown: OpusFileError?
    do { _ = try reader.next() } catch { thrown = error }
    #expect(thrown == .io(5))
  }
}
