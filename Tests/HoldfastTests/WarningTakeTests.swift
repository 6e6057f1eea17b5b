import Foundation
import TestSupport
import Testing

/// The warnings that come and go, through the whole command.
@Suite struct WarningTakeTests {
  private func warnings(
    _ samples: [Float], _ arguments: [String] = [], rate: Int = 48_000
  ) throws -> (all: [String], at: [Int], take: Recorded) {
    let folder = try TempFolder()
    let input = folder.file("in.wav")
    try Wav(samples, rate: rate).bytes().write(to: URL(fileURLWithPath: input))
    let take = try record(["--input", "file:\(input)"] + arguments, in: folder)
    let found = take.all("warning")
    return (
      found.map { "\($0.text("kind") ?? "") \($0.flag("active") == true)" },
      found.compactMap { $0.int("at_ms") }, take
    )
  }
  private func talk() throws -> [Float] { try Wav(reading: Places.testaudio("talk.wav")).samples }

  @Test func `clipping comes with the first clipped run and goes 5 s after the last`() throws {
    let clipped = Tone.sine(48_000, db: 6).map { max(-1, min(1, $0)) }
    let (all, at, take) = try warnings(
      Tone.sine(96_000, db: -20) + clipped + Tone.sine(48_000 * 7, db: -20))
    try expectSealed(take)
    #expect(all == ["clipping true", "clipping false"])
    try #require(at.count == 2)
    #expect((1_900...2_000).contains(at[0]) && (7_900...8_100).contains(at[1]), "\(at)")
    let told = take.said.errText
    #expect(told.contains("lower its level") && told.contains("clips no longer"), "\(told)")
  }

  /// The pause is the person's, and so is what they shout in it.
  @Test func `what clips in a pause is neither told nor counted`() throws {
    let folder = try TempFolder()
    let quiet = Tone.sine(48_000, db: -20)
    let samples = quiet + Tone.sine(48_000, db: 6).map { max(-1, min(1, $0)) } + quiet
    let take = try ScheduledTake(samples, rate: 48_000).recorded(pauses: [42_000..<97_000], in: folder)
    #expect(take.all("warning").isEmpty)
    #expect(try take.manifest().object("levels").int("clipped_runs") == 0)
    let other = try ScheduledTake(samples, rate: 48_000).recorded(pauses: [70_000..<97_000], in: TempFolder())
    #expect(other.all("warning").map { $0.text("kind") } == ["clipping"])
    #expect(try other.manifest().object("levels").int("clipped_runs") ?? 0 > 500)
  }

  @Test(arguments: [48_000, 44_100])
  func `a sine at full scale and a lone full-scale sample clip nothing`(_ rate: Int) throws {
    var samples = Tone.sine(rate * 2, rate: rate, hz: 1_003, db: 0)
    samples += Tone.sine(rate, rate: rate, db: -20)
    samples[rate * 5 / 2] = 1
    #expect(try warnings(samples, rate: rate).all == [])
  }

  @Test func `a talk that is far too low is told once, one that is loud enough never`() throws {
    #expect(try warnings(talk()).all == [])
    let (all, at, take) = try warnings(talk().map { $0 * 0.02 })  // speech at −54 dBFS
    #expect(all == ["too_quiet true"] && (3_500...6_500).contains(at.first ?? 0), "\(all) \(at)")
    #expect(take.said.errText.contains("too quiet: come nearer to the microphone or raise its level"))
    try expectSealed(take)
  }

  @Test func `it goes when the talk gets louder`() throws {
    let (all, _, take) = try warnings(talk().map { $0 * 0.02 } + talk())
    #expect(all == ["too_quiet true", "too_quiet false"])
    #expect(take.said.errText.contains("loud enough now"))
  }

  /// Case A11 of dead microphones: zeros are no signal and nothing else, a muted input's hiss is too quiet, a room neither.
  @Test func `zeros, a muted input, a quiet room`() throws {
    #expect(try warnings(Tone.silence(48_000 * 15)).all == ["no_signal true"])
    #expect(try warnings(Tone.white(48_000 * 15, rmsDb: -66)).all == ["too_quiet true"])
    #expect(try warnings(Tone.white(48_000 * 15, rmsDb: -52)).all == [])
  }
}
