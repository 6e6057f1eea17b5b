import Foundation
import Holdfast
import TestSupport
import Testing

/// One detector, whatever the way the sound takes to it.
@Suite struct SpeechPathTests {
  private static func talk(_ frames: Int) throws -> [Float] {
    Array(try Wav(reading: Places.testaudio("talk.wav")).samples.prefix(frames))
  }
  /// What `inspect` hears in these samples, to the ms.
  private func heard(_ samples: [Float], rate: Int = 48_000, in folder: TempFolder) throws -> [[Int]] {
    let path = folder.file("heard.wav")
    try Wav(samples, rate: rate).write(to: path)
    return try inspect(path).report.runs("speech")
  }

  @Test(arguments: [1, 10, 441, 480, 1_001, 1_920, 100_000])
  func `a recording at any block size hears what inspect hears in the file`(_ block: Int) throws {
    let folder = try TempFolder()
    let samples = try Self.talk(400_003)
    let known = try heard(samples, in: folder)
    #expect(known.count == 3)
    let take = try record(
      ["--input", "file:" + folder.file("heard.wav"), "--block-frames", "\(block)"], in: folder)
    #expect(try take.manifest().runs("speech") == known)
    let told = take.all("speech").map { $0.int("at_ms") }
    #expect(told == known.flatMap { $0 })
  }

  @Test(arguments: [
    ["--period-ms", "10"], ["--period-ms", "40"], ["--period-ms", "7"], ["--period-ms", "23", "--mmap"],
  ])
  func `a device at any period too`(_ period: [String]) throws {
    let folder = try TempFolder()
    let samples = try Self.talk(192_000)
    let known = try heard(samples, in: folder)
    #expect(known.count == 2)
    let card = try ScriptedCard(samples, in: folder)
    let take = try record(
      ScriptedCard.patient + ["--max-ms", "4000"] + period, in: folder, environment: card.environment)
    try expectSealed(take, frames: 192_000)
    try #require(take.all("gap").isEmpty)
    #expect(try take.manifest().runs("speech") == known)
  }

  /// Resampled while it is recorded with the quality that `inspect` has.
  @Test func `at another rate`() throws {
    let folder = try TempFolder()
    let wav = try Wav(reading: Places.testaudio("rede_16000.wav"))
    let known = try heard(wav.samples, rate: 16_000, in: folder)
    let take = try record(
      ["--input", "file:" + folder.file("heard.wav"), "--resampler", "fastest", "--block-frames", "77"],
      in: folder)
    #expect(try take.manifest().runs("speech") == known && known.count == 3)
  }

  @Test func `a recovered take has the same runs but for its last second`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    let samples = try Self.talk(480_000)
    let known = try heard(samples, in: folder)
    let process = try Running(
      Places.holdfast, ["record", "--json", "--input", "-", "-o", path], input: .pipe)
    for start in stride(from: 0, to: samples.count, by: 4_800) {
      process.send(pack(Array(samples[start..<(start + 4_800)]), .s16))
    }
    try #require(process.waitFor("\"effective_ms\":10000"))
    process.signal(SIGKILL)
    process.wait()
    #expect(try recover([path]).said.code == 0)
    let report = try inspect(path).report
    let end = try #require(report.int("duration_ms")) - 1_000
    #expect(end > 5_000)
    /// Edges before the last second.
    func edges(_ runs: [[Int]]) -> [Int] { runs.flatMap { $0 }.filter { $0 < end } }
    #expect(edges(report.runs("speech")) == edges(known) && edges(known).count == 5)
    #expect(edges(report.runs("speech_pauses")) == Array(edges(known).dropFirst()))
  }
}

extension Fields {
  /// Pairs of ms.
  func runs(_ key: String) -> [[Int]] { (raw[key] as? [[NSNumber]])?.map { $0.map(\.intValue) } ?? [] }
}
