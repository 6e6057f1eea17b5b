import Foundation
import TestSupport
import Testing

/// Issue 2, point 2: every length comes out to the frame, and the same input gives the same bytes however it is read.
@Suite struct ExactLengthTests {
  /// Lengths around the look-ahead (312), a packet (960), their sum, and a page.
  static let lengths = [0, 1, 100, 311, 312, 313, 647, 648, 649, 959, 960, 961, 48_000, 100_001]
  static let blocks = [1, 64, 1000, 48_000]

  private func expectDecoded(_ path: String, _ frames: Int) throws {
    #expect(try Judge.opusdecFrames(path) == frames)
    #expect(try Judge.ffmpegFrames(path) == frames)
    let opusfile = try #require(try Judge.opusfile(path))
    #expect(opusfile.stated == frames && opusfile.decoded == frames)
    #expect(opusfile.links == 1 && opusfile.holes == 0)
  }

  @Test(arguments: lengths) func `three decoders give exactly the frames that went in`(frames: Int) throws {
    let folder = try TempFolder()
    try Wav(Tone.sine(frames, hz: 440, db: -12)).write(to: folder.file("in.wav"))
    let take = try record(["--input", "file:" + folder.file("in.wav")], in: folder)
    try expectSealed(take, frames: frames)
    try expectDecoded(take.path, frames)
    #expect(take.sealed?.text("ended_by") == "source_end")
    #expect(take.sealed?.text("content_type") == "audio/ogg; codecs=opus")
  }

  @Test(arguments: lengths) func `the block size and the way in don't change a byte`(frames: Int) throws {
    let folder = try TempFolder()
    let tone = Tone.white(frames, rmsDb: -20, seed: UInt64(frames) + 1)
    try Wav(tone).write(to: folder.file("in.wav"))
    var sums: Set<String> = []
    for block in Self.blocks {
      let same = ["--take-id", "same", "--block-frames", "\(block)"]
      let file = try record(
        ["--input", "file:" + folder.file("in.wav")] + same, to: "f\(block).opus", in: folder)
      let input = try record(
        ["--input", "-"] + same, to: "i\(block).opus", in: folder, input: .bytes(pack(tone, .s16)))
      for take in [file, input] {
        #expect(take.said.code == 0 && take.sealed?.int("effective_frames") == frames)
        sums.insert(try Judge.sha256(take.path))
      }
    }
    #expect(sums.count == 1)
  }

  @Test func `another take id changes the serial number and no audio`() throws {
    let folder = try TempFolder()
    let takes = try ["a", "b"].map {
      try record(["--input", "tone:440", "--max-ms", "500", "--take-id", $0], to: $0 + ".opus", in: folder)
    }
    let pages = try takes.map { try OggPage.read($0.path) }
    #expect(pages[0][0].serial != pages[1][0].serial)
    #expect(pages[0].map(\.body) == pages[1].map(\.body))
    // The serial is the first four bytes of SHA-256 of the id.
    let digest = try Judge.sha256(folder.write("id", "a"))
    #expect(UInt32(digest.prefix(8), radix: 16)?.byteSwapped == pages[0][0].serial)
  }

  @Test func `max-ms ends the take at that very frame`() throws {
    let take = try record(["--input", "tone:440", "--max-ms", "1234"])
    try expectSealed(take, frames: 1234 * 48)
    #expect(take.sealed?.text("ended_by") == "max_ms")
  }

  @Test func `a shorter take than min-valid-ms is sealed and says what is missing, rounded up`() throws {
    let folder = try TempFolder()
    try Wav(Tone.sine(47_999)).write(to: folder.file("in.wav"))
    let input = ["--input", "file:" + folder.file("in.wav"), "--min-valid-ms"]
    let short = try record(input + ["1000"], in: folder)
    try expectSealed(short, frames: 47_999)
    #expect(short.sealed?.flag("too_short") == true && short.sealed?.int("missing_ms") == 1)
    let long = try record(input + ["999"], to: "b.opus", in: folder)
    #expect(long.sealed?.flag("too_short") == false && long.sealed?.int("missing_ms") == 0)
  }

  /// Slow: nearly ten minutes of audio, five times.
  @Test func `28 million frames keep their length at every block size`() throws {
    let frames = 28_000_000
    let folder = try TempFolder()
    let second = pack(Tone.sine(48_000, hz: 440, db: -12), .s16)
    try #require(FileManager.default.createFile(atPath: folder.file("in.raw"), contents: nil))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("in.raw")))
    for _ in 0..<(frames / 48_000) { try file.write(contentsOf: second) }
    try file.write(contentsOf: second.prefix(2 * (frames % 48_000)))
    try file.close()
    let wav = try run(
      "sox", ["-t", "s16", "-r", "48000", "-c", "1", folder.file("in.raw"), folder.file("in.wav")])
    try #require(wav.code == 0, "\(wav)")

    let same = ["--take-id", "same", "--no-ui"]
    let first = try record(
      ["--input", "-"] + same, in: folder, input: .file(folder.file("in.raw")), timeout: 300)
    try expectSealed(first, frames: frames)
    try expectDecoded(first.path, frames)
    let (said, report) = try inspect(first.path)
    #expect(said.code == 0 && report.int("effective_frames") == frames)
    #expect(said.peakMemory < 40 << 20 && first.said.peakMemory < 40 << 20)
    for block in Self.blocks {
      let again = try record(
        ["--input", "file:" + folder.file("in.wav"), "--block-frames", "\(block)"] + same,
        to: "\(block).opus", in: folder, timeout: 300)
      #expect(again.sealed?.text("sha256") == first.sealed?.text("sha256"), "\(block)")
    }
  }
}
