import Foundation
import TestSupport
import Testing

/// What a file comes to: frames at its own rate and the kinds of its problems, or a code and a word of why not.
enum Verdict: Sendable, CustomStringConvertible {
  case reads(_ frames: Int, _ kinds: [String])
  case refused(_ word: String)
  var description: String {
    switch self {
    case .reads(let frames, let kinds): "\(frames) frames \(kinds)"
    case .refused(let word): "refused: \(word)"
    }
  }
}

/// Cases F01, G01 to G08 and E07: good, odd, broken and hostile files, through `inspect` and through `record`.
@Suite struct InputTests {
  static let second = 48_000

  static let files: [(String, Verdict)] = [
    // F01: killed while recording; the size fields keep a placeholder.
    ("F01/data0_junk4k.wav", .reads(3 * second, ["riff_size", "data_size"])),
    ("F01/data_ffffffff.wav", .reads(3 * second, ["riff_size", "data_size"])),
    ("F01/data_7fffffff.wav", .reads(3 * second, ["riff_size", "data_size"])),
    ("F01/data_44_over.wav", .reads(3 * second, ["data_size"])),
    ("F01/half_frame.wav", .reads(3 * second, ["riff_size", "data_size", "partial_frame"])),
    ("F01/healthy_list_tail.wav", .reads(3 * second, [])),
    // G01: written to a pipe.
    ("G01/riff_ff_data_ff.wav", .reads(second, ["riff_size", "data_size"])),
    ("G01/riff_0_data_0.wav", .reads(second, ["riff_size", "data_size"])),
    ("G01/riff_ok_data_ff.wav", .reads(second, ["data_size"])),
    ("G01/ffmpeg_pipe.wav", .reads(second, ["riff_size", "data_size"])),
    ("G01/data_bigger.wav", .reads(second, ["data_size"])),
    ("G01/data_smaller.wav", .reads(second / 2, ["trailing_bytes"])),
    // G02: chunks of odd size.
    ("G02/plain.wav", .reads(second, [])), ("G02/list_odd_padded.wav", .reads(second, [])),
    ("G02/list_odd_unpadded.wav", .reads(second, ["pad_missing"])),
    ("G02/bext_odd_padded.wav", .reads(second, [])), ("G02/junk_before_fmt.wav", .reads(second, [])),
    ("G02/pad_not_zero.wav", .reads(999, ["pad_not_zero"])),
    // G04: large and broken LIST chunks.
    ("G04/list_zero_393164.wav", .reads(second, [])), ("G04/list_zero_small.wav", .reads(second, [])),
    ("G04/info_size_huge.wav", .reads(second, [])), ("G04/info_size_zero.wav", .reads(second, [])),
    ("G04/info_nested.wav", .reads(second, [])),
    // G06: FLAC with ID3 tags, and under another name.
    ("G06/plain.flac", .reads(second, [])), ("G06/id3v2_front.flac", .reads(second, [])),
    ("G06/id3v2_front_big.flac", .reads(second, [])), ("G06/id3v1_back.flac", .reads(second, [])),
    ("G06/both.flac", .reads(second, [])), ("G06/flac_content.wav", .reads(second, [])),
    // G08: hostile headers.
    ("G08/empty.wav", .refused("empty")), ("G08/riff_only.wav", .refused("no fmt chunk")),
    ("G08/hdr43.wav", .refused("break off")), ("G08/ch0.wav", .refused("0 channels")),
    ("G08/ch65535.wav", .refused("65535 channels")), ("G08/rate0.wav", .refused("0 Hz")),
    ("G08/rate_max.wav", .refused("4294967295 Hz")), ("G08/align0.wav", .reads(second, ["block_size"])),
    ("G08/bits0.wav", .refused("0 bits")), ("G08/bits7.wav", .refused("7 bits")),
    ("G08/tag_mp3.wav", .refused("MP3")), ("G08/data_before_fmt.wav", .refused("no fmt chunk before")),
    ("G08/no_data.wav", .refused("no data chunk")), ("G08/no_fmt.wav", .refused("no fmt chunk")),
    ("G08/two_data.wav", .reads(second, ["second_data"])), ("G08/two_fmt.wav", .refused("two fmt chunks")),
    ("G08/fmt_14_bytes.wav", .refused("14 bytes")), ("G08/text.wav", .refused("no audio")),
    ("G08/zeros_1k.wav", .refused("no audio")),
    // E07: bad Opus headers; what plays is read, with its fault named.
    ("E07/control.opus", .reads(5 * second, [])), ("E07/head_gain.opus", .reads(5 * second, [])),
    ("E07/head_version2.opus", .reads(5 * second, [])), ("E07/tags_split_pages.opus", .reads(5 * second, [])),
    ("E07/audio_on_tags_page.opus", .reads(5 * second, ["audio_on_tags_page"])),
    ("E07/second_head.opus", .reads(5 * second, ["second_head"])),
    ("E07/tags_len_huge.opus", .reads(5 * second, ["header_tags"])),
    ("E07/tags_no_count.opus", .reads(5 * second, ["header_tags"])),
    ("E07/tags_vendor_huge.opus", .reads(5 * second, ["header_tags"])),
    ("E07/head_ch0.opus", .refused("0 channels")),
    ("E07/head_family1_no_table.opus", .refused("mapping table")),
    ("E07/head_version16.opus", .refused("version 16")), ("E07/head_short.opus", .refused("too short")),
  ]

  @Test(arguments: files) func `a file is read with its faults named, or refused in one line`(
    name: String, verdict: Verdict
  ) throws {
    let group = try #require(name.first)
    let path = try Cases.folder(group) + "/" + name
    let before = try FileManager.default.attributesOfItem(atPath: path)
    let sha256 = try Judge.sha256(path)
    let (said, report) = try inspect(path)
    let take = try record(["--input", "file:" + path])
    for one in [said, take.said] {
      #expect(!one.timedOut && one.signal == nil && one.wallSeconds < 30, "\(one)")
      #expect(one.peakMemory < 64 << 20, "\(one.peakMemory)")
    }
    switch verdict {
    case .reads(let frames, let kinds):
      #expect(said.code == 0 && said.err.isEmpty, "\(said)")
      #expect(report.int("frames") == frames && report.int("effective_frames") == frames)
      #expect(report.objects("problems").map { $0.text("kind") } == kinds)
      #expect(report.text("outcome") == "foreign" && report.text("sha256") == sha256)
      try expectSealed(take, frames: frames)
    case .refused(let word):
      #expect(said.code == 65 && said.isOneLine && said.errText.contains(word), "\(said)")
      #expect(said.errText.contains(name.fileName) && report.int("code") == 65)
      #expect(take.said.code == 65 && take.said.isOneLine && take.said.errText.contains(word), "\(take.said)")
      #expect(take.folder.names == [])
    }
    // Looking changes nothing, not even the file's time (F01's control).
    let after = try FileManager.default.attributesOfItem(atPath: path)
    #expect(try Judge.sha256(path) == sha256)
    #expect(after[.modificationDate] as? Date == before[.modificationDate] as? Date)
  }

  @Test func `every file of the groups stands in the table`() throws {
    let made = try ["F", "G", "E"].flatMap { try Cases.truth($0).keys }
    let table = Set(Self.files.map(\.0))
    #expect(
      made.filter { !$0.hasPrefix("E0") || $0.hasPrefix("E07") }.filter { !$0.hasPrefix("F02") }.allSatisfy(
        table.contains))
    #expect(table.count == Self.files.count)
  }

  /// Never shifted by a byte: files that hold the same samples become the same take.
  @Test(arguments: ["G02", "G06"]) func `the same samples give the same bytes, whatever is around them`(
    kind: String
  )
    throws
  {
    let truth = try Cases.truth("G")
    let same = truth.keys.filter { $0.hasPrefix(kind) && truth[$0]?["samples_sha256"] != nil }.sorted()
    #expect(same.count >= 5)
    let folder = try TempFolder()
    let sums = try same.map { name in
      let take = try record(
        ["--input", "file:" + Cases.folder("G") + "/" + name, "--take-id", "same"],
        to: name.replacingOccurrences(of: "/", with: "_") + ".opus", in: folder)
      #expect(take.said.code == 0, "\(name)")
      return take.sealed?.text("sha256")
    }
    #expect(Set(sums).count == 1)
  }

  @Test(arguments: files.filter { $0.0.hasPrefix("G01") || $0.0.hasPrefix("G08") })
  func `inspect reads the same from a pipe`(name: String, verdict: Verdict) throws {
    let path = try Cases.folder("G") + "/" + name
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    let said = try holdfast(["inspect", "--json", "-"], input: .bytes(data))
    let report = try said.jsonLines().first.map(Fields.init) ?? Fields([:])
    switch verdict {
    case .reads(let frames, _):
      #expect(said.code == 0 && report.int("frames") == frames, "\(said)")
      #expect(report.int("size_bytes") == data.count)
    case .refused(let word):
      #expect(said.code == 65 && said.isOneLine && said.errText.contains(word), "\(said)")
    }
    #expect(said.peakMemory < 64 << 20)
  }

  @Test func `several files are all tried, and the worst code is the exit code`() throws {
    let folder = try Cases.folder("G")
    let said = try holdfast(
      ["inspect", "--json", folder + "/G08/text.wav", folder + "/missing.wav", folder + "/G02/plain.wav"])
    let lines = try said.jsonLines().map(Fields.init)
    #expect(said.code == 66 && lines.map { $0.int("code") } == [65, 66, nil])
    #expect(lines.last?.int("frames") == 48_000)
  }
}
