import Testing

@testable import Capture

private let good = chunk("fmt ", fmt())
private func layout(_ bytes: [UInt8]) throws(SourceError) -> WavLayout {
  try WavLayout(reading: ByteSource(bytes))
}
private func refusal(_ bytes: [UInt8]) -> String {
  do throws(SourceError) {
    let read = try layout(bytes)
    return "read: \(read.dataBytes)"
  } catch .unreadable(let text) { return text } catch { return "other: \(error)" }
}

@Suite struct `How far the samples go` {
  @Test func `a whole file has no problem`() throws {
    let read = try layout(riff(good, chunk("data", ramp(100))))
    #expect(read.frames == 100)
    #expect(read.dataOffset == 44)
    #expect(read.problems == [])
  }
  @Test func `a data size of zero is read to the end of the file`() throws {
    let read = try layout(riff(good, chunk("data", ramp(100), size: 0), size: 0))
    #expect(read.frames == 100)
    #expect(read.problems.kinds == ["riff_size", "data_size"])
  }
  @Test(arguments: [0xFFFF_FFFF, 0x7FFF_FFFF, 0x7FFF_FFDB, 0x8000_0000, 400, 201] as [UInt32])
  func `a data size larger than the file counts what is there`(size: UInt32) throws {
    let read = try layout(riff(good, chunk("data", ramp(100), size: size)))
    #expect(read.frames == 100)
    #expect(read.problems.kinds == ["data_size"])
  }
  @Test func `a believable data size is believed`() throws {
    let read = try layout(riff(good, chunk("data", ramp(100), size: 120)))
    #expect(read.frames == 60)
    #expect(read.problems.kinds == ["trailing_bytes"])
  }
  @Test func `no samples at all are a valid file`() throws {
    let read = try layout(riff(good, chunk("data", [])))
    #expect(read.frames == 0)
    #expect(read.problems == [])
  }
  @Test func `no samples and then tags are no placeholder`() throws {
    let read = try layout(
      riff(good, chunk("data", []), chunk("LIST", Array("INFOISFT".utf8) + u32(2) + [65, 0])))
    #expect(read.frames == 0)
    #expect(read.problems == [])
  }
  @Test func `half a frame at the end is dropped`() throws {
    let read = try layout(riff(good, chunk("data", ramp(100) + [7], size: 0, pad: nil), size: 0))
    #expect(read.frames == 100)
    #expect(
      read.problems.last
        == SourceProblem(
          kind: "partial_frame", offset: 244, bytes: 1,
          message: "the samples end inside a frame; that part was dropped"))
  }
  @Test func `tags behind the samples stay no samples`() throws {
    let read = try layout(riff(good, chunk("data", ramp(100)), chunk("LIST", Array("INFO".utf8))))
    #expect(read.frames == 100)
    #expect(read.problems == [])
  }
  @Test func `of two data chunks the first counts`() throws {
    let read = try layout(riff(good, chunk("data", ramp(100)), chunk("data", ramp(50))))
    #expect(read.frames == 100)
    #expect(read.problems.kinds == ["second_data"])
  }
  @Test func `an RF64 file has its sizes in ds64`() throws {
    let data = ramp(100)
    func file(dataSize: UInt64) -> [UInt8] {
      riff(
        chunk("ds64", u64(264) + u64(dataSize) + u64(100) + u32(0)), good, chunk("data", data, size: .max),
        chunk("LIST", Array("INFO".utf8)), size: .max, id: "RF64")
    }
    let read = try layout(file(dataSize: 200))
    #expect(read.container == "RF64")
    #expect(read.frames == 100)
    #expect(try layout(file(dataSize: UInt64.max)).frames == 106)
  }
  @Test func `sizes over four gigabytes that wrapped are seen through`() throws {
    // A sparse source: 2^32 bytes of samples more than the header states.
    let head = riff(good, chunk("data", ramp(100)))
    let source = ByteSource(size: Int64(head.count) + (1 << 32)) {
      (offset, count) throws(SourceError) -> [UInt8] in
      (0..<count).map { Int(offset) + $0 < head.count ? head[Int(offset) + $0] : 0 }
    }
    #expect(try WavLayout(reading: source).frames == 100 + (1 << 31))
  }
}

@Suite struct `Finding the chunks` {
  @Test func `a chunk of odd size is padded`() throws {
    #expect(try layout(riff(good, chunk("LIST", [1, 2, 3]), chunk("data", ramp(9)))).problems == [])
  }
  @Test func `a missing pad byte is told and stepped over`() throws {
    let read = try layout(riff(good, chunk("LIST", [1, 2, 3], pad: nil), chunk("data", ramp(9))))
    #expect(read.frames == 9)
    #expect(read.problems.kinds == ["pad_missing"])
  }
  @Test func `a pad byte needn't be zero`() throws {
    let read = try layout(
      riff(good, chunk("data", [1, 2, 3, 4, 5, 6, 7, 8, 9], pad: 0x51), chunk("LIST", [1, 2])))
    #expect(read.frames == 4)
    #expect(read.problems.kinds == ["pad_not_zero", "partial_frame"])
  }
  @Test func `a large empty LIST is stepped over`() throws {
    let read = try layout(
      riff(good, chunk("LIST", [UInt8](repeating: 0, count: 393_164)), chunk("data", ramp(9))))
    #expect(read.frames == 9)
    #expect(read.problems == [])
  }
  @Test func `a chunk that states too much doesn't hide the samples`() throws {
    let read = try layout(
      riff(good, chunk("LIST", Array("INFO".utf8), size: 0xFFFF_FFF0), chunk("data", ramp(9))))
    #expect(read.frames == 9)
    #expect(read.problems.kinds == ["chunk_lost"])
  }
  @Test func `chunks before the fmt chunk don't matter`() throws {
    #expect(
      try layout(riff(chunk("JUNK", [UInt8](repeating: 0, count: 28)), good, chunk("data", ramp(9)))).frames
        == 9)
  }
  @Test func `chunks without end are given up`() {
    let file = riff((0..<5_000).flatMap { _ in chunk("JUNK", []) })
    #expect(refusal(file).hasPrefix("its chunks break off"))
  }
}

@Suite struct `What is refused, and why` {
  @Test(
    arguments: [
      ([], "it ends inside its first 12 bytes"),
      (riff(), "it has no fmt chunk"),
      (riff(good), "it has no data chunk"),
      (riff(chunk("data", ramp(9))), "its data chunk has no fmt chunk before it"),
      (riff(chunk("data", ramp(9)), good), "its data chunk has no fmt chunk before it"),
      (
        Array(riff(good, chunk("data", ramp(9))).prefix(43)),
        "its chunks break off at byte 36; no samples were found"
      ),
      (
        riff(good, chunk("fmt ", fmt(channels: 2, rate: 8_000)), chunk("data", ramp(9))),
        "it has two fmt chunks that contradict each other"
      ),
      (
        riff(chunk("fmt ", Array(fmt().prefix(14))), chunk("data", ramp(9))),
        "its fmt chunk has 14 bytes, at least 16 are needed"
      ),
    ] as [([UInt8], String)])
  func `a broken structure`(file: [UInt8], reason: String) { #expect(refusal(file) == reason) }

  @Test(
    arguments: [
      (fmt(channels: 0, block: 2), "it states 0 channels"),
      (fmt(channels: 65_535, block: 65_534), "it states 65535 channels; 1024 is the most that can be read"),
      (fmt(rate: 0), "it states a sample rate of 0 Hz; 188 to 12288000 Hz can be read"),
      (fmt(rate: .max), "it states a sample rate of 4294967295 Hz; 188 to 12288000 Hz can be read"),
      (fmt(bits: 0, block: 2), "it states 0 bits a sample"),
      (fmt(bits: 7, block: 1), "7 bits a sample in 1 bytes isn't a known sample format"),
      (fmt(bits: 65_535, block: 2), "65535 bits a sample in 8192 bytes isn't a known sample format"),
      (fmt(tag: 3, bits: 16), "16 bits a sample in 2 bytes isn't a known sample format"),
      (fmt(tag: 0x55), "its codec, MP3 (tag 0x0055), isn't supported inside WAV; convert it first"),
      (fmt(tag: 0x11, bits: 4, block: 0), "it states a block size of 0"),
      (fmt(tag: 0xFFFE), "its extensible fmt chunk lacks the sub-format"),
    ] as [([UInt8], String)])
  func `an impossible format`(format: [UInt8], reason: String) {
    #expect(refusal(riff(chunk("fmt ", format), chunk("data", ramp(100)))) == reason)
  }

  @Test func `a block size of zero is worked out`() throws {
    let read = try layout(riff(chunk("fmt ", fmt(block: 0)), chunk("data", ramp(9))))
    #expect(read.frames == 9)
    #expect(read.problems.kinds == ["block_size"])
  }
  @Test func `the same fmt chunk twice is only told`() throws {
    #expect(try layout(riff(good, good, chunk("data", ramp(9)))).problems.kinds == ["second_fmt"])
  }
  @Test func `an extensible format is read by its sub-format`() throws {
    let guid: [UInt8] = [3, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
    let chunkBody = fmt(tag: 0xFFFE, channels: 2, bits: 32) + u16(22) + u16(32) + u32(3) + guid
    let read = try layout(riff(chunk("fmt ", chunkBody), chunk("data", [UInt8](repeating: 0, count: 80))))
    #expect(read.format.encoding == .float32)
    #expect(read.frames == 10)
  }
  @Test func `any byte may be wrong, and the walk still ends`() {
    let whole = riff(good, chunk("LIST", [1, 2, 3]), chunk("data", ramp(20)), chunk("LIST", [1, 2]))
    for place in whole.indices {
      for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
        var file = whole
        file[place] = value
        if let read = try? layout(file) { #expect(read.dataOffset + read.dataBytes <= Int64(file.count)) }
        if let read = try? layout(Array(file.prefix(place))) {
          #expect(read.dataOffset + read.dataBytes <= Int64(place))
        }
      }
    }
  }
}
