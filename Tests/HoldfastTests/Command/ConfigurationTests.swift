import Foundation
import TestSupport
import Testing

/// Flags, then `HOLDFAST_*`, then the file.
@Suite struct ConfigurationTests {
  private let home: TempFolder
  init() throws {
    home = try TempFolder("config")
    try FileManager.default.createDirectory(atPath: home.file("holdfast"), withIntermediateDirectories: false)
  }
  private func variables(_ more: [String: String?] = [:]) -> [String: String?] {
    ["XDG_CONFIG_HOME": home.path].merging(more) { $1 }
  }
  private func configure(_ text: String) throws { try home.write("holdfast/config", text) }
  /// The length of a take of a tone whose limit comes from wherever it comes from.
  private func length(_ arguments: [String] = [], _ more: [String: String?] = [:]) throws -> Int? {
    let take = try record(
      ["--input", "tone:440"] + arguments, to: "\(UUID().uuidString).opus", in: home,
      environment: variables(more))
    return take.sealed?.int("duration_ms")
  }
  private func expectRefused(_ text: String, _ words: [String], arguments: [String]? = nil) throws {
    try configure(text)
    let said = try holdfast(
      arguments ?? ["record", "--input", "tone:440", "--max-ms", "20", "-o", home.file("no.opus")],
      environment: variables())
    #expect(said.code == 64 && said.isOneLine, "\(said)")
    for word in words { #expect(said.errText.contains(word), "\(said)") }
    #expect(!home.file("no.opus").exists)
  }

  @Test func `a flag beats the environment, which beats the file`() throws {
    try configure("# comment\n\n  max-ms = 30  \r\nbitrate=24000\n")
    #expect(try length() == 30)
    #expect(try length([], ["HOLDFAST_MAX_MS": "40"]) == 40)
    #expect(try length(["--max-ms", "50"], ["HOLDFAST_MAX_MS": "40"]) == 50)
    #expect(try length([], ["HOLDFAST_MAX_MS": ""]) == 30)
  }

  @Test func `a switch is on by yes, and off again by a flag`() throws {
    let text = "realtime = yes\nmax-ms = 300\n"
    try configure(text)
    func seconds(_ arguments: [String]) throws -> Double {
      try record(
        ["--input", "tone:440"] + arguments, to: "\(UUID()).opus", in: home, environment: variables()
      )
      .said.wallSeconds
    }
    #expect(try seconds([]) >= 0.3)
    try configure(text + "no-ui = no\n")
    #expect(try length(["--realtime=no"]) == 300)
    #expect(try seconds(["--realtime=no", "--max-ms", "30000"]) < 25)  // paced it would take 30
    try configure("")
    #expect(try holdfast(["list"], environment: variables(["HOLDFAST_MMAP": "perhaps"])).code == 64)
  }

  @Test func `without XDG_CONFIG_HOME it lies in the home folder`() throws {
    try FileManager.default.createDirectory(atPath: home.file(".config"), withIntermediateDirectories: false)
    try configure("max-ms = 30")
    try FileManager.default.moveItem(atPath: home.file("holdfast"), toPath: home.file(".config/holdfast"))
    for relative in [nil, "", "relative"] as [String?] {
      #expect(try length([], ["XDG_CONFIG_HOME": relative, "HOME": home.path]) == 30)
    }
  }

  @Test func `a bad line is one error with file and line`() throws {
    let path = home.file("holdfast/config")
    try expectRefused("bitrate = 24000\nbitrat = 1\n", ["\(path):2:", "bitrat", "did you mean bitrate?"])
    try expectRefused("\n\nbitrate\n", ["\(path):3:", "name = value"])
    try expectRefused("gaps = fil\n", ["\(path):1:", "fill, close"])
    try expectRefused("mmap = perhaps\n", ["\(path):1:", "yes or no"])
    try expectRefused("bitrate =\n", ["\(path):1:", "no value"])
    try expectRefused("jobs = 1\njobs = 2\n", ["\(path):2:", "line 1"])
    try expectRefused("\u{1B}[31m = 1\n", ["\(path):1:"])
    for key in ["force", "json", "output", "take-id", "empty", "files-from"] {
      try expectRefused("\(key) = yes\n", ["\(path):1:", "command line only"])
    }
    // Any command that takes options says so; help doesn't need it.
    try expectRefused("x\n", ["\(path):1:"], arguments: ["list", home.path])
    #expect(try holdfast(["help", "config"], environment: variables()).code == 0)
    #expect(try holdfast(["--version"], environment: variables()).code == 0)
  }
  @Test func `a value out of range is told with the place it stands at`() throws {
    try expectRefused("bitrate = 1\n", ["\(home.file("holdfast/config")):1: bitrate = 1", "6000 to 510000"])
    try expectRefused(
      "input = nosuch:\n", ["config:1: input = nosuch:"], arguments: ["record", "-o", home.file("no.opus")])
    try configure("")
    let said = try holdfast(
      ["record", "--input", "tone:440"], environment: variables(["HOLDFAST_BITRATE": "x"]))
    #expect(said.code == 64 && said.errText.contains("HOLDFAST_BITRATE=x: a whole number"), "\(said)")
  }

  @Test func `a file that can't be read is an error, none is none`() throws {
    try configure(String(repeating: "#", count: 70_000))
    #expect(try holdfast(["list", home.path], environment: variables()).code == 64)
    try FileManager.default.removeItem(atPath: home.file("holdfast/config"))
    #expect(try holdfast(["list", home.path], environment: variables()).code == 0)
    #expect(mkfifo(home.file("holdfast/config"), 0o600) == 0)
    #expect(try holdfast(["list", home.path], environment: variables(), timeout: 10).code == 64)
  }

  @Test func `what doesn't fit the run is left out`() throws {
    try configure("rate = 16000\nchannels = 2\npre-roll = 100\nmax-ms = 50\nmin-valid-ms = 100\n")
    #expect(try length() == 50)
    let raw = try record(
      ["--input", "-"], to: "raw.opus", in: home, environment: variables(),
      input: .bytes(Data(count: 16 * 40 * 4)))
    #expect(raw.sealed?.int("duration_ms") == 40, "\(raw.said)")
  }
  @Test func `going on with a take isn't hindered by it`() throws {
    let live = try LiveTake(in: home, to: "dead.opus")
    try live.reach(ms: 200)
    live.process.signal(SIGKILL)
    live.process.wait()
    try configure("bitrate = 24000\narm = yes\nmax-ms = 100\n")
    let said = try holdfast(
      ["record", "--json", "--continue", home.file("dead.opus"), "--input", "tone:440", "--realtime=no"],
      environment: variables(), input: .nothing, timeout: 1)
    #expect(said.timedOut && said.err.isEmpty && said.outText.contains("\"state\":\"recording\""), "\(said)")
  }
}
