import Foundation
import TestSupport
import Testing

/// `--auto-pause` and `--stop-after-silence` through the whole command.
@Suite struct AutoPauseTakeTests {
  private static let talkFrames = 612_221
  /// A talk, a quiet room, the talk again.
  private func talkTwice(_ seconds: Int = 8) throws -> [Float] {
    let talk = try Wav(reading: Places.testaudio("talk.wav")).samples
    return talk + Tone.white(48_000 * seconds, rmsDb: -66, seed: 5) + talk
  }
  private func take(
    _ samples: [Float], _ arguments: [String], rate: Int = 48_000
  ) throws -> Recorded {
    let folder = try TempFolder()
    let input = folder.file("in.wav")
    try Wav(samples, rate: rate).bytes().write(to: URL(fileURLWithPath: input))
    return try record(["--input", "file:\(input)", "--take-id", "a"] + arguments, in: folder)
  }

  @Test func `silence is left out, told, and never counted as a pause`() throws {
    let samples = try talkTwice()
    let whole = try take(samples, [])
    let short = try take(samples, ["--auto-pause", "2"])
    try expectSealed(short)
    #expect(short.sealed?.int("pause_count") == 0)
    let changes = short.all("auto_pause")
    #expect(changes.map { $0.flag("active") } == [true, false])
    let left = try #require(try short.manifest().objects("auto_pauses").first)
    let at = try #require(left.int("at_ms"))
    let length = try #require(left.int("length_ms"))
    #expect(changes.map { $0.int("at_ms") } == [at, at + 5])
    // Two seconds behind the last word, to 200 ms before the first: 8 s of room, half a second of the talk on either side.
    #expect((6_700...6_950).contains(length), "\(left)")
    let frames = try #require(short.sealed?.int("effective_frames"))
    let all = try #require(whole.sealed?.int("effective_frames"))
    #expect((all - frames) / 48 == length)
    let report = try inspect(short.path).report
    #expect(report.objects("auto_pauses").map { $0.int("length_ms") } == [length])
    #expect(report.objects("pauses").isEmpty && report.text("measured_on") == "manifest")
    #expect(try holdfast(["verify", short.path]).code == 0)
    // The joint is an edge: one speech pause less than the take that has the silence.
    #expect(report.object("practice").int("pauses") == 6)
    #expect(try inspect(whole.path).report.object("practice").int("pauses") == 7)
    let card = try holdfast(["inspect", short.path]).outText
    #expect(card.contains("left out      1: silence at 00:14 for 6.8 s"), "\(card)")
  }

  @Test(arguments: [48_000, 44_100])
  func `the same bytes at any block size`(_ rate: Int) throws {
    let samples = Array(try talkTwice(5).dropFirst(300_000).dropLast(300_000))
    let one = try take(samples, ["--auto-pause", "1"], rate: rate)
    #expect(!(try one.manifest().objects("auto_pauses").isEmpty))
    for block in ["37", "480", "100000"] {
      let other = try take(samples, ["--auto-pause", "1", "--block-frames", block], rate: rate)
      #expect(other.sealed?.text("sha256") == one.sealed?.text("sha256"), "\(block)")
    }
  }

  @Test func `a take that ends in silence says how long it was`() throws {
    let talk = Array(try talkTwice().prefix(Self.talkFrames + 48_000 * 8))
    let take = try take(talk, ["--auto-pause", "2"])
    try expectSealed(take)
    let left = try take.manifest().objects("auto_pauses").first
    let at = try #require(left?.int("at_ms"))
    #expect(at + 5 + (left?.int("length_ms") ?? 0) == talk.count / 48)
    #expect(take.sealed?.int("duration_ms") == at + 5)
  }

  @Test func `silence stops a take, and says so before`() throws {
    let take = try take(try talkTwice(20), ["--stop-after-silence", "12"])
    try expectSealed(take)
    #expect(take.sealed?.text("ended_by") == "silence")
    let warning = try #require(take.all("warning").first { $0.text("kind") == "silence" })
    let end = try #require(take.sealed?.int("duration_ms"))
    let at = try #require(warning.int("at_ms"))
    #expect(warning.flag("active") == true && abs(end - 5_000 - at) <= 40)
    let lastWord = 588_221 / 48
    #expect((lastWord + 11_800...lastWord + 12_200).contains(end), "\(end)")
    #expect(take.said.errText.contains("the take is stopped in 5 s"))
    #expect(try take.manifest().text("ended_by") == "silence")
  }

  @Test func `sound before the time keeps a take going`() throws {
    let take = try take(try talkTwice(), ["--stop-after-silence", "10"])
    #expect(take.sealed?.text("ended_by") == "source_end")
    #expect(
      take.all("warning").filter { $0.text("kind") == "silence" }.map { $0.flag("active") } == [true, false])
  }

  @Test(arguments: ["-1", "1.5", "x", "86401"])
  func `seconds that make no sense are refused`(_ value: String) throws {
    for option in ["--auto-pause", "--stop-after-silence"] {
      #expect(try holdfast(["record", option, value, "--input", "tone:440"]).code == 64)
    }
  }

  @Test func `0 switches off what is configured`() throws {
    let folder = try TempFolder()
    let said = try holdfast(
      [
        "record", "--auto-pause", "0", "--stop-after-silence=0", "--input", "tone:440,-150", "--max-ms",
        "9000", "-o",
        folder.file("a.opus"), "--json",
      ], environment: ["HOLDFAST_AUTO_PAUSE": "2", "HOLDFAST_STOP_AFTER_SILENCE": "3"])
    #expect(try Fields(#require(said.jsonLines().last)).int("duration_ms") == 9_000, "\(said)")
  }

  @Test func `killed in a silence, recovered, and gone on with`() throws {
    let sound = Array(try talkTwice().prefix(Self.talkFrames + 48_000 * 5))
    for goesOn in [false, true] {
      let folder = try TempFolder()
      let path = folder.file("take.opus")
      let process = try Running(
        Places.holdfast, ["record", "--json", "--input", "-", "--auto-pause", "2", "-o", path], input: .pipe)
      for start in stride(from: 0, to: sound.count, by: 4_800) {
        process.send(pack(Array(sound[start..<min(start + 4_800, sound.count)]), .s16))
      }
      try #require(process.waitFor("\"auto_pause\",\"active\":true"))
      usleep(300_000)  // what is in memory then is told by the bounds
      process.signal(SIGKILL)
      process.wait()
      let partial = try inspect(path).report
      #expect(partial.objects("auto_pauses").count == 1)
      if goesOn {
        let said = try holdfast(
          ["record", "--json", "--input", "-", "--continue", path],
          input: .bytes(pack(Array(try talkTwice(0).prefix(200_000)), .s16)))
        let take = try Recorded(said, folder, path)
        let known = try #require(partial.int("effective_frames"))
        try expectSealed(take, frames: known + 200_000)
      } else {
        #expect(try recover([path]).said.code == 0)
      }
      let report = try inspect(path).report
      #expect(report.objects("auto_pauses").map { $0.int("length_ms") } == [nil])
      #expect(report.int("pause_count") == 0)
      #expect(try holdfast(["verify", path]).code == 0)
    }
  }
}
