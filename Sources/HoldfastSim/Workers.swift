import CSim
import Glibc

/// Sessions in processes of their own, so that a trap is a finding like any other.
enum Workers {
  /// Sessions a process plays before the next one takes over.
  private static let batch: Int64 = 200
  /// Seconds a session may take.
  private static let patience: UInt32 = 60

  /// What became of a scenario: nil, or the rule that it broke.
  private static func outcome(_ scenario: Scenario, verbose: Bool = false) -> String? {
    var ends: [Int32] = [0, 0]
    unsafe pipe(&ends)
    fflush(nil)
    let child = fork()
    if child == 0 {
      alarm(patience)
      let found = play(scenario, verbose: verbose)
      let text = Array((found ?? "").utf8)
      _ = unsafe text.withUnsafeBytes { unsafe write(ends[1], $0.baseAddress, $0.count) }
      fflush(nil)
      _exit(0)
    }
    close(ends[1])
    var said: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let n = unsafe buffer.withUnsafeMutableBytes { unsafe read(ends[0], $0.baseAddress, $0.count) }
      if n <= 0 { break }
      said += buffer[..<n]
    }
    close(ends[0])
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    if status & 127 != 0 { return "no trap: signal \(status & 127)" }
    return said.isEmpty ? nil : String(decoding: said, as: UTF8.self)
  }
  private static func play(_ scenario: Scenario, verbose: Bool = false) -> String? {
    do {
      _ = try Play.run(scenario, verbose: verbose)
      return nil
    } catch let violation as Violation {
      return "\(violation.rule): \(violation.what)"
    } catch { return "error: \(error)" }
  }

  static func show(_ scenario: Scenario) -> Bool {
    let found = outcome(scenario, verbose: true)
    print(found ?? "no rule was broken")
    return found == nil
  }

  /// - Parameter stops: at the first that fails, and as it is.
  /// - Returns: whether no rule was broken.
  static func run(from first: UInt64, sessions: Int64, first stops: Bool) -> Bool {
    var next = first
    let end = first + UInt64(sessions)
    var failures = 0
    while next < end {
      let count = min(UInt64(batch), end - next)
      guard let failed = runBatch(next, count) else {
        next += count
        continue
      }
      failures += 1
      if stops {
        print("seed \(failed): \(outcome(Scenario(seed: failed)) ?? "nothing alone")")
        return false
      }
      report(failed)
      if failures >= 10 {
        print("ten failures: given up")
        return false
      }
      next = failed + 1
    }
    print("\(sessions) sessions, \(failures) failed")
    return failures == 0
  }
  /// - Returns: the first seed that failed.
  private static func runBatch(_ first: UInt64, _ count: UInt64) -> UInt64? {
    var ends: [Int32] = [0, 0]
    unsafe pipe(&ends)
    fflush(nil)
    let child = fork()
    if child == 0 {
      for seed in first..<(first + count) {
        var at = seed
        _ = unsafe write(ends[1], &at, 8)
        alarm(patience)
        if play(Scenario(seed: seed)) != nil { _exit(1) }
      }
      _exit(0)
    }
    close(ends[1])
    var last = first
    var seed: UInt64 = 0
    while unsafe read(ends[0], &seed, 8) == 8 { last = seed }
    close(ends[0])
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    return status == 0 ? nil : last
  }

  /// Prints a failure, as small as it gets.
  private static func report(_ seed: UInt64) {
    let scenario = Scenario(seed: seed)
    guard let found = outcome(scenario) else {
      print("seed \(seed): failed in its batch, and doesn't alone")
      return
    }
    print("seed \(seed): \(found)")
    fflush(nil)
    let small = shrink(scenario, found)
    print("  --replay '\(small.text)'")
    print("  \(outcome(small) ?? "")")
  }
  private static func rule(_ found: String) -> Substring { found.prefix { $0 != ":" } }

  /// Drops what isn't needed for breaking the same rule.
  private static func shrink(_ scenario: Scenario, _ found: String) -> Scenario {
    var best = scenario
    var tries = 0
    func fails(_ other: Scenario) -> Bool {
      tries += 1
      return outcome(other).map { rule($0) == rule(found) } ?? false
    }
    var smaller = true
    let started = time(nil)
    while smaller, tries < 300, time(nil) - started < 60 {
      smaller = false
      for i in best.steps.indices.reversed() where time(nil) - started < 60 {
        var other = best
        other.steps.remove(at: i)
        if fails(other) { (best, smaller) = (other, true) }
      }
      for other in simpler(best) where other != best && fails(other) { (best, smaller) = (other, true) }
    }
    return best
  }
  private static func simpler(_ scenario: Scenario) -> [Scenario] {
    let plain = Scenario()
    var all: [Scenario] = []
    func with(_ change: (inout Scenario) -> Void) {
      var other = scenario
      change(&other)
      all.append(other)
    }
    with { $0.rate = plain.rate }
    with { $0.channels = plain.channels }
    with { $0.periodMs = plain.periodMs }
    with { $0.drift = plain.drift }
    with { $0.closesGaps = false }
    with { $0.maxMs = 0 }
    with { $0.bitrate = plain.bitrate }
    with { $0.waitSeconds = plain.waitSeconds }
    with { $0.replaces = false }
    with { $0.noLocks = false }
    with { $0.noFlags = false }
    with { $0.slowDisk = false }
    with { $0.goesOn = false }
    return all
  }
}
