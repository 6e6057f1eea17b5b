import Platform
import Testing

@testable import Capture

/// Ogg Opus files, whole and broken: the time line is what the granule positions say.
@Suite struct `Reading Ogg Opus` {
  let folder = Folder()

  /// One Opus stream of a 48 kHz ramp, as opusenc writes it.
  private func stream(_ frames: Int, channels: Int = 1, serial: Int = 1) -> [UInt8] {
    let samples = riff(chunk("fmt ", fmt(channels: channels)), chunk("data", ramp(frames * channels)))
    let wav = folder.write(samples, "in.wav")
    let out = folder.made(
      "\(serial).opus", by: "opusenc", "--quiet", "--serial", "\(serial)", wav.text, "OUT")
    return folder.bytes(out)
  }
  private func read(_ bytes: [UInt8]) throws -> (source: FileSource, samples: [Float], error: SourceError?) {
    try readAll(folder.write(bytes, "x.opus"))
  }
  private func pages(_ bytes: [UInt8]) -> [Range<Int>] {
    var starts: [Int] = []
    var at = 0
    let source = ByteSource(bytes)
    while let page = try? OggLayout.page(at: Int64(at), of: source) {
      starts.append(at)
      at += page.size
    }
    return zip(starts, starts.dropFirst() + [at]).map { $0..<$1 }
  }
  private func withChecksum(_ page: [UInt8]) -> [UInt8] {
    var page = page
    page.replaceSubrange(22..<26, with: [0, 0, 0, 0])
    page.replaceSubrange(22..<26, with: u32(OggLayout.checksum(page)))
    return page
  }

  @Test(arguments: [1, 959, 960, 47_999, 48_000, 48_001, 144_000])
  func `a file has exactly its frames`(frames: Int) throws {
    let file = try read(stream(frames))
    #expect(file.samples.count == frames)
    #expect(file.source.statedFrames == Int64(frames))
    #expect(file.source.problems == [])
    #expect(file.source.file.facts.contentType == "audio/ogg; codecs=opus")
  }
  @Test(arguments: [1, 64, 1_000]) func `the size of the reads doesn't matter`(block: Int) throws {
    let path = folder.write(stream(20_000), "x.opus")
    #expect(try readAll(path, block: block).samples == readAll(path).samples)
  }
  @Test func `without the end flag the last granule position counts`() throws {
    let whole = stream(100_000)
    let last = try #require(pages(whole).last)
    var page = Array(whole[last])
    page[5] &= ~4
    let file = try read(whole[..<last.lowerBound] + withChecksum(page))
    #expect(file.samples.count == 100_000)
    #expect(file.source.problems.kinds == ["not_closed"])
  }
  @Test func `a cut file has its whole pages`() throws {
    let whole = stream(200_000)
    let all = pages(whole)
    let last = try #require(all.last)
    for cut in [last.lowerBound + 10, last.lowerBound + 30, last.upperBound - 1] {
      let file = try read(Array(whole[..<cut]))
      #expect(file.samples.count < 200_000 && file.samples.count > 100_000)
      #expect(file.source.problems.kinds == ["page_cut", "not_closed"])
      #expect(file.error == nil)
    }
  }
  @Test func `a damaged page is silence in its place`() throws {
    let whole = stream(200_000)
    var bytes = whole
    let page = pages(whole)[3]
    bytes[page.lowerBound + 300] ^= 1
    let file = try read(bytes)
    #expect(file.samples.count == 200_000)
    #expect(file.source.problems.kinds == ["page_checksum", "audio_missing"])
    #expect(file.source.problems[0].offset == Int64(page.lowerBound))
    #expect(file.source.problems[0].bytes == Int64(page.count))
    let lost = file.source.problems[1]
    #expect(lost.atFrame == 47_688)  // one page of 1 s, less the pre-skip
    let start = Int(lost.atFrame ?? 0)
    let length = Int(lost.frames ?? 0)
    #expect(file.samples[start..<(start + length)].allSatisfy { $0 == 0 })
    #expect(file.samples[..<start] == (try read(whole)).samples[..<start])
  }
  @Test func `a missing page and a page that comes twice keep the time line`() throws {
    let whole = stream(200_000)
    let page = pages(whole)[3]
    let missing = try read(whole[..<page.lowerBound] + Array(whole[page.upperBound...]))
    #expect(missing.samples.count == 200_000)
    #expect(missing.source.problems.kinds == ["page_missing", "audio_missing"])
    let twice = try read(whole[..<page.upperBound] + Array(whole[page.lowerBound...]))
    #expect(twice.samples == (try read(whole)).samples)
    #expect(twice.source.problems.kinds == ["page_twice", "overlap"])
  }
  @Test func `junk between pages is named and skipped`() throws {
    let whole = stream(200_000)
    let place = pages(whole)[3].lowerBound
    let zeros = [UInt8](repeating: 0, count: 512)
    for junk in [zeros, Array("OggS".utf8) + zeros, zeros + Array("OggS".utf8) + [0, 2] + zeros] {
      let file = try read(whole[..<place] + junk + Array(whole[place...]))
      #expect(file.samples.count == 200_000)
      #expect(
        file.source.problems.kinds == [file.source.problems.first?.kind == "junk" ? "junk" : "page_checksum"])
      #expect(file.source.problems.first?.offset == Int64(place))
      #expect(file.source.problems.first?.bytes == Int64(junk.count))
    }
  }
  @Test func `joined files are read one after another`() throws {
    let one = stream(96_000, serial: 7)
    let two = stream(144_000, serial: 8)
    let same = stream(144_000, serial: 7)
    let stereo = stream(144_000, channels: 2, serial: 9)
    for second in [two, same, stereo] {
      let file = try read(one + second)
      #expect(file.samples.count == 240_000)
      #expect(file.source.statedFrames == 240_000)
      #expect(file.source.file.facts.parts == 2)
      #expect(file.source.problems.kinds == ["chained"])
    }
    let wide = try read(stereo + one)
    #expect(wide.source.format.channels == 2)
    #expect(wide.samples.count == 480_000)
    #expect(stride(from: 288_000, to: 480_000, by: 2).allSatisfy { wide.samples[$0] == wide.samples[$0 + 1] })
  }

  // MARK: Broken heads

  private func page(_ body: [UInt8], flags: UInt8, sequence: UInt32) -> [UInt8] {
    let lacing = [UInt8](repeating: 255, count: body.count / 255) + [UInt8(body.count % 255)]
    let head =
      Array("OggS".utf8) + [0, flags] + u64(0) + u32(7) + u32(sequence) + u32(0) + [UInt8(lacing.count)]
    return withChecksum(head + lacing + body)
  }
  private let head = Array("OpusHead".utf8) + [1, 1] + u16(312) + u32(48_000) + u16(0) + [0]

  @Test func `a broken head is named`() throws {
    var version = head
    version[8] = 16
    var silent = head
    silent[9] = 0
    var family = head
    family[18] = 1
    let first = page(head, flags: 2, sequence: 0)
    func tags(_ rest: [UInt8]) -> [UInt8] {
      first + page(Array("OpusTags".utf8) + rest, flags: 0, sequence: 1)
    }
    let cases: [([UInt8], String)] = [
      (Array(first[..<20]), "it ends inside its first Ogg page"),
      (first, "it ends after the OpusHead; the comment header and the audio are missing"),
      (page(version, flags: 2, sequence: 0), "its OpusHead is of the unknown version 16"),
      (page(silent, flags: 2, sequence: 0), "its OpusHead states 0 channels"),
      (page(family, flags: 2, sequence: 0), "its OpusHead lacks the channel mapping table"),
      (page(Array(head[..<15]), flags: 2, sequence: 0), "its OpusHead has 15 bytes, at least 19 are needed"),
      (tags(u32(0) + u32(0)), "it has headers and no audio page"),
      (tags(u32(0)), "its comment header lacks the number of comments"),
      (
        tags(u32(0x7FFF_FFFF) + u32(0)),
        "its comment header states a vendor text of 2147483647 bytes and has 4"
      ),
      (
        tags(u32(0) + u32(1) + u32(0xFFFF_FFF0)),
        "its comment header states a comment of 4294967280 bytes and has 0"
      ),
    ]
    for (bytes, reason) in cases {
      do throws(SourceError) {
        _ = try AudioFile(folder.write(bytes, "x.opus"))
        Issue.record("not refused: \(reason)")
      } catch { #expect(error == .unreadable(reason)) }
    }
  }
  @Test func `any cut and any changed byte has an end`() throws {
    let whole = stream(10_000)
    for place in stride(from: 0, to: whole.count, by: 37) {
      if let file = try? read(Array(whole[..<place])) { #expect(file.samples.count <= 10_000) }
      var bytes = whole
      bytes[place] ^= 0xFF
      if let file = try? read(bytes) { #expect(file.samples.count <= 10_000) }
    }
  }
}
