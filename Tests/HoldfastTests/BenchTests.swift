import Foundation
import Session
import TestSupport
import Testing

@testable import Holdfast

/// What `holdfast bench` says: the words and verdicts by figures, and one short run.
@Suite struct BenchTests {
  private func counts(_ ms: [Double]) -> DurationCounts {
    var counts = DurationCounts()
    for length in ms { counts.add(Int64(length * 1_000_000)) }
    return counts
  }

  @Test func `percentiles and bins are those of the lengths`() {
    let lengths = counts((1...1_000).map { Double($0) / 10 })  // 0.1 to 100 ms
    #expect(lengths.total == 1_000 && lengths.longest == 100_000_000)
    #expect(abs(lengths.percentile(0.5) - 50_000_000) <= DurationCounts.step)
    #expect(abs(lengths.percentile(0.99) - 99_000_000) <= DurationCounts.step)
    #expect(lengths.percentile(1) == 100_000_000)
    let bins = lengths.histogram(belowMs: [10, 50])
    #expect(bins.reduce(0, +) == 1_000 && abs(bins[0] - 99) <= 1 && abs(bins[2] - 501) <= 1)
    #expect(counts([]).percentile(0.5) == 0 && counts([]).longest == 0)
    #expect(counts([-5, 1e9]).longest == 1_000_000_000_000_000)
  }

  @Test func `verdicts are those of the limits`() {
    func encode(_ cpu: Double) -> BenchVerdict {
      BenchJudge.encode(audio: 60, cpu: cpu, bitrate: 32_000, complexity: 10).verdict
    }
    #expect([0.6, 15, 16, 48, 49, 70].map(encode) == [.enough, .enough, .tight, .tight, .short, .short])
    func deadlines(_ ms: [Double], losses: Int = 0) -> BenchVerdict {
      BenchJudge.deadlines(
        "deadlines_rest",
        .init(
          waits: counts(ms), periodNs: 10_000_000, bufferNs: 100_000_000, losses: losses, lostFrames: 0,
          seconds: 1, isFIFO: false, isDevice: true, source: "x")
      ).verdict
    }
    #expect(deadlines([10, 49]) == .enough && deadlines([10, 50]) == .tight && deadlines([100]) == .short)
    #expect(deadlines([10], losses: 1) == .short && deadlines([]) == .short)
    func sync(_ ms: Double) -> BenchVerdict { BenchJudge.sync(counts([ms]), isProvided: true).verdict }
    #expect([199, 200, 399, 400].map(sync) == [.enough, .tight, .tight, .short])
    #expect(BenchJudge.sync(counts([1]), isProvided: false).verdict == .short)
    func seal(_ ms: [Double]) -> BenchVerdict { BenchJudge.seal(counts(ms)).verdict }
    #expect(seal([1, 2, 400]) == .enough && seal([30, 31, 32]) == .tight && seal([60, 61, 1]) == .short)
    func memory(_ bytes: Int64) -> BenchVerdict { BenchJudge.memory(peak: bytes).verdict }
    #expect([31_000_000, 33_000_000, 41_000_000].map(memory) == [.enough, .tight, .short])
  }

  @Test func `a run measures all of it and leaves nothing`() throws {
    let folder = try TempFolder("bench")
    // What a killed one left; and what isn't a bench's.
    try FileManager.default.createDirectory(
      atPath: folder.file(".holdfast-bench-00"), withIntermediateDirectories: false)
    try folder.write(".holdfast-bench-00/lock", "")
    try folder.write(".holdfast-bench-00/sync.data", "x")
    try folder.write("mine.txt", "x")
    var bench = Bench(folder: Path(folder.path), input: .tone(hertz: 440, dbfs: -12))
    bench.seconds = 0.5
    var lines: [BenchLine] = []
    try bench.run { lines.append($0) }
    #expect(
      lines.map(\.name) == ["encode", "deadlines_rest", "deadlines_load", "sync", "seal", "memory"])
    #expect(folder.names == ["mine.txt"], "\(folder.names)")
    for line in lines { #expect(!line.there.isEmpty && line.json.line.contains("\"verdict\"")) }
    let rest = lines[1].figures.first { $0.0 == "reads" }?.1
    #expect((rest?.int ?? 0) > 20)
  }

  @Test func `it ends early when it is told to, and leaves nothing then either`() throws {
    let folder = try TempFolder("bench")
    let bench = Bench(folder: Path(folder.path), input: .tone(hertz: 440, dbfs: -12))
    var lines = 0
    do {
      try bench.run(isCancelled: { true }, onLine: { _ in lines += 1 })
      Issue.record("it went on")
    } catch { #expect(error.kind == "cancelled" && error.code == 0) }
    #expect(lines == 0 && folder.names.isEmpty)
  }

  @Test func `a folder that isn't there is an error`() {
    let bench = Bench(folder: Path("/nonexistent/folder"))
    do {
      try bench.run { _ in }
      Issue.record("it ran")
    } catch { #expect(error.code == 73) }
  }

  @Test func `the command tells machine and lines, in words or as objects`() throws {
    let folder = try TempFolder("bench")
    let words = ["bench", folder.path, "--input", "tone:440", "--seconds", "1"]
    let said = try holdfast(words + ["--json"], timeout: 120)
    #expect(said.code == 0 && said.errText.isEmpty, "\(said)")
    let lines = try said.jsonLines().map(Fields.init)
    #expect(lines.first?.text("event") == "machine" && lines.first?.text("kernel")?.isEmpty == false)
    let names = ["encode", "deadlines_rest", "deadlines_load", "sync", "seal", "memory"]
    #expect(lines.dropFirst().map { $0.text("name") } == names)
    for line in lines.dropFirst() {
      #expect(["enough", "tight", "short"].contains(line.text("verdict")))
      #expect(line.text("needed") != nil && line.text("there") != nil)
    }
    #expect(folder.names.isEmpty)
    for wrong in [["bench", "a", "b"], ["bench", "--seconds", "0"], ["bench", "--input", "-"]] {
      let said = try holdfast(wrong)
      #expect(said.code == 64 && said.isOneLine, "\(said)")
    }
    let nowhere = try holdfast(["bench", "/nonexistent"])
    #expect(nowhere.code == 73 && nowhere.isOneLine, "\(nowhere)")
  }

  @Test func `a signal ends it, and nothing is left`() throws {
    let folder = try TempFolder("bench")
    let bench = try Running(
      Places.built + "/holdfast", ["bench", folder.path, "--input", "tone:440", "--seconds", "600", "--json"])
    #expect(bench.waitFor("\"encode\""))
    usleep(300_000)
    #expect(!folder.names.isEmpty)
    bench.signal(SIGTERM)
    let said = bench.wait()
    #expect(said.code == 0, "\(said)")
    #expect(folder.names.isEmpty, "\(folder.names)")
  }
}
