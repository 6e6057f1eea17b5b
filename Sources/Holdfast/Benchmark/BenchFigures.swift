import Session

/// Whether this machine has what Holdfast needs.
public enum BenchVerdict: String, Sendable, CaseIterable {
  /// With room to spare.
  case enough
  /// It does, and a busier moment may be too much.
  case tight
  /// It doesn't.
  case short
}

/// One line of `holdfast bench`.
public struct BenchLine: Sendable {
  /// snake_case: encode, deadlines_rest, deadlines_load, sync, seal, memory.
  public var name: String
  /// What is needed, in words.
  public var needed: String
  /// What there is, in words.
  public var there: String
  public var verdict: BenchVerdict
  /// The figures behind the words, for `--json`; their names carry their units.
  public var figures: [(String, JSON)]

  /// A line of `bench --json`.
  public var json: JSON {
    .object(
      [("event", .string("bench")), ("name", .string(name)), ("verdict", .string(verdict.rawValue))] + figures
        + [("needed", .string(needed)), ("there", .string(there))])
  }
}

/// Lengths of time, counted in steps of 0.1 ms: room for all, no allocation while they are counted.
struct DurationCounts: Sendable {
  static let step: Int64 = 100_000  // nanoseconds
  private var counts = [UInt32](repeating: 0, count: 20_001)  // the last: 2 s and more
  private(set) var total = 0
  /// Nanoseconds.
  private(set) var longest: Int64 = 0

  mutating func add(_ nanoseconds: Int64) {
    let length = max(0, nanoseconds)
    counts[Int(min(length / Self.step, Int64(counts.count - 1)))] += 1
    total += 1
    longest = max(longest, length)
  }
  /// The length that this share of all doesn't exceed, nanoseconds, to a step upwards; never above the longest. 0 for none.
  func percentile(_ share: Double) -> Int64 {
    let wanted = (share * Double(total)).rounded(.up)
    var seen = 0
    for (i, count) in counts.enumerated() where count > 0 {
      seen += Int(count)
      if Double(seen) >= wanted { return min(longest, Int64(i + 1) * Self.step) }
    }
    return longest
  }
  /// How many lie in each of these: below the first limit, below the second …, and at or above the last; limits in ms.
  func histogram(belowMs limits: [Int64]) -> [Int] {
    var bins = [Int](repeating: 0, count: limits.count + 1)
    for (i, count) in counts.enumerated() where count > 0 {
      let at = Int64(i) * Self.step
      bins[limits.firstIndex { at < $0 * 1_000_000 } ?? limits.count] += Int(count)
    }
    return bins
  }
}

/// The lines' words and verdicts: figures in, nothing measured.
enum BenchJudge {
  static func milliseconds(_ nanoseconds: Int64) -> Double {
    (Double(nanoseconds) / 100_000).rounded() / 10
  }
  private static func text(_ nanoseconds: Int64) -> String { "\(milliseconds(nanoseconds)) ms" }

  /// - Parameters:
  ///   - audio: seconds encoded.
  ///   - cpu: CPU seconds of the whole pipeline, its four threads together.
  static func encode(audio: Double, cpu: Double, bitrate: Int, complexity: Int) -> BenchLine {
    let factor = cpu > 0 ? audio / cpu : 0
    let share = factor > 0 ? 100 / factor : 100
    return BenchLine(
      name: "encode", needed: "1 x real time; from 4 x on a core is left to others",
      there: "\(Int(factor)) x real time: \((share * 10).rounded() / 10) % of a core",
      verdict: factor >= 4 ? .enough : factor >= 1.25 ? .tight : .short,
      figures: [
        ("audio_s", .double(audio)), ("cpu_s", .double((cpu * 1_000).rounded() / 1_000)),
        ("realtime_factor", .double((factor * 10).rounded() / 10)), ("bitrate", .int(Int64(bitrate))),
        ("complexity", .int(Int64(complexity))),
      ])
  }

  /// What the times between a device's reads come to.
  struct Deadlines: Sendable {
    var waits: DurationCounts
    var periodNs: Int64
    var bufferNs: Int64
    /// Losses that the device told or the watchdog found, and the frames they come to.
    var losses: Int
    var lostFrames: Int64
    var seconds: Double
    var isFIFO: Bool
    var isDevice: Bool
    /// What was read: a device, or a source by the clock.
    var source: String
  }
  static let histogramMs: [Int64] = [2, 5, 10, 15, 20, 30, 50, 100, 200]

  static func deadlines(_ name: String, _ d: Deadlines) -> BenchLine {
    let longest = d.waits.longest
    let verdict: BenchVerdict =
      d.losses > 0 || longest >= d.bufferNs || d.waits.total == 0
      ? .short : longest * 2 >= d.bufferNs ? .tight : .enough
    let lost = d.losses > 0 ? ", \(d.losses) overrun\(d.losses == 1 ? "" : "s")" : ", none lost"
    return BenchLine(
      name: name,
      needed: "a read each \(text(d.periodNs)), never later than the buffer of \(text(d.bufferNs))",
      there: "99 % within \(text(d.waits.percentile(0.99))), longest \(text(longest))\(lost)"
        + (d.isDevice ? "" : " (\(d.source))"),
      verdict: verdict,
      figures: [
        ("source", .string(d.source)), ("seconds", .double(d.seconds)),
        ("reads", .int(Int64(d.waits.total))), ("period_ms", .double(milliseconds(d.periodNs))),
        ("buffer_ms", .double(milliseconds(d.bufferNs))), ("realtime_priority", .bool(d.isFIFO)),
        ("p50_ms", .double(milliseconds(d.waits.percentile(0.5)))),
        ("p99_ms", .double(milliseconds(d.waits.percentile(0.99)))),
        ("max_ms", .double(milliseconds(longest))), ("overruns", .int(Int64(d.losses))),
        ("lost_frames", .int(d.lostFrames)),
        ("histogram_below_ms", .array(histogramMs.map { .int($0) })),
        ("histogram", .array(d.waits.histogram(belowMs: histogramMs).map { .int(Int64($0)) })),
      ])
  }

  /// A power cut loses at most 1 s while a sync takes under 400 ms, since one is begun every 500 ms.
  static func sync(_ syncs: DurationCounts, isProvided: Bool) -> BenchLine {
    let longest = syncs.longest
    let limit: Int64 = 400_000_000
    return BenchLine(
      name: "sync", needed: "under 400 ms: then a power cut costs 1 s at most",
      there: isProvided
        ? "half within \(text(syncs.percentile(0.5))), 99 % within \(text(syncs.percentile(0.99))), longest \(text(longest))"
        : "the file system doesn't sync: a power cut may cost everything",
      verdict: !isProvided || longest >= limit ? .short : longest * 2 >= limit ? .tight : .enough,
      figures: [
        ("syncs", .int(Int64(syncs.total))), ("p50_ms", .double(milliseconds(syncs.percentile(0.5)))),
        ("p99_ms", .double(milliseconds(syncs.percentile(0.99)))), ("max_ms", .double(milliseconds(longest))),
      ])
  }

  static func seal(_ seals: DurationCounts) -> BenchLine {
    let median = seals.percentile(0.5)
    let limit: Int64 = 50_000_000
    return BenchLine(
      name: "seal", needed: "50 ms, half of the time",
      there: "half within \(text(median)), longest \(text(seals.longest))",
      verdict: median > limit ? .short : median * 2 > limit ? .tight : .enough,
      figures: [
        ("takes", .int(Int64(seals.total))), ("p50_ms", .double(milliseconds(median))),
        ("max_ms", .double(milliseconds(seals.longest))),
      ])
  }

  /// - Parameter peak: the largest resident size of this process, bytes.
  static func memory(peak: Int64) -> BenchLine {
    let limit: Int64 = 40_000_000
    return BenchLine(
      name: "memory", needed: "40 MB", there: "\(Double(peak / 100_000) / 10) MB at most",
      verdict: peak > limit ? .short : peak * 10 > limit * 8 ? .tight : .enough,
      figures: [("peak_bytes", .int(peak))])
  }
}
