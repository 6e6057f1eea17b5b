import Testing

@testable import Encoding

/// Files that aren't closed, are cut, or have lost pages.
@Suite struct OpusStreamDamageTests {
  let good = OpusFixture.good

  @Test(arguments: [
    (47_999, 48_000), (48_000, 48_000), (48_001, 48_000), (44_100, 44_100), (480_000, 48_000), (960, 48_000),
  ])
  func `length is the last position less the pre-skip, to the sample`(frames: Int, rate: Int) throws {
    let file = OpusFixture.encode(frames: frames, rate: rate)
    let facts = try facts(file)
    #expect(facts.frames == frames * 48_000 / rate)
    #expect(facts.problems.isEmpty && facts.hasEndOfStream && facts.partCount == 1)
    #expect(facts.parts[0].head.inputSampleRate == rate)
    #expect(facts.bytes == file.count && facts.wholeBytes == file.count)
    #expect(try decode(file).frames == Int(facts.frames))
  }
  @Test func `the good file has no problem`() throws {
    let facts = try facts(good)
    #expect(
      facts.frames == 240_000 && facts.packets == 251 && facts.pages == good.count && facts.holeFrames == 0)
    #expect(facts.problems.isEmpty && !facts.audioAffected)
    #expect(facts.parts[0].tags?.vendor.contains("libopus") == true)
    #expect(facts.audioBytes == good.dropFirst(2).reduce(0) { $0 + $1.body.count })
    #expect(
      facts.parts[0].lastSequence == good.last?.sequence && facts.parts[0].lastGranule == good.last?.granule)
  }

  @Test func `without the end-of-stream flag length and trim still hold`() throws {
    var pages = good
    pages[pages.count - 1].flags = 0
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && !facts.hasEndOfStream)
    #expect(kinds(facts) == [.notClosed] && !facts.audioAffected)
    let decoded = try decode(pages.bytes)
    #expect(decoded.samples == (try decode(good.bytes)).samples)
  }

  enum Cut: CaseIterable {
    case inFirstHeader, afterHead, afterTags, inFirstAudio
    case inPageHeader, inLacing, inPageData, oneShort
  }
  @Test(arguments: Cut.allCases)
  func `a cut file is as long as its whole pages, or says that it holds no audio`(cut: Cut) throws {
    let offsets = good.offsets
    let kept =
      switch cut {
      case .inFirstHeader: 20
      case .afterHead: offsets[1]
      case .afterTags: offsets[2]
      case .inFirstAudio: 4_096
      case .inPageHeader: offsets[3] + 13
      case .inLacing: offsets[3] + 47
      case .inPageData: offsets[3] + 900
      case .oneShort: offsets[good.count] - 1
      }
    let file = Array(good.bytes.prefix(kept))
    guard kept > offsets[3] else {
      var thrown: OpusFileError?
      do { _ = try opusFileFacts(read: bytesSource(file)) } catch { thrown = error }
      guard case .noAudio(let text) = thrown else {
        Issue.record("\(String(describing: thrown))")
        return
      }
      #expect(text.contains("the file ends"))
      return
    }
    let whole = cut == .oneShort ? good.count - 1 : 3
    let facts = try facts(file)
    #expect(facts.frames == good[whole - 1].granule - OpusFixture.preSkip)
    #expect(kinds(facts) == [.cut, .notClosed] && facts.audioAffected)
    #expect(
      facts.problems[0].offset == Int64(offsets[whole])
        && facts.problems[0].bytes == Int64(kept - offsets[whole]))
    #expect(facts.wholeBytes == offsets[whole])
    #expect(try decode(file).frames == Int(facts.frames))
  }
  @Test func `a file that ends between pages is only not closed`() throws {
    let facts = try facts(Array(good.prefix(5)))
    #expect(facts.frames == good[4].granule - OpusFixture.preSkip)
    #expect(kinds(facts) == [.notClosed] && !facts.audioAffected)
  }

  @Test func `a damaged page is named with place, size and time, and silence holds its place`() throws {
    var file = good.bytes
    file[good.offsets[3] + 400] ^= 0x20
    let decoded = try decode(file)
    let facts = try #require(decoded.facts)
    #expect(facts.frames == 240_000 && decoded.frames == 240_000 && facts.holeFrames == 48_000)
    #expect(kinds(facts) == [.damagedPage] && facts.audioAffected)
    let problem = facts.problems[0]
    #expect(problem.offset == Int64(good.offsets[3]) && problem.bytes == Int64(good[3].bytes.count))
    #expect(problem.atFrame == 48_000 - OpusFixture.preSkip && problem.lengthFrames == 48_000)
    #expect(problem.atMs == 993 && problem.lengthMs == 1_000)
    let hole = Int(48_000 - OpusFixture.preSkip)
    #expect(decoded.samples[hole..<(hole + 48_000)].allSatisfy { $0 == 0 })
    // What is whole is where it was: before the hole to the bit, behind it once the decoder has converged.
    let whole = try decode(good.bytes).samples
    #expect(decoded.samples[..<hole].elementsEqual(whole[..<hole]))
    let behind = (hole + 48_000 + 9_600)...
    #expect(zip(decoded.samples[behind], whole[behind]).allSatisfy { abs($0 - $1) < 0.05 })
  }
  @Test(arguments: [2, 3, 6])
  func `a missing page is named with its time, and silence holds its place`(index: Int) throws {
    var pages = good
    pages.remove(at: index)
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && kinds(facts) == [.missingPage] && facts.audioAffected)
    #expect(facts.problems[0].lengthFrames == (index == 2 ? 48_000 - OpusFixture.preSkip : 48_000))
    #expect(facts.problems[0].offset == Int64(good.offsets[index]))
    #expect(try decode(pages.bytes).frames == 240_000)
  }
  @Test func `bytes between pages are named and cost nothing`() throws {
    for junk in [
      [UInt8](repeating: 0, count: 512), Array("junk OggS more junk with a false head in it".utf8),
    ] {
      let file = good[..<4].flatMap(\.bytes) + junk + good[4...].flatMap(\.bytes)
      let decoded = try decode(file)
      let facts = try #require(decoded.facts)
      #expect(facts.frames == 240_000 && kinds(facts) == [.junk] && !facts.audioAffected)
      #expect(
        facts.problems[0].offset == Int64(good.offsets[4]) && facts.problems[0].bytes == Int64(junk.count))
      #expect(decoded.samples == (try decode(good.bytes)).samples)
    }
  }
  @Test func `a repeated page is dropped`() throws {
    var pages = good
    pages.insert(pages[3], at: 4)
    let decoded = try decode(pages.bytes)
    let facts = try #require(decoded.facts)
    #expect(facts.frames == 240_000 && kinds(facts) == [.duplicatePage] && !facts.audioAffected)
    #expect(
      facts.problems[0].offset == Int64(pages.offsets[4])
        && facts.problems[0].atFrame == 96_000 - OpusFixture.preSkip)
    #expect(decoded.samples == (try decode(good.bytes)).samples)
  }
  @Test func `a page out of order leaves a hole and is dropped`() throws {
    var pages = good
    pages.swapAt(3, 4)
    let facts = try facts(pages)
    #expect(
      facts.frames == 240_000 && Set(kinds(facts)) == [.missingPage, .duplicatePage] && facts.audioAffected)
  }
  @Test func `pages with false numbers but new audio are kept`() throws {
    var pages = good
    for i in 2..<pages.count { pages[i].sequence = 0 }
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && kinds(facts) == [.pageNumber] && facts.packets == 251)
  }
  @Test func `a damaged last page is told from trailing bytes`() throws {
    var file = good.bytes
    file[file.count - 20] ^= 1
    let damaged = try facts(file)
    #expect(kinds(damaged) == [.damagedPage, .notClosed] && damaged.audioAffected)
    let trailed = try facts(good.bytes + [UInt8](repeating: 0, count: 3_000))
    #expect(
      kinds(trailed) == [.trailingBytes] && !trailed.audioAffected && trailed.problems[0].bytes == 3_000)
  }
  @Test func `a damaged tags page costs no audio`() throws {
    var file = good.bytes
    file[good.offsets[1] + 60] ^= 1
    let facts = try facts(file)
    #expect(
      facts.frames == 240_000 && Set(kinds(facts)) == [.headerTags, .damagedPage] && !facts.audioAffected)
  }
  @Test func `a damaged head is a header fault`() throws {
    var file = good.bytes
    file[30] ^= 1
    var thrown: OpusFileError?
    do { _ = try opusFileFacts(read: bytesSource(file)) } catch { thrown = error }
    guard case .header = thrown else {
      Issue.record("\(String(describing: thrown))")
      return
    }
  }

  @Test func `an early end-of-stream flag doesn't end the audio`() throws {
    var pages = good
    pages[3].flags = 4
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && kinds(facts) == [.pageAfterEnd])
  }
  @Test func `an empty last page may close and trim the stream`() throws {
    var pages = good
    let end = pages[pages.count - 1].granule
    pages[pages.count - 1].flags = 0
    pages[pages.count - 1].granule = 240_960
    pages.append(TestPage(flags: 4, granule: end, sequence: UInt32(pages.count), packets: []))
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && facts.problems.isEmpty)
    #expect(try decode(pages.bytes).frames == 240_000)
  }
  @Test func `a stream joined in the middle begins at its first page`() throws {
    var pages = good
    for i in 2..<pages.count {
      pages[i].granule += 48_000_000
      pages[i].sequence += 1_000
    }
    let facts = try facts(pages)
    #expect(facts.frames == 240_000 && facts.problems.isEmpty && facts.parts[0].startGranule == 48_000_000)
  }
  @Test func `positions smaller than the audio keep it all`() throws {
    var pages = good
    for i in 2..<pages.count { pages[i].granule = 0 }
    let decoded = try decode(pages.bytes)
    #expect(decoded.frames == 251 * 960 - Int(OpusFixture.preSkip))
    #expect(decoded.facts.map(kinds) == [.badGranule])
  }
  static let hostile: [Int64] = [.min, -2, (1 << 62) - 1, 1 << 62, .max, 48_000 * 3_600 * 23]
  @Test(arguments: hostile)
  func `hostile positions neither trap nor stretch the file`(granule: Int64) throws {
    for index in [2, 4, good.count - 1] {
      var pages = good
      pages[index].granule = granule
      let decoded = try decode(pages.bytes)
      #expect((240_000...240_648).contains(decoded.frames) && decoded.facts.map(kinds) == [.badGranule])
      #expect(decoded.facts?.frames == Int64(decoded.frames))
    }
    var pages = good
    for i in 3..<pages.count {
      pages[i].granule = granule
      pages[i].sequence &+= 0x7FFF_FF00
    }
    #expect(try facts(pages).frames <= 240_648)
  }
  @Test(arguments: [true, false])
  func `a file of zero frames is valid`(withPacket: Bool) throws {
    let last = TestPage(
      flags: 4, granule: OpusFixture.preSkip, sequence: 2, packets: withPacket ? [[0xF8, 0xFF, 0xFE]] : [])
    let decoded = try decode((good[..<2] + [last]).flatMap(\.bytes))
    #expect(decoded.frames == 0 && decoded.facts?.frames == 0 && decoded.facts?.problems.isEmpty == true)
  }
  @Test func `what is no Opus says what it is`() throws {
    let vorbis = TestPage(flags: 2, granule: 0, sequence: 0, packets: [[1] + Array("vorbis".utf8)])
    let more = TestPage(flags: 0, granule: 0, sequence: 1, packets: [[1, 2]])
    for (file, words) in [
      ([], "empty"), (Array("hello world".utf8), "no Ogg page"),
      ([UInt8](repeating: 0, count: 3 << 20), "first MiB"),
      (vorbis.bytes + more.bytes, "Vorbis"),
    ] {
      var thrown: OpusFileError?
      do { _ = try opusFileFacts(read: bytesSource(file)) } catch { thrown = error }
      guard case .notOpus(let text) = thrown else {
        Issue.record("\(String(describing: thrown))")
        continue
      }
      #expect(text.contains(words))
    }
  }
  @Test func `junk in front of the head is passed`() throws {
    let facts = try facts(Array("ID3".utf8) + [UInt8](repeating: 0, count: 2_000) + good.bytes)
    #expect(facts.frames == 240_000 && kinds(facts) == [.junk])
  }
  @Test func `the list of problems is bounded, its count isn't`() throws {
    let page = TestPage(flags: 0, granule: 960, sequence: 2, packets: [[0xF8, 0xFF, 0xFE]])
    let facts = try facts(good[..<2] + Array(repeating: page, count: 3_000))
    #expect(facts.problems.count == OpusFileFacts.listed)
    #expect(facts.problemCount == 3_000)
  }
}
