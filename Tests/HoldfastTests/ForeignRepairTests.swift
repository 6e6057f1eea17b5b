import Foundation
import Holdfast
import TestSupport
import Testing

/// A foreign file in a folder of its own, and what its repair came to.
struct Repair {
  let folder: TempFolder
  let path: String
  let before: Stamp
  let result: Result<RepairedFile, RecorderFailure>

  /// What mustn't change in a source.
  struct Stamp: Equatable {
    var bytes: Data
    var modified: timespec
    var changed: timespec
    var inode: ino_t

    init(_ path: String) throws {
      bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      var info = stat()
      guard stat(path, &info) == 0 else { throw Failure("stat \(path): errno \(errno)") }
      (modified, changed, inode) = (info.st_mtim, info.st_ctim, info.st_ino)
    }
    static func == (a: Self, b: Self) -> Bool {
      a.bytes == b.bytes && a.inode == b.inode && a.modified.tv_sec == b.modified.tv_sec
        && a.modified.tv_nsec == b.modified.tv_nsec && a.changed.tv_sec == b.changed.tv_sec
        && a.changed.tv_nsec == b.changed.tv_nsec
    }
  }

  init(_ bytes: Data, name: String = "a.opus") throws {
    folder = try TempFolder("repair")
    path = try folder.write(name, bytes)
    before = try Stamp(path)
    result = Self.repair(path)
  }
  /// A case of the generator's, e.g. `E03/flip_byte.opus`.
  init(case name: String) throws {
    try self.init(Data(contentsOf: URL(fileURLWithPath: Cases.folder("E") + "/" + name)))
  }
  static func repair(_ path: String) -> Result<RepairedFile, RecorderFailure> {
    Result { () throws(RecorderFailure) in try ForeignRepair.repair(Path(path)) }
  }
  var copy: String { folder.file("a.recovered.opus") }

  /// The source is as it was, and nothing lies beside it but `others`.
  func expectUntouched(
    beside others: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try Stamp(path) == before, sourceLocation: sourceLocation)
    #expect(folder.names == (others + [path.fileName]).sorted(), sourceLocation: sourceLocation)
  }
  /// A copy was written that every judge takes, of that length.
  @discardableResult func expectRepaired(
    frames: Int, channels: Int = 1, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> RepairedFile {
    let done = try result.get()
    #expect(done.written == Path(copy) && !done.wasThere, "\(done)", sourceLocation: sourceLocation)
    #expect(done.frames == frames, "\(done)", sourceLocation: sourceLocation)
    #expect(!done.problems.isEmpty, "\(done)", sourceLocation: sourceLocation)
    #expect(!done.message.contains("\n"), sourceLocation: sourceLocation)
    try expectUntouched(beside: ["a.recovered.opus"], sourceLocation: sourceLocation)
    try expectWhole(copy, sourceLocation: sourceLocation)
    #expect(try Judge.opusdecFrames(copy, channels: channels) == frames, sourceLocation: sourceLocation)
    #expect(try Judge.ffmpegFrames(copy) == frames, sourceLocation: sourceLocation)
    let opusfile = try #require(try Judge.opusfile(copy), sourceLocation: sourceLocation)
    #expect(
      opusfile.stated == frames && opusfile.decoded == frames && opusfile.holes == 0 && opusfile.links == 1,
      "\(opusfile)", sourceLocation: sourceLocation)
    let report = try Inspector.inspect(Path(copy))
    #expect(report.problems == [] && report.frames == frames, sourceLocation: sourceLocation)
    let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
    #expect(mode == 0o600, sourceLocation: sourceLocation)
    #expect(try ForeignRepair.repair(Path(copy)).written == nil, sourceLocation: sourceLocation)
    return done
  }
  func expectRefused(
    kind: String, saying text: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try expectUntouched(sourceLocation: sourceLocation)
    #expect(sourceLocation: sourceLocation) { _ = try result.get() } throws: { error in
      guard let failure = error as? RecorderFailure else { return false }
      return failure.code == 65 && failure.kind == kind && failure.message.contains(text)
        && !failure.message.contains("\n") && failure.path == Path(path)
    }
  }

  /// The audio packets of a file, as they lie in it.
  static func packets(_ path: String) throws -> [Data] {
    var packets: [Data] = []
    var open = Data()
    for page in try OggPage.read(path).dropFirst(2) {
      var at = 0
      for lace in page.lacing {
        open += page.body[at..<(at + Int(lace))]
        at += Int(lace)
        if lace < 255 {
          packets.append(open)
          open = Data()
        }
      }
    }
    return packets
  }
}

@Suite struct ForeignRepairTests {
  static func source(_ name: String) throws -> [Data] {
    try Repair.packets(Cases.folder("E") + "/" + name)
  }

  // MARK: nothing to do

  @Test(arguments: [
    "E01/good.opus", "E07/control.opus", "E07/tags_split_pages.opus", "E07/head_gain.opus",
    "E07/head_version2.opus",
  ])
  func `a whole file is left alone`(_ name: String) throws {
    let repair = try Repair(case: name)
    let done = try repair.result.get()
    #expect(done.written == nil && done.problems == [] && done.frames == 240_000 && done.lostMsMax == 0)
    #expect(done.message.contains("nothing to repair"))
    try repair.expectUntouched()
  }
  @Test(arguments: ["E04/chain_diff_serial.opus", "E04/chain_mono_stereo.opus"])
  func `a chain of whole parts is left alone`(_ name: String) throws {
    let repair = try Repair(case: name)
    let done = try repair.result.get()
    #expect(done.written == nil && done.parts == 2 && done.frames == 240_000)
    try repair.expectUntouched()
  }

  // MARK: copies

  @Test func `a file without an end flag gets one, every packet as it was`() throws {
    let repair = try Repair(case: "E01/no_eos.opus")
    let done = try repair.expectRepaired(frames: 240_000)
    #expect(done.filledMs == 0 && done.lostMsMax == 0)
    #expect(try Repair.packets(repair.copy) == Self.source("E01/good.opus"))
    let samples = try Judge.opusdecSamples(repair.copy)
    #expect(try samples == Judge.opusdecSamples(Cases.folder("E") + "/E01/good.opus"))
  }
  @Test(arguments: [
    "E03/zeros_between.opus", "E03/junk_between.opus", "E03/page_twice.opus", "E07/second_head.opus",
    "E07/tags_no_count.opus", "E07/tags_len_huge.opus", "E07/tags_vendor_huge.opus",
  ])
  func `what costs no audio is left out, every packet as it was`(_ name: String) throws {
    let repair = try Repair(case: name)
    let done = try repair.expectRepaired(frames: 240_000)
    #expect(done.filledMs == 0 && done.lostMsMax == 0)
    #expect(try Repair.packets(repair.copy) == Self.source("E01/good.opus"))
  }
  @Test func `audio on the tags page gets a page of its own`() throws {
    let repair = try Repair(case: "E07/audio_on_tags_page.opus")
    let frames = try Inspector.inspect(Path(repair.path)).frames
    try repair.expectRepaired(frames: Int(frames))
  }
  @Test(arguments: ["E03/flip_byte.opus", "E03/page_missing.opus"])
  func `a lost page is silence, and what follows keeps its time`(_ name: String) throws {
    let repair = try Repair(case: name)
    let done = try repair.expectRepaired(frames: 240_000)
    #expect(done.filledMs == 1_000 && done.lostMsMax == 1_000)
    let (copy, good) = (try Repair.packets(repair.copy), try Self.source("E01/good.opus"))
    try #require(copy.count == good.count)
    let changed = copy.indices.filter { copy[$0] != good[$0] }
    try #require(changed.count == 50 && changed[49] - changed[0] == 49)
    let samples = try Judge.opusdecSamples(repair.copy)
    let reference = try Judge.opusdecSamples(Cases.folder("E") + "/E01/good.opus")
    let hole = (changed[0] * 960 - 312)..<((changed[49] + 1) * 960 - 312)
    #expect(samples[..<hole.lowerBound] == reference[..<hole.lowerBound])
    #expect(samples[(hole.lowerBound + 960)..<hole.upperBound].allSatisfy { abs($0) < 0.0001 })
    // The decoder has converged 400 ms behind the hole: the same samples at the same place.
    let after = (hole.upperBound + 19_200)..<240_000
    #expect(zip(samples[after], reference[after]).allSatisfy { abs($0 - $1) < 0.001 })
    #expect(
      try Judge.ffmpegSamples(repair.copy)[(hole.lowerBound + 1_920)..<hole.upperBound].allSatisfy {
        abs($0) < 0.0001
      })
  }
  @Test(arguments: ["in_lacing", "in_page_data", "in_page_header", "one_short"])
  func `a cut file ends with its last whole page`(_ cut: String) throws {
    let name = "E02/cut_\(cut).opus"
    let repair = try Repair(case: name)
    let whole = try #require(try Cases.truth("E")[name]?["frames48_whole_pages"] as? Int)
    let done = try repair.expectRepaired(frames: whole)
    #expect(done.lostMsMax == nil, "what a cut file held is unknown")
    let good = try Self.source("E01/good.opus")
    let copy = try Repair.packets(repair.copy)
    #expect(copy == Array(good.prefix(copy.count)))
  }
  @Test(arguments: [2, 6]) func `channels and their mapping stay`(_ channels: Int) throws {
    let folder = try TempFolder("channels")
    let file = try Self.encoded(channels: channels, seconds: 4, in: folder)
    let pages = Self.split(file)
    let repair = try Repair(Data((pages[..<3] + pages[4...]).joined()))
    let done = try repair.expectRepaired(frames: 192_000, channels: channels)
    #expect(done.channels == channels && done.filledMs > 900)
    #expect(try OggPage.read(repair.copy)[0].body == OggPage.read(folder.file("in.opus"))[0].body)
    #expect(try OggPage.read(repair.copy)[1].body == OggPage.read(folder.file("in.opus"))[1].body)
  }
  @Test(arguments: ["2.5", "5", "10", "40", "60"]) func `packets of any length`(_ ms: String) throws {
    let folder = try TempFolder("lengths")
    let file = try Self.encoded(channels: 1, seconds: 4, options: ["--framesize", ms], in: folder)
    var pages = Self.split(file)
    pages.remove(at: pages.count / 2)
    try Repair(Data(pages.joined())).expectRepaired(frames: 192_000)
    pages.removeLast()
    let cut = try Repair(Data(pages.joined()))
    try cut.expectRepaired(frames: Int(try Inspector.inspect(Path(cut.path)).frames))
  }
  @Test func `speech at a low rate, in SILK packets`() throws {
    let folder = try TempFolder("speech")
    let said = try run(
      "opusenc",
      ["--quiet", "--bitrate", "12", "--speech", Places.testaudio("talk.wav"), folder.file("in.opus")])
    #expect(said.code == 0)
    let whole = try Judge.opusdecSamples(folder.file("in.opus"))
    var pages = Self.split(try Data(contentsOf: URL(fileURLWithPath: folder.file("in.opus"))))
    try #require(pages.count > 5)
    pages.remove(at: 3)
    let repair = try Repair(Data(pages.joined()))
    try repair.expectRepaired(frames: whole.count)
    let samples = try Judge.opusdecSamples(repair.copy)
    // The last second is far behind the hole.
    let end = (whole.count - 48_000)..<whole.count
    #expect(zip(samples[end], whole[end]).allSatisfy { abs($0 - $1) < 0.05 })
  }
  @Test func `the last page lost and the flag with it, trailing bytes, a hole at the start`() throws {
    let good = Self.split(try Data(contentsOf: URL(fileURLWithPath: Cases.folder("E") + "/E01/good.opus")))
    let trailing = try Repair(Data(good.joined()) + Data(repeating: 7, count: 999))
    #expect(try trailing.expectRepaired(frames: 240_000).lostMsMax == 0)
    let first = try Repair(Data((good[..<2] + good[3...]).joined()))
    #expect(try first.expectRepaired(frames: 240_000).filledMs > 900)
    let last = try Repair(Data(good.dropLast().joined()))
    try last.expectRepaired(frames: Int(try Inspector.inspect(Path(last.path)).frames))
  }

  // MARK: refusals

  @Test(arguments: [
    ("E02/cut_4096.opus", "no_audio", "ends inside a page"), ("E02/cut_8192.opus", "no_audio", "no audio"),
    ("E02/cut_after_head.opus", "no_audio", "ends after the head"),
    ("E02/cut_after_tags.opus", "no_audio", "ends after the headers"),
    ("E02/cut_in_first_header.opus", "no_audio", "ends inside its first page"),
    ("E04/chain_same_serial.opus", "chained", "one serial number"),
    ("E07/head_ch0.opus", "header", "0 channels"), ("E07/head_family1_no_table.opus", "header", "no mapping"),
    ("E07/head_short.opus", "header", "too short"), ("E07/head_version16.opus", "header", "version 16"),
  ])
  func `refused in words, nothing made`(_ name: String, _ kind: String, _ text: String) throws {
    try Repair(case: name).expectRefused(kind: kind, saying: text)
  }
  @Test func `a damaged chain is refused`() throws {
    let path = try Cases.folder("E") + "/E04/chain_diff_serial.opus"
    var pages = Self.split(try Data(contentsOf: URL(fileURLWithPath: path)))
    pages.removeLast()
    try Repair(Data(pages.joined())).expectRefused(kind: "chained", saying: "chain of 2 parts")
  }
  @Test func `other files and none`() throws {
    try Repair(Data()).expectRefused(kind: "unreadable", saying: "empty")
    try Repair(Data(repeating: 1, count: 5_000)).expectRefused(kind: "unreadable", saying: "no Ogg page")
    let folder = try TempFolder("none")
    func failure(_ path: String) -> RecorderFailure? {
      if case .failure(let failure) = Repair.repair(path) { failure } else { nil }
    }
    #expect(failure(folder.file("a.opus"))?.code == 66)
    #expect(failure(folder.file("no/a.opus"))?.code == 66)
    #expect(failure(folder.path)?.code == 66)
    #expect(mkfifo(folder.file("fifo.opus"), 0o600) == 0)
    #expect(failure(folder.file("fifo.opus"))?.code == 66)
    #expect(folder.names == ["fifo.opus"])
  }

  // MARK: names

  @Test func `the copy takes the next free name, and isn't made twice`() throws {
    let repair = try Repair(case: "E01/no_eos.opus")
    let first = try repair.result.get()
    let again = try Repair.repair(repair.path).get()
    #expect(again.wasThere && again.written == first.written)
    try repair.expectUntouched(beside: ["a.recovered.opus"])
    try repair.folder.write("a.recovered.opus", "someone else's")
    #expect(mkdir(repair.folder.file("a.recovered-2.opus"), 0o700) == 0)
    #expect(symlink("nowhere", repair.folder.file("a.recovered-3.opus")) == 0)
    let third = try Repair.repair(repair.path).get()
    #expect(third.written == Path(repair.folder.file("a.recovered-4.opus")) && !third.wasThere)
    try repair.expectUntouched(
      beside: [
        "a.recovered.opus", "a.recovered-2.opus/", "a.recovered-3.opus", "a.recovered-4.opus",
      ])
    #expect(try Data(contentsOf: URL(fileURLWithPath: repair.copy)) == Data("someone else's".utf8))
  }
  @Test(arguments: [
    ("a.ogg", "a.recovered.opus"), ("a", "a.recovered.opus"), (".opus", ".opus.recovered.opus"),
    ("b c.tar.oga", "b c.tar.recovered.opus"), ("a.recovered.opus", "a.recovered.recovered.opus"),
  ])
  func `names`(_ source: String, _ copy: String) throws {
    let repair = try Repair(
      Data(contentsOf: URL(fileURLWithPath: Cases.folder("E") + "/E01/no_eos.opus")), name: source)
    #expect(try repair.result.get().written == Path(repair.folder.file(copy)))
    try repair.expectUntouched(beside: [copy])
  }
  @Test func `a name too long for its copy, and a folder that can't be written, leave nothing`() throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: Cases.folder("E") + "/E01/no_eos.opus"))
    let long = try Repair(data, name: String(repeating: "n", count: 245) + ".opus")
    try long.expectUntouched()
    #expect(throws: RecorderFailure.self) { try long.result.get() }
    if geteuid() != 0 {
      let folder = try TempFolder("rights")
      let path = try folder.write("a.opus", data)
      #expect(chmod(folder.path, 0o500) == 0)
      defer { chmod(folder.path, 0o700) }
      if case .failure(let failure) = Repair.repair(path) { #expect(failure.code == 77) }
      #expect(folder.names == ["a.opus"])
    }
  }

  // MARK: pieces

  static func encoded(
    channels: Int, seconds: Int, options: [String] = [], in folder: TempFolder
  ) throws -> Data {
    let said = try run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i",
        "anoisesrc=d=\(seconds):c=pink:r=48000:a=0.2:seed=5", "-ac", "\(channels)", folder.file("in.wav"),
      ])
    #expect(said.code == 0, "\(said)")
    let made = try run(
      "opusenc", ["--quiet", "--serial", "77"] + options + [folder.file("in.wav"), folder.file("in.opus")])
    #expect(made.code == 0, "\(made)")
    return try Data(contentsOf: URL(fileURLWithPath: folder.file("in.opus")))
  }
  /// The pages of a whole file, as bytes.
  static func split(_ file: Data) -> [Data] {
    let bytes = [UInt8](file)
    var pages: [Data] = []
    var at = 0
    while at + 27 <= bytes.count {
      let lacing = bytes[(at + 27)..<(at + 27 + Int(bytes[at + 26]))]
      let end = at + 27 + lacing.count + lacing.reduce(0) { $0 + Int($1) }
      pages.append(Data(bytes[at..<end]))
      at = end
    }
    return pages
  }
}
