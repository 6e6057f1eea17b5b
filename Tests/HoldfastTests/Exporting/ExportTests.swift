import Encoding
import Foundation
import TestSupport
import Testing

@testable import Holdfast

/// `holdfast export`: stretches exact to the sample, and nothing left behind.
@Suite struct ExportTests {
  private let folder: TempFolder
  init() throws { folder = try TempFolder("export") }

  private func take(_ extra: [String] = ["--input", "file:" + Places.testaudio("talk.wav")]) throws -> String
  {
    let take = try record(extra, in: folder)
    try #require(take.said.code == 0, "\(take.said)")
    return take.path
  }
  @discardableResult private func export(
    _ path: String, to name: String, _ extra: [String] = [], code: Int32 = 0,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Finished {
    let said = try holdfast(["export", path, "-o", folder.file(name)] + extra)
    #expect(said.code == code, "\(said)", sourceLocation: sourceLocation)
    if code != 0 { #expect(said.isOneLine, "\(said)", sourceLocation: sourceLocation) }
    return said
  }
  private var hidden: [String] { folder.names.filter { $0.hasPrefix(".") } }
  private func range(_ from: String, _ to: String) -> [String] { ["--from", from, "--to", to] }
  private func sixteen(_ samples: some Collection<Float>) -> [Int] {
    samples.map { Int(max(-32_768, min(32_767, ($0 * 32_768).rounded()))) }
  }

  @Test(arguments: ["wav", "flac"])
  func `a stretch decodes to the very frames of the range`(format: String) throws {
    let path = try take()
    let whole = try sixteen(decoded(path))
    for (from, to) in [("00:00", "00:01"), ("00:02.001", "00:02.002"), ("00:03.333", "00:12.750")] {
      let name = "\(from)-\(to).\(format)"
      let said = try export(path, to: name, range(from, to) + ["--json"])
      let (a, b) = (ClipTime.milliseconds(from)! * 48, ClipTime.milliseconds(to)! * 48)
      #expect(try sixteen(decoded(folder.file(name))) == Array(whole[Int(a)..<Int(b)]))
      let line = try Fields(#require(said.jsonLines().first))
      #expect(line.int("frames") == Int(b - a) && line.int("sample_rate") == 48_000)
      #expect(try Judge.ffprobe(folder.file(name), "stream=sample_fmt,channels")["channels"] == "1")
    }
    try export(path, to: "all.\(format)")
    #expect(try sixteen(decoded(folder.file("all.\(format)"))) == whole)
    try export(path, to: "end.\(format)", ["--from", "0:12"])
    #expect(try decoded(folder.file("end.\(format)")).count == whole.count - 12 * 48_000)
    #expect(hidden == [])
  }
  private func decoded(_ path: String) throws -> [Float] {
    let reader = try ClipReader(Path(path))
    var all: [Float] = []
    var block = [Float](repeating: 0, count: 4_800 * reader.channels)
    while case let n = try reader.read(into: &block, atMost: 4_800), n > 0 {
      all += block.prefix(n * reader.channels)
    }
    return all
  }

  @Test func `a WAV of 16 bit comes out as it went in, at its own rate and channels`() throws {
    let path = Places.testaudio("talk.wav")
    let before = try decoded(path)
    try export(path, to: "same.wav")
    try export(path, to: "same.flac")
    #expect(try decoded(folder.file("same.wav")) == before)
    #expect(try decoded(folder.file("same.flac")) == before)
    let stereo = try run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "aevalsrc=0.1*sin(440*t)|0.2*sin(660*t):s=44100:d=1", "-c:a",
        "pcm_s16le",
        folder.file("s.wav"),
      ])
    try #require(stereo.code == 0)
    let both = try decoded(folder.file("s.wav"))
    try export(folder.file("s.wav"), to: "cut.flac", range("00:00.250", "00:00.500"))
    #expect(try decoded(folder.file("cut.flac")) == Array(both[(11_025 * 2)..<(22_050 * 2)]))
  }

  @Test(arguments: ["wav", "flac", "aiff", "ogg", "mp3", "opus"])
  func `any frame can be gone to, forward and back`(kind: String) throws {
    let path = folder.file("talk." + kind)
    let made = try run("ffmpeg", ["-v", "error", "-i", Places.testaudio("talk.wav"), "-ar", "48000", path])
    try #require(made.code == 0, "\(made)")
    let whole = try decoded(path)
    let reader = try ClipReader(Path(path))
    var block = [Float](repeating: 0, count: 1_000)
    for frame in [500_000, 1_000, 1_001, 0, 480_000, 600_000, 599_999] {
      try reader.seek(to: Int64(frame))
      let n = try reader.read(into: &block, atMost: 1_000)
      #expect(block.prefix(n).elementsEqual(whole[frame..<(frame + n)]) && n > 0, "\(frame)")
    }
    try reader.seek(to: Int64(whole.count) + 5)
    #expect(try reader.read(into: &block, atMost: 10) == 0)
  }

  @Test func `an Opus cut has the exact length, the same packets, and the sound of the whole`() throws {
    let path = try take()
    let whole = try decoded(path)
    var worst: Float = 0
    for (from, to) in [
      ("00:00", "00:02"), ("00:00.050", "00:00.060"), ("00:01.234", "00:03.456"), ("00:05.001", "00:12.754"),
      ("00:09.999", "00:10.999"),
    ] {
      let name = "\(from)-\(to).opus"
      try export(path, to: name, range(from, to))
      let (a, b) = (Int(ClipTime.milliseconds(from)! * 48), Int(ClipTime.milliseconds(to)! * 48))
      let file = folder.file(name)
      #expect(try Judge.opusdecFrames(file) == b - a && Judge.opusinfoComplaints(file) == [], "\(name)")
      let cut = try decoded(file)
      #expect(cut.count == b - a)
      let differences = zip(cut, whole[a..<b]).map { abs($0 - $1) }
      let early = differences.prefix(3_840).max() ?? 0
      let late = differences.dropFirst(3_840).max() ?? 0
      print("cut \(name): first 80 ms differ by \(early), the rest by \(late)")
      // Where all before it is in the pre-roll, it is the whole's sound bit by bit.
      if a < OpusCutter.preRoll { #expect(early == 0 && late == 0) }
      worst = max(worst, early, late)
      let pages = try OggPage.read(file)
      #expect(pages.last?.isLast == true && pages.map(\.sequence) == Array(0..<UInt32(pages.count)))
    }
    #expect(worst < 0.01, "\(worst)")
    try export(path, to: "all.opus")
    #expect(try decoded(folder.file("all.opus")) == whole)
    #expect(hidden == [])
  }

  @Test func `what can't be done is said, and nothing is made`() throws {
    let path = try take(["--input", "tone:440", "--max-ms", "1000"])
    for (extra, name) in [
      (["--from", "1"], "a.wav"), (["--from", "00:00.5x"], "a.wav"), (range("00:00.5", "00:00.5"), "a.wav"),
      (range("00:00.6", "00:00.5"), "a.opus"), ([], "a.mp3"), (["--from", "00:01"], "a.wav"),
      (["--to", "00:01.001"], "a.wav"), (["--to", "00:01.001"], "a.opus"), (["--from", "00:02"], "a.opus"),
    ] { try export(path, to: name, extra, code: 64) }
    try export(folder.file("none.opus"), to: "a.wav", code: 66)
    try export(path, to: "no/a.wav", code: 73)
    try folder.write("text.opus", "hello")
    try export(folder.file("text.opus"), to: "a.wav", code: 65)
    try export(Places.testaudio("talk.wav"), to: "a.opus", code: 64)
    #expect(folder.names == ["take.opus", "take.take.json", "text.opus"])
    #expect(try holdfast(["export", path]).code == 64 && holdfast(["export", "-o", "x.wav"]).code == 64)
  }

  @Test func `an existing file stays, or goes to the trash with force`() throws {
    let path = try take(["--input", "tone:440", "--max-ms", "1000"])
    try folder.write("a.wav", "mine")
    try export(path, to: "a.wav", code: 73)
    #expect(try contents(folder.file("a.wav")) == Data("mine".utf8))
    try export(path, to: "a.wav", ["--force"])
    #expect(try decoded(folder.file("a.wav")).count == 48_000)
    let trash = try TakeTrash.list(Path(folder.path)).takes
    #expect(trash.count == 1 && trash[0].name == Path("a.wav") && trash[0].kind == .rest)
    #expect(try contents(trash[0].path.appending("a.wav").text) == Data("mine".utf8))
    try export(path, to: "take.opus", ["--force"], code: 64)  // itself
    let other = try record(["--input", "tone:550", "--max-ms", "500"], to: "other.opus", in: folder)
    try export(path, to: "other.opus", ["--force"])
    // The take that stood there went as a whole, and comes back so.
    #expect(!folder.file("other.take.json").exists)
    try FileManager.default.removeItem(atPath: other.path)
    #expect(try TakeTrash.restore(Path(other.path)).take.kind == .complete)
    #expect(try holdfast(["verify", other.path]).code == 0)
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link.wav"), withDestinationPath: folder.file("a.wav"))
    try export(path, to: "link.wav", ["--force"], code: 73)
  }

  @Test func `damage inside of the stretch is refused, outside it is a note`() throws {
    let path = try take()
    try change(path) { data in
      let pages = pageStarts(data)
      data[pages[7] + 100] ^= 0xFF  // a page in the middle: the sixth second
    }
    for name in ["a.wav", "a.opus"] {
      try export(path, to: name, range("00:04", "00:07"), code: 65)
      let said = try export(path, to: "ok-" + name, range("00:08", "00:10"))
      #expect(said.errText.contains("note:"), "\(said)")
      #expect(try decoded(folder.file("ok-" + name)).count == 2 * 48_000)
      try export(path, to: "before-" + name, range("00:01", "00:02"))
    }
    #expect(!folder.file("a.wav").exists && !folder.file("a.opus").exists && hidden == [])
  }

  @Test func `an unfinished take is exported as far as it is`() throws {
    let path = try killedTake(ms: 2_000, in: folder)
    try export(path, to: "cut.opus", range("00:00.5", "00:01.5"))
    try export(path, to: "cut.wav", range("00:00.5", "00:01.5"))
    #expect(try decoded(folder.file("cut.opus")).count == 48_000)
    let clean = try decoded(undisturbedTake(ms: 2_000, in: folder))
    #expect(try sixteen(decoded(folder.file("cut.wav"))) == sixteen(clean[24_000..<72_000]))
  }

  @Test func `a chain is cut inside of a part, not across`() throws {
    let (a, b) = try (
      take(["--input", "tone:440", "--max-ms", "1000"]), undisturbedTake(ms: 1_000, in: folder)
    )
    let chain = try folder.write("chain.opus", contents(a) + contents(b))
    try export(chain, to: "in.opus", range("00:01.2", "00:01.8"))
    try export(chain, to: "across.opus", range("00:00.5", "00:01.5"), code: 65)
    try export(chain, to: "across.wav", range("00:00.5", "00:01.5"))
    #expect(try Judge.opusdecFrames(folder.file("in.opus")) == 28_800)
  }

  /// With its manifest, which promises more, or without; cut inside of a page, or between two, where nothing but the manifest tells.
  @Test(arguments: [true, false], [0, 37]) func `a file whose end is missing isn't exported as a whole`(
    manifest: Bool, inside: Int
  ) throws {
    let whole = try undisturbedTake(ms: 3_000, in: folder)
    let data = try contents(whole)
    let last = try #require(data.range(of: Data("OggS".utf8), options: .backwards)).lowerBound
    let cut = try folder.write("cut.opus", data.prefix(last + inside))
    let manifestPath = whole.replacingOccurrences(of: ".opus", with: ".take.json")
    if manifest { _ = try folder.write("cut.take.json", contents(manifestPath)) }
    let known = manifest || inside > 0
    for name in ["out.wav", "out.flac", "out.opus"] {
      let said = try holdfast(["export", cut, "-o", folder.file(name)])
      #expect(said.code == (known ? 65 : 0) && folder.file(name).exists == !known, "\(said)")
      #expect(!known || said.isOneLine && said.errText.contains("ends at 00:0"), "\(said)")
    }
    let played = try holdfast(["play", cut, "--output", "file:" + folder.file("heard.wav")])
    #expect(played.code == (known ? 65 : 0) && folder.file("heard.wav").exists, "\(played)")
    // What is there is no less whole for it.
    try export(cut, to: "front.wav", range("00:00.5", "00:01"))
    try export(cut, to: "front.opus", range("00:00.5", "00:01"))
  }
  @Test func `a take without a frame is a file without one`() throws {
    let none = try record(["--input", "-"], to: "none.opus", in: folder)
    #expect(none.sealed?.int("effective_frames") == 0)
    #expect(try holdfast(["export", none.path, "-o", folder.file("none.wav")]).code == 0)
    #expect(try inspect(folder.file("none.wav")).report.int("frames") == 0)
    for name in ["none.flac", "cut.opus"] {
      let refused = try holdfast(["export", none.path, "-o", folder.file(name)])
      #expect(refused.code == 64 && refused.errText.contains("no sound"), "\(refused)")
      #expect(!folder.file(name).exists)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func `a signal ends one that waits for its input`(signal: Int32) throws {
    for words in [["export", "-", "-o", "a.wav"], ["play", "-", "--output", "file:a.wav"]] {
      let process = try Running(Places.holdfast, words, input: .pipe, folder: folder.path)
      usleep(300_000)
      process.signal(signal)
      let said = process.wait(timeout: 20)
      #expect(said.signal == signal, "\(said)")
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func `a signal ends it and leaves nothing`(signal: Int32) throws {
    let long = try hour()
    let process = try Running(Places.holdfast, ["export", long, "-o", folder.file("a.wav")])
    while hidden.isEmpty, process.isRunning { usleep(500) }
    process.signal(signal)
    let said = process.wait()
    #expect(said.signal == signal, "\(said)")
    #expect(hidden == [] && !folder.file("a.wav").exists)
  }
  @Test func `a kill leaves a hidden file that the next export removes`() throws {
    let long = try hour()
    let process = try Running(Places.holdfast, ["export", long, "-o", folder.file("a.wav")])
    while hidden.isEmpty, process.isRunning { usleep(500) }
    process.signal(SIGKILL)
    process.wait()
    #expect(hidden == [".holdfast-export-a.wav"] && !folder.file("a.wav").exists)
    try export(long, to: "a.wav", range("00:01", "00:02"))
    #expect(hidden == [])
  }
  /// An hour of a tone, in its packets.
  private func hour() throws -> String {
    let short = try undisturbedTake(ms: 2_000, in: folder)
    var reader = OpusStreamReader(read: try ByteFile.open(Path(short)).oggBytes)
    let writer = OggCopyWriter(serial: 7)
    var data = Data()
    var packets: [[UInt8]] = []
    while let step = try reader.nextStep() {
      if case .packet(let packet) = step { packets.append(packet.bytes) }
    }
    data += writer.header(reader.headers!.head) + writer.header(reader.headers!.tags!)
    for i in 0..<180_000 { data += writer.add(packets[i % packets.count], frames: 960) }
    data += writer.finish(trim: 0)
    return try folder.write("hour.opus", data)
  }

  @Test func `a second of an hour is cut without decoding what lies before`() throws {
    let long = try hour()
    let said = try export(long, to: "cut.opus", range("59:00.123", "59:10.456"))
    #expect(try Judge.opusdecFrames(folder.file("cut.opus")) == 10_333 * 48)
    #expect(try Judge.opusinfoComplaints(folder.file("cut.opus")) == [])
    print("cut at 59 minutes: \(said.cpuSeconds) s of CPU, \(said.wallSeconds) s")
    #expect(said.cpuSeconds < 2)  // decoding an hour takes over 10 s
  }
}
