import Foundation
import TestSupport
import Testing

/// Other containers and codecs, raw samples, and names of every kind (I04).
@Suite struct SourceKindTests {
  /// What a tool makes of a second of tone; nil for the frames where a codec pads.
  private static let made: [(file: String, arguments: [String], frames: Int?, type: String)] = [
    ("a.flac", [], 44_100, "audio/flac"), ("a.aiff", [], 44_100, "audio/aiff"),
    ("a.ogg", ["-c:a", "libvorbis"], 44_100, "audio/ogg; codecs=vorbis"),
    ("a.mp3", [], nil, "audio/mpeg"), ("a.w64", [], 44_100, "audio/wav"),
    ("rf64.wav", ["-rf64", "always"], 44_100, "audio/wav"), ("a.caf", [], 44_100, "audio/x-caf"),
    ("a.au", [], 44_100, "audio/basic"), ("alaw.wav", ["-c:a", "pcm_alaw"], 44_100, "audio/wav"),
    ("mulaw.wav", ["-c:a", "pcm_mulaw"], 44_100, "audio/wav"),
    ("s32.wav", ["-c:a", "pcm_s32le"], 44_100, "audio/wav"),
    ("f64.wav", ["-c:a", "pcm_f64le"], 44_100, "audio/wav"),
  ]

  @Test(arguments: made.indices) func `what others write is read to the frame and the level`(index: Int)
    throws
  {
    let (file, arguments, frames, type) = Self.made[index]
    let folder = try TempFolder()
    let tone = Tone.sine(44_100, rate: 44_100, hz: 441, db: -12)
    try Wav(tone, rate: 44_100).write(to: folder.file("in.wav"))
    let tool = try run(
      "ffmpeg", ["-v", "error", "-i", folder.file("in.wav")] + arguments + [folder.file(file)])
    try #require(tool.code == 0, "\(tool)")
    let (said, report) = try inspect(folder.file(file))
    #expect(said.code == 0 && report.text("content_type") == type, "\(said)")
    let found = try #require(report.int("frames"))
    if let frames { #expect(found == frames) } else { #expect((44_100...48_000).contains(found)) }
    #expect(report.int("sample_rate") == 44_100 && report.int("channels") == 1)
    #expect(report.objects("problems").isEmpty)
    #expect(abs((report.object("levels").number("rms_db") ?? 0) + 15.01) < (frames == nil ? 0.5 : 0.1))
    let take = try record(["--input", "file:" + folder.file(file)], in: folder)
    try expectSealed(take, frames: Int((Double(found) * 48_000 / 44_100).rounded()))
    #expect(
      abs(frequency(Array(try Judge.opusdecSamples(take.path).dropFirst(9600).prefix(28_800))) - 441) < 1)
  }

  @Test func `AIFF by sox, and Opus by opusenc with two channels`() throws {
    let folder = try TempFolder()
    let tone = Tone.sine(48_000, hz: 440, db: -12).flatMap { [$0, $0 / 2] }
    try Wav(tone, channels: 2).write(to: folder.file("in.wav"))
    for (tool, file) in [("sox", "a.aiff"), ("opusenc", "a.opus")] {
      let quiet = tool == "opusenc" ? ["--quiet"] : []
      let made = try run(tool, quiet + [folder.file("in.wav"), folder.file(file)])
      try #require(made.code == 0, "\(made)")
      let report = try inspect(folder.file(file)).report
      #expect(report.int("frames") == 48_000 && report.int("channels") == 2)
      let levels = report.objects("channel_levels").compactMap { $0.number("rms_db") }
      #expect(levels.count == 2 && abs(levels[0] - levels[1] - 6.02) < 0.3, "\(levels)")
      try expectSealed(
        record(["--input", "file:" + folder.file(file)], to: tool + ".opus", in: folder), frames: 48_000)
    }
  }

  @Test(arguments: ["in.m4a", "in.webm"]) func `a container that can't be read is named`(file: String) throws
  {
    let folder = try TempFolder()
    try Wav(Tone.sine(48_000)).write(to: folder.file("in.wav"))
    let tool = try run("ffmpeg", ["-v", "error", "-i", folder.file("in.wav"), folder.file(file)])
    try #require(tool.code == 0, "\(tool)")
    let said = try inspect(folder.file(file)).said
    #expect(said.code == 65 && said.isOneLine && said.errText.contains("convert it"))
  }

  // MARK: standard input

  @Test(arguments: [
    ("u8", SampleFormat.u8, 1 / 128.0), ("s16le", .s16, 1 / 32_768.0), ("s24le", .s24, 1e-6),
    ("s32le", .s32, 1e-6),
    ("f32le", .f32, 1e-6),
  ]) func `raw samples of every format give the take that the same WAV gives`(
    name: String, format: SampleFormat, step: Double
  ) throws {
    let folder = try TempFolder()
    let tone = Tone.white(2 * 16_000, rmsDb: -20, seed: 3)
    try Wav(tone, rate: 16_000, channels: 2).write(to: folder.file("in.wav"), format)
    let same = ["--take-id", "same", "--channel", "mix"]
    let raw = try record(
      ["--input", "-", "--format", name, "--rate", "16000", "--channels", "2"] + same, to: "raw.opus",
      in: folder,
      input: .bytes(pack(tone, format)))
    let file = try record(["--input", "file:" + folder.file("in.wav")] + same, to: "file.opus", in: folder)
    try expectSealed(raw, frames: 48_000)
    #expect(raw.sealed?.text("sha256") == file.sealed?.text("sha256"))
  }

  @Test func `24 bits in 32 ignore the top byte`() throws {
    let folder = try TempFolder()
    let tone = Tone.sine(24_000, db: -6)
    let packed = [UInt8](pack(tone, .s24))
    func widened(_ top: (Int) -> UInt8) -> Data {
      Data((0..<tone.count).flatMap { packed[(3 * $0)..<(3 * $0 + 3)] + [top($0)] })
    }
    var sums: Set<String?> = []
    for (index, data) in [widened { _ in 0 }, widened { UInt8(truncatingIfNeeded: 31 &* $0) }].enumerated() {
      let take = try record(
        ["--input", "-", "--format", "s24_32le", "--take-id", "same"], to: "\(index).opus", in: folder,
        input: .bytes(data))
      try expectSealed(take, frames: 24_000)
      sums.insert(take.sealed?.text("sha256"))
    }
    #expect(sums.count == 1)
  }

  @Test func `half a frame at the end isn't heard and is told`() throws {
    let data = pack(Tone.sine(4800), .s16) + Data([1])
    let take = try record(["--input", "-"], input: .bytes(data))
    try expectSealed(take, frames: 4800)
    #expect(take.said.errText.contains("inside a frame"), "\(take.said)")
    try expectSealed(record(["--input", "-"], input: .nothing), frames: 0)
    try expectSealed(record(["--input", "-"], input: .closed), frames: 0)
  }

  @Test func `an audio file's head on standard input is a mistake of the caller`() throws {
    let folder = try TempFolder()
    try Wav(Tone.sine(4800)).write(to: folder.file("a.wav"))
    let flac = try Data(contentsOf: URL(fileURLWithPath: Cases.folder("G") + "/G06/plain.flac"))
    let tagged = try Data(contentsOf: URL(fileURLWithPath: Cases.folder("G") + "/G06/id3v2_front.flac"))
    let ogg = try Data(contentsOf: URL(fileURLWithPath: Cases.folder("E") + "/E01/good.opus"))
    for data in [Wav(Tone.sine(4800)).bytes(), flac, tagged, ogg, Data("RIFF".utf8), Data("fLaC".utf8)] {
      let take = try record(["--input", "-"], to: "take.opus", input: .bytes(data))
      #expect(
        take.said.code == 64 && take.said.isOneLine && take.said.errText.contains("file:"), "\(take.said)")
      #expect(take.folder.names == [])
    }
  }

  // MARK: names

  /// As a shell would give it to a program: `$1` is the folder. Only bytes that aren't UTF-8 need one.
  private static let names = [
    "gr\u{FC}n.wav", "gru\u{308}n.wav", "\u{67E5}\u{627E}.wav", "\u{1F3A4}.wav", "-dash.wav", "new\nline.wav",
    "q\"uo'te.wav", "space .wav ", String(repeating: "l", count: 246) + ".wav", "%s%n%x.wav",
  ]

  @Test(arguments: names) func `I04: files of every name are read and written`(name: String) throws {
    let folder = try Cases.folder("I") + "/I04"
    for locale in ["C", "C.UTF-8"] {
      let said = try holdfast(
        ["inspect", "--json", "--", name], environment: ["LC_ALL": locale], folder: folder)
      #expect(said.code == 0, "\(said)")
      let report = try said.jsonLines().first.map(Fields.init)
      #expect(report?.text("path") == name && report?.int("frames") == 4800)
      #expect(
        try holdfast(["inspect", "--", name], environment: ["LC_ALL": locale], folder: folder).code == 0)
    }
    let output = try TempFolder()
    let target = (name.utf8.count > 240 ? "long" : name) + ".opus"
    let said = try holdfast(
      ["record", "--json", "--input", "file:" + folder + "/" + name, "-o", target],
      environment: ["LC_ALL": "C"],
      folder: output.path)
    try expectSealed(Recorded(said, output, output.file(target)), frames: 4800)
    let again = try holdfast(["record", "--input", "tone:1", "-o", target], folder: output.path)
    #expect(again.code == 73 && again.isOneLine, "\(again)")
  }

  @Test func `I04: a name that isn't UTF-8 is read, written, and given in hex`() throws {
    let output = try TempFolder()
    let line = """
      name=$(printf 'bad\\377byte'); "$0" inspect --json "$1/$name.wav"
      "$0" record --json --input "file:$1/$name.wav" -o "$2/$name.opus" | grep sealed | tail -n 1
      "$0" list --json "$2"; "$0" verify --json "$2/$name.opus"; "$0" record --input tone:1 -o "$2/$name.opus"
      """
    let said = try run("bash", ["-c", line, Places.holdfast, Cases.folder("I") + "/I04", output.path])
    #expect(said.code == 73 && said.isOneLine)
    let lines = try said.jsonLines().map(Fields.init)
    #expect(lines.count == 4)
    for fields in lines {
      #expect(fields.text("path")?.contains("bad\u{FFFD}byte") == true)
      #expect(fields.text("path_hex")?.contains("626164ff62797465") == true)
    }
    #expect(lines.last?.flag("ok") == true)
  }
}
