import Foundation
import Holdfast
import TestSupport
import Testing

@Suite struct VerdictTests {
  private func verdicts(_ samples: [Float], rate: Int = 48_000) throws -> [String] {
    let folder = try TempFolder()
    let path = folder.file("a.wav")
    try Wav(samples, rate: rate).bytes().write(to: URL(fileURLWithPath: path))
    return try Inspector.inspect(Path(path)).verdicts.map(\.kind.rawValue)
  }
  private func talk() throws -> [Float] { try Wav(reading: Places.testaudio("talk.wav")).samples }
  private func sum(_ a: [Float], _ b: [Float]) -> [Float] { zip(a, b).map { $0 + $1 } }

  @Test func `a good talk has none, also in a quiet room`() throws {
    #expect(try verdicts(talk()) == [])
    #expect(try verdicts(sum(talk(), Tone.white(612_221, rmsDb: -55))) == [])
    #expect(try Inspector.inspect(Path(Places.testaudio("rede_16000.wav"))).verdicts == [])
  }
  @Test func `too quiet`() throws {
    #expect(try verdicts(talk().map { $0 * 0.02 }) == ["too_quiet"])
    #expect(try verdicts(talk().map { $0 * 0.1 }) == [])
    #expect(try verdicts(Tone.silence(96_000)) == ["too_quiet"])
    #expect(try verdicts(Tone.white(96_000, rmsDb: -52)) == [])
    #expect(try verdicts(Tone.sine(12_000, db: -20)) == [])  // too short for loudness
  }
  @Test func `too loud: clipped, but a legal full-scale sample isn't`() throws {
    #expect(try verdicts(talk().map { max(-1, min(1, $0 * 3)) }) == ["too_loud"])
    var one = try talk()
    one[30_000] = 1
    #expect(try verdicts(one) == [])
    #expect(try verdicts(Tone.sine(96_000, db: -3)) == ["too_loud"])
  }
  /// A voice's mean isn't zero, and isn't in the background: it must not be taken off that.
  @Test func `the noise floor is that of the noise, beside a voice`() throws {
    let folder = try TempFolder()
    let path = folder.file("a.wav")
    try Wav(sum(talk(), Tone.white(612_221, rmsDb: -66))).write(to: path)
    let take = try record(["--input", "file:\(path)"], in: folder)
    for figures in [try take.manifest(), try inspect(path).report] {
      let floor = try #require(figures.object("levels").number("noise_floor_db"))
      #expect(abs(floor + 66) < 1, "\(floor)")
    }
  }
  @Test func `noisy`() throws {
    #expect(try verdicts(sum(talk(), Tone.white(612_221, rmsDb: -32))) == ["noisy"])
    #expect(try verdicts(sum(talk(), Tone.white(612_221, rmsDb: -42))) == [])
  }
  @Test func `humming, and the offset`() throws {
    let hum = sum(Tone.sine(612_221, hz: 50, db: -40), Tone.sine(612_221, hz: 150, db: -45))
    #expect(try verdicts(sum(talk(), hum)) == ["humming"])
    #expect(try verdicts(talk().map { $0 * 0.5 + 0.03 }) == ["offset"])
  }
  @Test func `nothing has no sound to judge`() throws { #expect(try verdicts([]) == []) }

  @Test func `in words on the card, as objects in JSON, and a sealed take keeps what was measured`() throws {
    let folder = try TempFolder()
    let input = folder.file("in.wav")
    let hum = sum(Tone.sine(612_221, hz: 100, db: -40), Tone.sine(612_221, hz: 150, db: -40))
    let samples = sum(try talk(), hum).map { max(-1, min(1, 3 * $0 + 0.03)) }
    try Wav(samples).bytes().write(to: URL(fileURLWithPath: input))
    let take = try record(["--input", "file:\(input)"], in: folder)
    let report = try inspect(take.path).report
    #expect(report.objects("verdicts").map { $0.text("kind") } == ["too_loud", "humming", "offset"])
    let levels = report.object("levels")
    #expect(levels.int("hum_hz") == 50)
    #expect(levels.int("clipped_runs") == (try take.manifest().object("levels").int("clipped_runs")))
    let card = try holdfast(["inspect", take.path]).outText
    for words in [
      ": move the microphone away", "mains hum of 50 Hz", "DC offset: ", "hum of 50 Hz at -3", "clipped ",
    ] {
      #expect(card.contains(words), "\(words) in \(card)")
    }
  }

  /// The runs of a sealed take are those that were heard while it was recorded, which `inspect` reads.
  @Test func `speech of a sealed take is the manifest's, of a changed file what is heard`() throws {
    let folder = try TempFolder()
    let take = try record(["--input", "file:" + Places.testaudio("talk.wav")], in: folder)
    func speech() throws -> [[NSNumber]] {
      try #require(try inspect(take.path).report.raw["speech"] as? [[NSNumber]])
    }
    let manifest = folder.file("take.take.json")
    let text = try String(contentsOfFile: manifest, encoding: .utf8)
    let told = try #require(try take.manifest().raw["speech"] as? [[NSNumber]])
    #expect(try speech() == told && told.count == 4)
    // Nothing listens: what stands there is what is told.
    let first = try #require(told.first).map(\.intValue)
    let json = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    var moved = json
    var runs = told
    runs[0] = [NSNumber(value: first[0] + 7), NSNumber(value: first[1])]
    (moved["speech"], moved["practice"]) = (runs, nil)
    try JSONSerialization.data(withJSONObject: moved).write(to: URL(fileURLWithPath: manifest))
    #expect(try speech().first?.first?.intValue == first[0] + 7)
    moved["sha256"] = String(repeating: "0", count: 64)
    try JSONSerialization.data(withJSONObject: moved).write(to: URL(fileURLWithPath: manifest))
    #expect(try speech().first?.first?.intValue != first[0] + 7)
  }
}
