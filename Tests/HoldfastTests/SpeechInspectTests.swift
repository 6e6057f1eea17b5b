import Foundation
import Holdfast
import TestSupport
import Testing

@Suite struct SpeechInspectTests {
  /// Where the clip pauses by construction, in ms. A last sound that dies away may end early, a soft first one late.
  private func expect(_ found: [Range<Int64>], _ truth: [ClosedRange<Int64>]) {
    #expect(found.count == truth.count, "\(found)")
    for (pause, true_) in zip(found, truth) {
      #expect(abs(pause.lowerBound / 48 - true_.lowerBound) <= 160, "\(pause)")
      #expect(abs(pause.upperBound / 48 - true_.upperBound) <= 140, "\(pause)")
    }
  }
  private let talk: [ClosedRange<Int64>] = [2_751...3_651, 6_397...7_797, 10_147...10_747]

  @Test func `inspect hears the pauses of a talk`() throws {
    let report = try Inspector.inspect(Path(Places.testaudio("talk.wav")))
    expect(report.speech.pauses, talk)
    let practice = report.speech.practice
    #expect(practice.pauses == 3 && abs(practice.leadMs - 500) <= 60 && abs(practice.tailMs - 500) <= 120)
    #expect(report.json["practice"]?["pauses"]?.line == "3")
  }

  @Test(arguments: [8_000, 16_000, 44_100, 96_000])
  func `at any rate, in either channel`(_ rate: Int) throws {
    let folder = try TempFolder()
    let path = folder.file("a.wav")
    let made = try run("sox", [Places.testaudio("talk.wav"), "-r", "\(rate)", path, "remix", "0", "1"])
    try #require(made.code == 0, "\(made)")
    expect(try Inspector.inspect(Path(path)).speech.pauses, talk)
  }

  @Test func `german over room noise`() throws {
    let report = try Inspector.inspect(Path(Places.testaudio("rede_16000.wav")))
    expect(report.speech.pauses, [1_173...1_773, 3_025...4_125])
  }

  @Test func `a longer minimum pause leaves the longer pauses`() throws {
    let report = try Inspector.inspect(Path(Places.testaudio("talk.wav")), minPauseMs: 1_000)
    expect(report.speech.pauses, [talk[1]])
  }

  @Test(arguments: ["zeros.wav", "sine_1k.wav", "clicks_48000.wav"])
  func `nobody speaks`(_ name: String) throws {
    let report = try Inspector.inspect(Path(Places.testaudio(name)))
    #expect(report.speech.speech.isEmpty && report.speech.pauses.isEmpty)
    #expect(report.speech.practice.leadMs == report.durationMs)
  }
}
