import Testing

@testable import Encoding

@Suite struct OpusStreamDecoderTests {
  struct Sort: Sendable, CustomTestStringConvertible {
    var channels = 1
    var rate = 48_000
    var options: [String] = []
    var testDescription: String { "\(channels) channels at \(rate) Hz, \(options)" }
  }
  static let sorts: [Sort] =
    ["2.5", "5", "10", "20", "40", "60"].map { Sort(options: ["--framesize", $0]) }
    + [
      Sort(channels: 2), Sort(channels: 6), Sort(rate: 44_100), Sort(channels: 6, rate: 44_100),
      Sort(options: ["--bitrate", "12"]),
      Sort(channels: 2, options: ["--framesize", "60", "--bitrate", "24"]),
    ]
  /// Where each of Vorbis' channels stands in a WAV file.
  static func wavOrder(_ channels: Int) -> [Int] { channels == 6 ? [0, 2, 1, 4, 5, 3] : Array(0..<channels) }

  @Test(arguments: sorts)
  func `samples are those of opusdec, to the bit`(sort: Sort) throws {
    let frames = sort.rate * 3 / 2 + 7
    let file = OpusFixture.encode(
      frames: frames, rate: sort.rate, channels: sort.channels, options: sort.options)
    let decoded = try decode(file)
    let reference = OpusFixture.opusdec(file)
    #expect(decoded.channels == sort.channels && decoded.samples.count == reference.count)
    #expect(decoded.facts?.problems.isEmpty == true && decoded.facts?.frames == Int64(decoded.frames))
    let order = Self.wavOrder(sort.channels)
    let differences = decoded.samples.indices.filter { i in
      let (frame, channel) = (i / sort.channels, i % sort.channels)
      return decoded.samples[i] != reference[frame * sort.channels + order[channel]]
    }
    #expect(differences.isEmpty)
    #expect(decoded.samples.contains { abs($0) > 0.1 })
  }

  @Test(arguments: [1, 7, 959, 960, 48_000])
  func `the caller's block size changes nothing`(block: Int) throws {
    let file = OpusFixture.good.bytes
    #expect(try decode(file, block: block).samples == (try decode(file)).samples)
  }

  @Test func `seeking is exact to the sample`() throws {
    let file = OpusFixture.good.bytes
    let whole = try decode(file).samples
    for frame in [0, 1, 959, 47_688, 100_000, 239_999, 240_000, 500_000] {
      let rest = try decode(file, from: Int64(frame)).samples
      #expect(rest.count == max(whole.count - frame, 0))
      // 80 ms of preroll: the decoder has all but converged.
      #expect(zip(rest, whole.dropFirst(frame)).allSatisfy { abs($0 - $1) < 0.02 })
    }
  }
  @Test func `seeking back is refused and changes nothing`() throws {
    var decoder = try OpusStreamDecoder(read: bytesSource(OpusFixture.good.bytes))
    var answers: [Bool] = []
    for frame: Int64 in [1_000, 999, 1_000] { answers.append(try decoder.seek(toFrame: frame)) }
    let position = decoder.position
    #expect(answers == [true, false, true] && position == 1_000)
  }
  @Test func `seeking passes holes and parts`() throws {
    var pages = OpusFixture.good
    pages.remove(at: 3)
    let file = pages.bytes + OpusStreamPartsTests.two
    for frame: Int64 in [50_000, 96_000, 240_000, 250_000] {
      #expect(try decode(file, from: frame).frames == 336_000 - Int(frame))
    }
  }

  @Test func `steps give every packet with its index, place and bytes`() throws {
    let pages = OpusFixture.good
    var reader = OpusStreamReader(read: bytesSource(pages.bytes))
    var packets: [OpusPacket] = []
    while let step = try reader.nextStep() { if case .packet(let packet) = step { packets.append(packet) } }
    let facts = reader.facts
    #expect(packets.map(\.index) == Array(0..<251))
    #expect(packets.flatMap(\.bytes) == pages.dropFirst(2).flatMap(\.body))
    #expect(packets.map(\.granule) == (1...251).map { Int64($0) * 960 })
    #expect(packets[0].kept == Int(OpusFixture.preSkip)..<960 && packets[250].kept == 0..<312)
    #expect(packets.reduce(0) { $0 + $1.kept.count } == 240_000 && facts?.frames == 240_000)
    #expect(Set(packets.map(\.pageOffset)) == Set(pages.offsets[2..<8].map { Int64($0) }))
    #expect(packets[100].atFrame == 96_000 - OpusFixture.preSkip)
  }

  @Test func `a packet decoder gives what the stream decoder gives`() throws {
    var reader = OpusStreamReader(read: bytesSource(OpusFixture.good.bytes))
    var decoder = try OpusPacketDecoder()
    var samples: [Float] = []
    var buffer = [Float](repeating: 0, count: OpusPacketDecoder.longestPacket)
    while let step = try reader.nextStep() {
      guard case .packet(let packet) = step else { continue }
      var span = buffer.mutableSpan
      let frames = try decoder.decode(packet.bytes.span, into: &span)
      samples += buffer[..<frames]
    }
    let stream = try decode(OpusFixture.good.bytes).samples
    #expect(samples.dropFirst(Int(OpusFixture.preSkip)).prefix(240_000).elementsEqual(stream))
  }
  @Test func `a packet decoder refuses what is no packet`() throws {
    var decoder = try OpusPacketDecoder()
    var buffer = [Float](repeating: 0, count: OpusPacketDecoder.longestPacket)
    for packet: [UInt8] in [[], [0xFB, 48], [0xF1, 0, 0, 0]] {
      var refused = false
      var span = buffer.mutableSpan
      do { _ = try decoder.decode(packet.span, into: &span) } catch { refused = true }
      #expect(refused, "\(packet)")
    }
    var small = [Float](repeating: 0, count: 10)
    var span = small.mutableSpan
    var refused = false
    do { _ = try decoder.decode([0xF8, 0xFF, 0xFE].span, into: &span) } catch { refused = true }
    #expect(refused)
  }
  @Test func `packet durations are those of RFC 6716`() {
    func frames(_ bytes: UInt8...) -> Int? { opusPacketFrames(bytes.span) }
    let durations: [(UInt8, Int)] = [
      (0x00, 480), (0x08, 960), (0x10, 1_920), (0x18, 2_880), (0x80, 120), (0x88, 240), (0x90, 480),
      (0xF8, 960),
      (0xF9, 1_920), (0xFA, 1_920),
    ]
    for (toc, duration) in durations { #expect(frames(toc, 0, 0) == duration) }
    #expect(frames(0xFB, 6) == 5_760)
    #expect(frames(0xFB, 7) == nil && frames(0xFB) == nil && frames(0xFB, 0) == nil && frames() == nil)
  }
}
