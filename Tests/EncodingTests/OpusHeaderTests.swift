import Testing

@testable import Encoding

@Suite struct OpusHeaderTests {
  private func fault(_ head: [UInt8]) -> String? {
    do {
      _ = try OpusHead(parsing: head.span)
      return nil
    } catch { return error.text }
  }
  private func tagsFault(_ tags: [UInt8]) -> String? {
    do {
      _ = try OpusTags(parsing: tags.span)
      return nil
    } catch { return error.text }
  }

  @Test func `a head is read field by field`() throws {
    let bytes = OpusFixture.head(
      version: 2, channels: 3, preSkip: 0x1234, gain: -1_536, family: 1, table: [2, 1, 0, 2, 255])
    let head = try OpusHead(parsing: bytes.span)
    #expect(
      head.version == 2 && head.channels == 3 && head.preSkip == 0x1234 && head.inputSampleRate == 48_000)
    #expect(head.outputGain == -1_536 && head.mappingFamily == 1)
    #expect(head.streams == 2 && head.coupledStreams == 1 && head.mapping == [0, 2, 255])
  }
  @Test func `family 0 needs no table`() throws {
    let bytes = OpusFixture.head(channels: 2)
    let head = try OpusHead(parsing: bytes.span)
    #expect(head.streams == 1 && head.coupledStreams == 1 && head.mapping == [0, 1])
  }
  @Test(arguments: [0, 1, 2, 15])
  func `minor versions are accepted`(version: UInt8) {
    #expect(fault(OpusFixture.head(version: version)) == nil)
  }

  struct Illegal: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: [UInt8]
    init(_ words: String, _ bytes: [UInt8]) { (testDescription, self.bytes) = (words, bytes) }
  }
  private static func family1(_ channels: UInt8, _ table: [UInt8], family: UInt8 = 1) -> [UInt8] {
    OpusFixture.head(channels: channels, family: family, table: table)
  }
  static let illegalHeads: [Illegal] = [
    Illegal("version 16", OpusFixture.head(version: 16)),
    Illegal("version 241", OpusFixture.head(version: 0xF1)),
    Illegal("0 channels", OpusFixture.head(channels: 0)),
    Illegal("3 channels", OpusFixture.head(channels: 3)),
    Illegal("too short: 15 bytes", Array(OpusFixture.head().prefix(15))),
    Illegal("too short: 8 bytes", Array("OpusHead".utf8)),
    Illegal("no mapping table", family1(2, [])),
    Illegal("mapping table that is too short", family1(2, [1, 1, 0])),
    Illegal("9 channels", family1(9, [9, 0] + Array(0..<9))),
    Illegal("0 streams", family1(2, [0, 0, 0, 0])),
    Illegal("1 streams of which 2", family1(2, [1, 2, 0, 1])),
    Illegal("200 streams", family1(2, [200, 200, 0, 1], family: 255)),
    Illegal("decoded channel 2", family1(2, [1, 1, 0, 2])),
    Illegal("family 3", family1(4, [UInt8](repeating: 0, count: 60), family: 3)),
    Illegal("no OpusHead", []),
    Illegal("no OpusHead", Array("OpusTags".utf8)),
  ]
  @Test(arguments: illegalHeads)
  func `an illegal head is refused with its fault's name`(illegal: Illegal) throws {
    let text = try #require(fault(illegal.bytes))
    #expect(text.contains(illegal.testDescription) && !text.contains("\n"), "\(text)")
  }

  @Test func `tags are read`() throws {
    let bytes = OpusFixture.tags(
      vendor: Array("v".utf8), comments: [Array("A=b".utf8), [0x41, 0x3D, 0xFF], []])
    let tags = try OpusTags(parsing: bytes.span)
    #expect(tags.vendor == "v" && tags.comments == ["A=b", "A=\u{FFFD}", ""] && tags.commentCount == 3)
  }
  private static func tags(then rest: [UInt8]...) -> [UInt8] {
    OpusFixture.tags().dropLast(4) + rest.flatMap { $0 }
  }
  static let illegalTags: [Illegal] = [
    Illegal("no comment count", tags()),
    Illegal(
      "4294967280 bytes for comment 1",
      tags(then: OpusFixture.number(1), OpusFixture.number(0xFFFF_FFF0), [65])),
    Illegal("4294967295 comments", tags(then: OpusFixture.number(0xFFFF_FFFF))),
    Illegal("ends after 1", tags(then: OpusFixture.number(2), OpusFixture.number(4), Array("abcd".utf8))),
    Illegal(
      "vendor of 2147483647", Array("OpusTags".utf8) + OpusFixture.number(0x7FFF_FFFF) + Array("case".utf8)),
    Illegal("too short", Array("OpusTags".utf8) + [1, 0]),
    Illegal("no OpusTags", Array("OpusHead".utf8)),
  ]
  @Test(arguments: illegalTags)
  func `illegal tags are refused with their fault's name`(illegal: Illegal) throws {
    let text = try #require(tagsFault(illegal.bytes))
    #expect(text.contains(illegal.testDescription) && !text.contains("\n"), "\(text)")
  }
  @Test func `only so much text of tags is kept`() throws {
    let big = [UInt8](repeating: 0x78, count: 40_000)
    let bytes = OpusFixture.tags(comments: [big, big, big])
    let tags = try OpusTags(parsing: bytes.span)
    #expect(tags.commentCount == 3 && tags.comments.count == 1)
  }
  @Test func `no cut or byte of the headers traps`() {
    let whole = OpusFixture.head(channels: 3, family: 1, table: [2, 1, 0, 2, 255])
    let tags = OpusFixture.tags(comments: [Array("A=b".utf8)])
    for bytes in [whole, tags] {
      for i in 0...bytes.count {
        _ = fault(Array(bytes.prefix(i)))
        _ = tagsFault(Array(bytes.prefix(i)))
        for value in [UInt8(0), 1, 127, 128, 255] where i < bytes.count {
          var changed = bytes
          changed[i] = value
          _ = fault(changed)
          _ = tagsFault(changed)
        }
      }
    }
  }
}
