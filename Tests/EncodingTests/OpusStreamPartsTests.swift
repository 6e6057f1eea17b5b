import Testing

@testable import Encoding

/// Chains, and headers that are wrong (the good stream's audio behind other headers).
@Suite struct OpusStreamPartsTests {
  static let two = OpusFixture.encode(frames: 96_000, serial: 31)
  static let three = OpusFixture.encode(frames: 144_000, serial: 32)
  let good = OpusFixture.good

  private func thrown(_ pages: [TestPage]) -> OpusFileError? {
    do {
      _ = try opusFileFacts(read: bytesSource(pages.bytes))
      return nil
    } catch { return error }
  }

  @Test func `a chain is as long as its parts together`() throws {
    let file = Self.two + Self.three
    let decoded = try decode(file)
    let facts = try #require(decoded.facts)
    #expect(
      facts.frames == 240_000 && facts.partCount == 2 && facts.parts.map(\.frames) == [96_000, 144_000])
    #expect(kinds(facts) == [.chained] && !facts.audioAffected && facts.problems[0].atFrame == 96_000)
    #expect(facts.parts.map(\.offset) == [0, Int64(Self.two.count)])
    #expect(decoded.samples == (try decode(Self.two)).samples + (try decode(Self.three)).samples)
  }
  @Test func `a chain with one serial number is too`() throws {
    let decoded = try decode(Self.two + OpusFixture.encode(frames: 144_000, serial: 31))
    #expect(decoded.frames == 240_000 && decoded.facts?.partCount == 2)
  }
  @Test func `later parts are fitted to the channels of the first`() throws {
    let stereo = OpusFixture.encode(frames: 144_000, channels: 2, serial: 33)
    let plain = try decode(stereo).samples
    let toMono = try decode(Self.two + stereo)
    #expect(toMono.channels == 1 && toMono.frames == 240_000)
    #expect(
      toMono.samples[96_000...].enumerated().allSatisfy { $1 == (plain[2 * $0] + plain[2 * $0 + 1]) / 2 })
    let toStereo = try decode(stereo + Self.two)
    let mono = try decode(Self.two).samples
    #expect(toStereo.channels == 2 && toStereo.frames == 240_000)
    #expect(
      mono.indices.allSatisfy {
        toStereo.samples[288_000 + 2 * $0] == mono[$0] && toStereo.samples[288_001 + 2 * $0] == mono[$0]
      })
    #expect(toStereo.facts?.parts.map(\.head.channels) == [2, 1])
  }
  @Test func `a part that is cut inside a chain is named`() throws {
    let facts = try facts(good.bytes.prefix(20_000) + Self.two)
    #expect(facts.partCount == 2 && facts.audioAffected && facts.parts[1].frames == 96_000)
    #expect(kinds(facts) == [.damagedPage, .notClosed, .chained])
  }
  @Test func `a head without audio in front of a chain is no part`() throws {
    let facts = try facts(Array(good.bytes.prefix(47)) + Self.two)
    #expect(facts.frames == 96_000 && facts.partCount == 1 && kinds(facts) == [.emptyPart])
  }
  @Test func `a later part with an illegal head is left out and named`() throws {
    var bad = [TestPage].reading(Self.three)
    bad[0].body = OpusFixture.head(channels: 0)
    let facts = try facts(Self.two + bad.bytes)
    #expect(facts.frames == 96_000 && kinds(facts).contains(.headerHead) && facts.audioAffected)
  }
  @Test func `a stream beside the first is left out`() throws {
    var other = [TestPage].reading(Self.three)
    other.removeFirst()
    let head = TestPage(flags: 2, granule: 0, serial: 32, sequence: 0, packets: [Array("fishead".utf8)])
    var pages = [good[0], head] + Array(good[1...])
    for (i, page) in other.enumerated() { pages.insert(page, at: 3 + 2 * i) }
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && kinds(facts) == [.otherStream] && facts.partCount == 1)
  }

  @Test(arguments: [0, 2])
  func `a second head inside the stream is left out and named`(flags: UInt8) throws {
    var pages = good
    pages.insert(TestPage(flags: flags, granule: 48_000, sequence: 3, packets: [OpusFixture.head()]), at: 3)
    for i in 4..<pages.count where flags == 0 { pages[i].sequence += 1 }
    let decoded = try decode(pages.bytes)
    let facts = try #require(decoded.facts)
    #expect(
      facts.frames == 240_000 && kinds(facts) == [.secondHead] && !facts.audioAffected && facts.partCount == 1
    )
    #expect(facts.problems[0].offset == Int64(pages.offsets[3]))
    #expect(decoded.samples == (try decode(good.bytes)).samples)
  }
  @Test func `a head page that comes twice is dropped`() throws {
    let facts = try facts([good[0]] + good)
    #expect(facts.frames == 240_000 && kinds(facts) == [.duplicatePage])
  }
  @Test func `audio on the tags page that the positions don't count is left out and named`() throws {
    var pages = OpusFixture.stream(head: OpusFixture.head(), tags: OpusFixture.tags())
    pages[1] = TestPage(
      flags: 0, granule: 0, sequence: 1, packets: [OpusFixture.tags(), [0xF8, 0xFF, 0xFE]])
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && kinds(facts) == [.audioOnTagsPage] && !facts.audioAffected)
    for i in 2..<pages.count { pages[i].granule += 960 }
    let counted = try decode(pages.bytes)
    #expect(counted.frames == 240_960 && counted.facts.map(kinds) == [.audioOnTagsPage])
  }
  @Test func `tags of 70 kB over several pages are legal`() throws {
    let tags = OpusFixture.tags(comments: [Array("NOTE=".utf8) + [UInt8](repeating: 0x78, count: 70_000)])
    let facts = try facts(OpusFixture.stream(head: OpusFixture.head(), tags: tags))
    #expect(facts.frames == 240_000 && facts.problems.isEmpty && facts.parts[0].tags?.commentCount == 1)
  }
  @Test func `tags longer than what is kept are legal, and their end isn't looked at`() throws {
    let tags = OpusFixture.tags(comments: [[UInt8](repeating: 0x78, count: OpusStreamPart.keptTags + 100_000)]
    )
    let facts = try facts(OpusFixture.stream(head: OpusFixture.head(), tags: tags))
    #expect(facts.frames == 240_000 && facts.problems.isEmpty)
  }
  @Test func `tags of which a page is missing cost no audio`() throws {
    let tags = OpusFixture.tags(comments: [[UInt8](repeating: 0x78, count: 150_000)])
    for index in 1...3 {
      var pages = OpusFixture.stream(head: OpusFixture.head(), tags: tags)
      pages.remove(at: index)
      let facts = try facts(pages)
      #expect(
        facts.frames == 240_000 && kinds(facts).contains(.headerTags) && !facts.audioAffected, "page \(index)"
      )
      #expect(facts.packets == 251)
    }
  }
  @Test(arguments: OpusHeaderTests.illegalTags)
  func `illegal tags are named and cost no audio`(illegal: OpusHeaderTests.Illegal) throws {
    let facts = try facts(OpusFixture.stream(head: OpusFixture.head(), tags: illegal.bytes))
    #expect(facts.frames == 240_000 && !facts.audioAffected && facts.problems.first?.kind == .headerTags)
    #expect(facts.parts[0].tags == nil)
  }
  @Test(arguments: OpusHeaderTests.illegalHeads.filter { $0.bytes.count > 8 })
  func `an illegal head is refused in one line`(illegal: OpusHeaderTests.Illegal) {
    guard case .header(let text)? = thrown(OpusFixture.stream(head: illegal.bytes, tags: OpusFixture.tags()))
    else {
      Issue.record("not refused")
      return
    }
    #expect(text.contains(illegal.testDescription) && !text.contains("\n"))
  }
  @Test(arguments: [1, 2])
  func `legal versions are read`(version: UInt8) throws {
    let facts = try facts(
      OpusFixture.stream(head: OpusFixture.head(version: version), tags: OpusFixture.tags()))
    #expect(facts.frames == 240_000 && facts.problems.isEmpty)
  }
  @Test func `the header's gain is applied`() throws {
    func level(_ gain: Int16) throws -> Float {
      let pages = OpusFixture.stream(head: OpusFixture.head(gain: gain), tags: OpusFixture.tags())
      return try decode(pages.bytes).samples.reduce(0) { $0 + $1 * $1 }
    }
    let ratio = try level(-1_536) / level(0)  // -6 dB
    #expect(abs(ratio - 0.2512) < 0.001)
  }
  @Test func `a broken packet is silence of its length and named`() throws {
    // TOC 0xFB announces a count byte; 48 frames of 20 ms are longer than 120 ms: it can't be a packet.
    var pages = good
    let piece = Int(pages[3].lacing.prefix { $0 == 255 }.count)
    pages[3].body[0] = 0xFB
    pages[3].body[1] = 48
    let decoded = try decode(pages.bytes)
    #expect(piece == 0 && decoded.frames == 240_000)
    #expect(decoded.facts?.audioAffected == true && decoded.facts.map(kinds)?.first == .badPacket)
    // This one states two frames of 10 ms of equal length, but has an odd count of bytes: libopus refuses it.
    pages = good
    let size = Int(pages[3].lacing[0])
    let packet: [UInt8] = [0xF1] + [UInt8](repeating: 0, count: 2 - size % 2 + (size - 1) / 2 * 2)
    let index = 3
    pages[index].body.replaceSubrange(0..<size, with: packet)
    pages[index].lacing[0] = UInt8(packet.count)
    let refused = try decode(pages.bytes)
    #expect(refused.frames == 240_000 && refused.facts.map(kinds) == [.badPacket])
    #expect(refused.facts?.problems[0].lengthFrames == 960)
  }
}
