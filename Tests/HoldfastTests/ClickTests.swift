import Foundation
import TestSupport
import Testing

/// Case B04: neither end of a file is lost, at any rate and however it is read.
@Suite struct ClickTests {
  static let rates = [8000, 11_025, 16_000, 44_100, 48_000, 96_000, 192_000]

  /// Where the two clicks are heard, in seconds: the largest sample of each half.
  private func clicks(_ samples: [Float]) -> (first: Double, last: Double, atLeast: Float) {
    func largest(_ range: Range<Int>) -> (Int, Float) {
      var best = (range.lowerBound, Float(0))
      for i in range where abs(samples[i]) > best.1 { best = (i, abs(samples[i])) }
      return best
    }
    let (a, b) = (largest(0..<samples.count / 2), largest(samples.count / 2..<samples.count))
    return (Double(a.0) / 48_000, Double(b.0) / 48_000, min(a.1, b.1))
  }

  @Test(arguments: rates) func `clicks 5 ms from each end are in the decoded take, where they were`(rate: Int)
    throws
  {
    let name = "B04/click_\(rate).wav"
    let truth = try #require(try Cases.truth("B")[name])
    let places = try #require(truth["click_s"] as? [Double])
    let frames = try #require(truth["frames48"] as? Int)
    let source = try Cases.folder("B") + "/" + name
    let folder = try TempFolder()
    var sums: Set<String> = []
    for block in [1, 64, 1000, 48_000] {
      let take = try record(
        ["--input", "file:" + source, "--take-id", "same", "--block-frames", "\(block)"],
        to: "\(block).opus", in: folder)
      #expect(take.said.code == 0)
      sums.insert(try Judge.sha256(take.path))
    }
    #expect(sums.count == 1)
    let take = try record(["--input", "file:" + source, "--take-id", "same"], in: folder)
    try expectSealed(take, frames: frames)
    #expect(sums.contains(try Judge.sha256(take.path)))
    let heard = clicks(try Judge.opusdecSamples(take.path))
    #expect(abs(heard.first - places[0]) < 0.002 && abs(heard.last - places[1]) < 0.002, "\(heard)")
    #expect(heard.atLeast > 0.05, "\(heard)")
  }

  @Test(arguments: [8000, 44_100, 96_000]) func `the same holds for raw samples on standard input`(rate: Int)
    throws
  {
    let file = try Cases.folder("B") + "/B04/click_\(rate).wav"
    let wav = try Wav(reading: file)
    let folder = try TempFolder()
    let same = ["--take-id", "same"]
    let input = try record(
      ["--input", "-", "--rate", "\(rate)"] + same, in: folder, input: .bytes(pack(wav.samples, .s16)))
    let fromFile = try record(["--input", "file:" + file] + same, to: "file.opus", in: folder)
    #expect(input.said.code == 0)
    #expect(try Judge.sha256(input.path) == Judge.sha256(fromFile.path))
  }

  @Test(arguments: [
    "B03/n47999_48000", "B03/n48000_48000", "B03/n48001_48000", "B03/n44100_44100", "B03/n960_48000",
  ])
  func `B03: another encoder's Opus file has its length to the sample`(name: String) throws {
    let frames = try #require(try Cases.truth("B")[name + ".opus"]?["frames48"] as? Int)
    let path = try Cases.folder("B") + "/\(name).opus"
    let (said, report) = try inspect(path)
    #expect(said.code == 0 && report.int("effective_frames") == frames)
    #expect(report.int("duration_ms") == frames / 48 && report.text("outcome") == "foreign")
    try expectSealed(try record(["--input", "file:" + path]), frames: frames)
  }

  @Test(arguments: [1, 959, 48_001])
  func `B03: inspect tells a take's own length, with and without its manifest`(
    frames: Int
  ) throws {
    let folder = try TempFolder()
    try Wav(Tone.sine(frames)).write(to: folder.file("in.wav"))
    let take = try record(["--input", "file:" + folder.file("in.wav")], in: folder)
    let whole = try inspect(take.path).report
    #expect(whole.int("effective_frames") == frames && whole.text("measured_on") == "manifest")
    #expect(whole.text("outcome") == "complete")
    try FileManager.default.removeItem(atPath: folder.file("take.take.json"))
    let alone = try inspect(take.path).report
    #expect(alone.int("effective_frames") == frames && alone.text("measured_on") == "decoded")
    #expect(alone.text("outcome") == "foreign")
  }
}
