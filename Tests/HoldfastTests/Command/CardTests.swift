import Foundation
import TestSupport
import Testing

/// What `inspect`, `verify`, `list` and `recover` show people: words, columns, colours, characters, width.
@Suite struct CardTests {
  private let folder: TempFolder
  private static let unicode: [String: String?] = ["LC_ALL": "C.UTF-8"]
  init() throws { folder = try TempFolder("card") }

  private func talk(_ name: String = "talk.opus") throws -> String {
    let take = try record(["--input", "file:" + Places.testaudio("talk.wav")], to: name, in: folder)
    return take.path
  }
  /// A command as on a terminal of so many columns.
  private func onTerminal(
    _ arguments: [String], columns: Int = 80, _ variables: [String: String?] = [:]
  ) throws -> Finished {
    let line = "stty cols \(columns) -opost; exec \"$@\""
    return try Running(
      "bash", ["-c", line, "bash", Places.holdfast] + arguments,
      environment: ["TERM": "xterm", "NO_COLOR": nil, "LC_ALL": "C.UTF-8"].merging(variables) { $1 },
      folder: folder.path, terminal: true
    ).wait()
  }

  @Test func `a card tells all that the JSON does that a person wants`() throws {
    let live = try LiveTake(["--input", "tone:440,-20"], in: folder)
    try live.reach(ms: 300)
    live.process.signal(SIGUSR2)
    try live.pause()
    usleep(1_100_000)
    try live.resume()
    let take = try live.stop()
    let card = try holdfast(["inspect", take.path], environment: Self.unicode).outText
    for words in [
      take.path + "\n", "what          complete, audio/ogg; codecs=opus, 48000 Hz, mono", " UTC\n",
      "with pauses   00:0", "waveform      ▅", "peak -20.0 dBFS", "clipping      none", "noise floor   -",
      "no hum",
      "speech        none", "pauses        1: 00:00 for 1.", "gaps          none", "marks         1: 00:00",
      "sha256        \(take.sealed?.text("sha256") ?? "?")  (as sealed)", "ended by      signal",
      "verdict       ",
    ] { #expect(card.contains(words), "\(words) in \(card)") }
    #expect(!card.contains("\u{1B}"))
  }

  @Test func `clipping, a lost checksum and damage are told in words`() throws {
    try Wav(Tone.sine(96_000, db: 0).map { max(-1, min(1, $0 * 2)) }).write(to: folder.file("loud.wav"))
    let loud = try holdfast(["inspect", folder.file("loud.wav")]).outText
    #expect(loud.contains(/verdict +clipped \d+ times: move the microphone away/))
    let path = try talk()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[20_000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    let said = try holdfast(["inspect", path])
    #expect(said.code == 65 && said.outText.contains("DAMAGE") && said.outText.contains("(NOT as sealed)"))
    #expect(!said.outText.contains("verdict       good"))
    let verified = try holdfast(["verify", path])
    #expect(verified.code == 65 && verified.outText.contains("FAILED"))
    #expect(verified.outText.contains("         checksum: "))
    let card = try holdfast(["inspect", "-"], input: .file(folder.file("loud.wav"))).outText
    #expect(card.hasPrefix("-\n  what          foreign, "))
  }

  @Test func `several files are a table with the columns of list`() throws {
    let path = try talk()
    let said = try holdfast(
      ["inspect", path, Places.testaudio("clipped.wav"), path], environment: Self.unicode)
    let lines = said.outLines
    #expect(said.code == 0 && lines.count == 5, "\(said)")
    #expect(lines[0].hasPrefix("LENGTH   STATE       ") && lines[0].hasSuffix("NAME"))
    #expect(lines[1] == lines[4] && lines[1].hasPrefix("00:12    complete    69 %    -20.4   -1.4"))
    #expect(lines[1].contains("▆") && lines[1].hasSuffix("  " + path))
    #expect(lines[3].hasPrefix("         clipped "))
    for arguments in [["list", folder.path], ["verify", path]] {
      #expect(try holdfast(arguments).outLines[0].hasPrefix("LENGTH   STATE       "))
    }
  }

  @Test func `colours on a terminal only, and not where they aren't wanted`() throws {
    let path = try talk()
    for arguments in [["inspect", path], ["verify", path], ["list", folder.path], ["help", "record"]] {
      #expect(try onTerminal(arguments).out.contains(0x1B), "\(arguments)")
      for variables in [["NO_COLOR": "1"], ["TERM": "dumb"], ["TERM": nil]] as [[String: String?]] {
        let said = try onTerminal(arguments, variables)
        #expect(said.code == 0 && !said.out.contains(0x1B), "\(variables): \(said)")
      }
      #expect(try !holdfast(arguments, environment: ["TERM": "xterm", "NO_COLOR": nil]).out.contains(0x1B))
      // An empty NO_COLOR is none.
      #expect(try onTerminal(arguments, ["NO_COLOR": ""]).out.contains(0x1B))
    }
    let green = try onTerminal(["verify", path]).outText
    #expect(green.contains("\u{1B}[32mok\u{1B}[0m"))
  }

  @Test func `without UTF-8 the waveform is ASCII, and on a terminal names are too`() throws {
    let path = try talk("grüße….opus")
    for locale in [
      ["LC_ALL": "C"], ["LC_ALL": "", "LC_CTYPE": "de_DE.ISO-8859-1"],
      ["LC_ALL": nil, "LC_CTYPE": nil, "LANG": nil],
    ]
      as [[String: String?]]
    {
      let piped = try holdfast(["inspect", path], environment: locale)
      #expect(piped.code == 0 && piped.outText.contains(/waveform +[*+=:.#@ -]+\n/), "\(piped)")
      #expect(piped.outText.hasPrefix(path + "\n"))  // whoever reads it gets the name itself
      for arguments in [["inspect", path], ["list", folder.path], ["help"]] {
        let shown = try onTerminal(arguments, locale)
        #expect(shown.code == 0 && shown.out.allSatisfy { $0 < 0x80 }, "\(shown)")
      }
    }
  }

  @Test(arguments: [40, 60, 80, 132]) func `nothing of ours is wider than the terminal`(columns: Int) throws {
    let path = try talk()
    try FileManager.default.copyItem(atPath: Places.testaudio("clipped.wav"), toPath: folder.file("c.wav"))
    try expectSealed(record(["--input", "tone:440", "--max-ms", "50", "--force"], in: folder))
    try expectSealed(record(["--input", "tone:440", "--max-ms", "60", "--force"], in: folder))
    for arguments in [
      ["inspect", "talk.opus"], ["inspect", "talk.opus", "c.wav"], ["list", "."], ["list", "--trash", "."],
      ["verify", "talk.opus"], ["help", "exit-codes"],
    ] {
      let said = try onTerminal(arguments, columns: columns, ["NO_COLOR": "1"])
      #expect(said.code == 0)
      for line in said.outText.split(separator: "\n") {
        #expect(line.count <= columns || line.hasPrefix("`holdfast restore"), "\(line)")
      }
    }
    #expect(path.exists)
  }

  @Test func `columns stay in line behind wide characters, and control characters stay out`() throws {
    _ = try talk("講演.opus")
    _ = try talk("e\u{301}.opus")
    for name in ["a\u{1B}[31mb.opus", "a\nb.opus", "a\u{9B}31mb.opus", "a\u{202E}b.opus", "a\u{7F}.opus"] {
      try FileManager.default.copyItem(atPath: folder.file("e\u{301}.opus"), toPath: folder.file(name))
    }
    try folder.write("bad\u{1B}]0;x\u{7}.opus", "no audio")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".opus")
    }
    for arguments in [
      ["list", "."], ["inspect"] + names, ["verify"] + names, ["inspect", "--json"] + names,
    ] {
      let said = try onTerminal(arguments, columns: 200, ["NO_COLOR": "1"])
      // What a slow machine draws meanwhile is taken back with this.
      let scalars = said.outText.replacing("\r\u{1B}[K", with: "").unicodeScalars
      #expect(
        scalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }, "\(said)")
      if !arguments.contains("--json") { #expect(!scalars.contains("\u{202E}")) }
    }
    let trash = try TempFolder()
    for name in ["講演.opus", "talk.opus"] {
      for _ in 0..<2 {
        _ = try record(["--input", "tone:440", "--max-ms", "20", "--force"], to: name, in: trash)
      }
    }
    let lines = try holdfast(["list", "--trash", trash.path]).outLines.dropFirst().dropLast()
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("00:00    replaced    ") })
  }

  @Test func `recover shows a table of what it saved`() throws {
    for name in ["a.opus", "b.opus"] {
      let live = try LiveTake(in: folder, to: name)
      try live.reach(ms: 200)
      live.process.signal(SIGKILL)
      live.process.wait()
    }
    let said = try holdfast(["recover", folder.path])
    let lines = said.outLines
    #expect(said.code == 0 && lines.count == 5, "\(said)")
    #expect(lines[0] == "LENGTH   STATE       PAUSES  SIZE      NAME")
    #expect(lines[1].contains("recovered   0 ") && lines[1].hasSuffix("  \(folder.file("a.opus"))"))
    #expect(lines[2].contains("at most 50 ms") && lines[3].hasSuffix(folder.file("b.opus")))
    let again = try holdfast(["recover", folder.path])
    #expect(again.outText == "nothing to recover in \(folder.path)\n")
  }
}
