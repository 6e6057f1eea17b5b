import Testing

@testable import Encoding

@Suite struct OpusMenderTests {
  /// Repairs a file in memory.
  private func mended(_ file: [UInt8]) throws -> (bytes: [UInt8], mender: OpusMender, facts: OpusFileFacts) {
    var survey = OpusStreamReader(read: bytesSource(file))
    while try survey.nextStep() != nil {}
    let (found, headers) = (survey.facts, survey.headers)
    let facts = try #require(found)
    var mender = OpusMender(try #require(facts.parts.first), try #require(headers))
    var bytes: [UInt8] = []
    let emit = { (more: [UInt8]) in bytes += more }
    mender.begin(emit)
    var reader = OpusStreamReader(read: bytesSource(file))
    while let step = try reader.nextStep() { mender.take(step, emit) }
    mender.finish(emit)
    return (bytes, mender, facts)
  }
  /// What can be mended is without fault afterwards, and as long as before.
  private func expectMended(
    _ file: [UInt8], _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    guard let given = try? facts(file), given.partCount == 1, given.frames > 0, given.frames < 48_000 * 60
    else { return }
    let (bytes, mender, before) = try mended(file)
    let after = try facts(bytes)
    #expect(after.problems == [], comment, sourceLocation: sourceLocation)
    #expect(
      after.frames == before.frames && mender.frames == before.frames, comment, sourceLocation: sourceLocation
    )
    #expect(after.parts[0].serial == before.parts[0].serial, comment, sourceLocation: sourceLocation)
    let decoded = try decode(bytes)
    #expect(
      decoded.frames == Int(before.frames) && decoded.facts?.problems == [], comment,
      sourceLocation: sourceLocation)
  }

  @Test func `a whole stream stays what it was, but for its pages`() throws {
    let (bytes, mender, _) = try mended(OpusFixture.good.bytes)
    #expect(mender.frames == 240_000 && mender.badPackets == 0)
    let pages = [TestPage].reading(bytes)
    #expect(pages[0].body == OpusFixture.good[0].body && pages[1].body == OpusFixture.good[1].body)
    #expect(pages.dropFirst(2).flatMap(\.body) == OpusFixture.good.dropFirst(2).flatMap(\.body))
    #expect(pages.last?.granule == OpusFixture.good.last?.granule && pages.last?.flags == 4)
  }
  @Test(arguments: [1, 59, 60, 119, 120, 121, 959, 961, 47_999, 48_001])
  func `a hole of any length leaves the length exact`(_ samples: Int64) throws {
    var pages = OpusFixture.good
    for i in 4..<pages.count { pages[i].granule += samples }
    try expectMended(pages.bytes)
    for i in 6..<pages.count { pages[i].granule += samples }
    try expectMended(pages.bytes)
    pages[pages.count - 1].flags = 0
    pages[pages.count - 1].granule += 100_000 + samples
    try expectMended(pages.bytes)
  }
  @Test func `a stream joined in the middle, or whose positions are false, counts from 0`() throws {
    var pages = OpusFixture.good
    for i in 2..<pages.count { pages[i].granule += 1_000_000_007 }
    pages[pages.count - 1].flags = 0
    try expectMended(pages.bytes)
    pages = OpusFixture.good
    for i in 2..<pages.count { pages[i].granule -= 20_000 }
    try expectMended(pages.bytes)
    for i in 2..<pages.count { pages[i].granule = -1 }
    try expectMended(pages.bytes)
  }
  @Test(arguments: 0..<8) func `damage anywhere is mended`(seed: Int) throws {
    var chance = OpusStreamMutationTests.Chance(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 2)
    let audio = OpusFixture.good.offsets[2]
    for round in 0..<30 {
      var bytes = OpusFixture.good.bytes
      for _ in 0...chance.below(3) where bytes.count > audio {
        let from = audio + chance.below(bytes.count - audio)
        let to = min(bytes.count, from + 1 + chance.below(6_000))
        switch chance.below(3) {
        case 0: bytes.removeSubrange(from..<to)
        case 1: bytes.insert(contentsOf: bytes[from..<to], at: from)
        default: for i in from..<to { bytes[i] = UInt8(chance.below(256)) }
        }
      }
      try expectMended(bytes, "seed \(seed), round \(round)")
      try expectMended(OpusStreamMutationTests.altered(&chance), "seed \(seed), altered, round \(round)")
    }
  }
  @Test func `tags that can't be read become empty ones; long ones keep their whole comments`() throws {
    let broken = try mended(OpusFixture.stream(head: OpusFixture.head(), tags: Array("OpusTags".utf8)).bytes)
    #expect(try facts(broken.bytes).problems == [] && facts(broken.bytes).parts[0].tags?.comments == [])
    let long = OpusFixture.tags(comments: [
      Array("A=b".utf8), [UInt8](repeating: 0x43, count: 3 << 20), [UInt8](repeating: 0x44, count: 2 << 20),
    ])
    let kept = try mended(OpusFixture.stream(head: OpusFixture.head(), tags: long).bytes)
    let tags = try #require(try facts(kept.bytes).parts[0].tags)
    #expect(tags.commentCount == 2 && tags.vendor == "case" && tags.comments == ["A=b"])
  }
  @Test func `a packet whose lengths don't hold becomes silence of its length`() throws {
    var pages = OpusFixture.good
    var packets = pages[3].packetList
    packets[2] = [0xFB, 0x02, 0xFF]  // two frames of 20 ms in one byte
    packets.remove(at: 3)
    pages[3] = TestPage(flags: 0, granule: pages[3].granule, sequence: 3, packets: packets)
    let (bytes, mender, before) = try mended(pages.bytes)
    #expect(mender.badPackets == 1 && mender.frames == 240_000 && before.frames == 240_000)
    let decoded = try decode(bytes)
    #expect(decoded.frames == 240_000 && decoded.facts?.problems == [])
  }
  @Test(arguments: [1, 2, 3, 5, 255]) func `silence for any streams and lengths decodes to its length`(
    _ streams: Int
  ) throws {
    let coupled = streams / 2
    let channels = min(255, streams + coupled)
    let table =
      [UInt8(streams), UInt8(min(coupled, 255 - streams))] + (0..<channels).map { UInt8($0 % streams) }
    let bytes = OpusFixture.head(channels: UInt8(channels), family: 255, table: table)
    let head = try OpusHead(parsing: bytes.span)
    var decoder = try OpusMultistreamDecoder(head)
    var samples = [Float](repeating: 1, count: OpusPacketDecoder.longestPacket * channels)
    for (ask, frames) in [(120, 120), (239, 120), (240, 240), (959, 480), (960, 960), (9_999, 960)] {
      let silence = OpusSilence.packet(atMost: Int64(ask), head)
      #expect(silence.frames == frames && opusPacketIsWhole(silence.bytes.span, streams: streams))
      #expect(opusPacketFrames(silence.bytes.span) == frames)
      #expect(decoder.decode(silence.bytes, into: &samples) == frames)
      #expect(samples[..<(frames * channels)].allSatisfy { abs($0) < 1e-6 })
    }
  }
  @Test func `lengths hold exactly where libopus takes the packet`() throws {
    var chance = OpusStreamMutationTests.Chance(state: 5)
    for streams in [1, 2, 3] {
      let table = [UInt8(streams), 0] + (0..<streams).map { UInt8($0) }
      let bytes = OpusFixture.head(channels: UInt8(streams), family: 255, table: table)
      let head = try OpusHead(parsing: bytes.span)
      var decoder = try OpusMultistreamDecoder(head)
      var samples = [Float](repeating: 0, count: OpusPacketDecoder.longestPacket * streams)
      var taken = 0
      for _ in 0..<30_000 {
        let toc = UInt8(chance.below(256))
        let size = 1 + chance.below(streams == 1 ? 30 : 9)
        var packet = (0..<size).map { _ in UInt8(chance.below(chance.below(2) == 0 ? 7 : 256)) }
        packet[0] = toc
        if streams > 1, chance.below(2) == 0 {
          packet = [toc & 0xFC, 1, 9] + (streams == 3 ? [toc & 0xFC, 0] : []) + packet
        }
        let whole = opusPacketIsWhole(packet.span, streams: streams)
        let frames = decoder.decode(packet, into: &samples)
        #expect(whole == (frames != nil), "\(streams): \(packet)")
        taken += whole ? 1 : 0
      }
      #expect(taken > 100)
    }
  }
}

extension TestPage {
  /// Packets of a page on which none continues.
  fileprivate var packetList: [[UInt8]] {
    var packets: [[UInt8]] = []
    var (at, open) = (0, [UInt8]())
    for lace in lacing {
      open += body[at..<(at + Int(lace))]
      at += Int(lace)
      if lace < 255 {
        packets.append(open)
        open = []
      }
    }
    return packets
  }
}
