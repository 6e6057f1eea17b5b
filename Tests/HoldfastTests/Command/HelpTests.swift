import Foundation
import TestSupport
import Testing

/// Help, the manual page and the completions: one table, and nothing of it missing anywhere.
@Suite struct HelpTests {
  static let commands = [
    "record", "inspect", "recover", "list", "play", "export", "restore", "verify", "devices", "help",
  ]
  private func committed(_ path: String) throws -> String {
    try String(contentsOfFile: Places.root + "/" + path, encoding: .utf8)
  }
  /// The long options that a command's help names at the beginning of a line.
  private func options(_ command: String) throws -> [String] {
    let page = try holdfast(["help", command]).outLines
    return page.filter { $0.hasPrefix("  -") }.compactMap { line in
      line.split(whereSeparator: { " ,".contains($0) }).first { $0.hasPrefix("--") }.map(String.init)
    }
  }

  @Test(arguments: [
    ("docs/holdfast.1", ["--man"]), ("completions/holdfast.bash", ["--completion", "bash"]),
    ("completions/_holdfast", ["--completion", "zsh"]),
    ("completions/holdfast.fish", ["--completion", "fish"]),
  ]) func `what is committed is what the tables give`(path: String, arguments: [String]) throws {
    #expect(try holdfast(["help"] + arguments).outText == committed(path), "run `make generated`")
  }

  @Test(arguments: commands) func `every command has help with examples that parse`(command: String) throws {
    let said = try holdfast(["help", command])
    #expect(said.code == 0 && said.err.isEmpty && said.outText.contains("examples:\n  "), "\(said)")
    #expect(try holdfast([command, "--help"]).outText == said.outText)
    // No option of an example is one that the parser doesn't know.
    let known = try options(command)
    for line in said.outLines where line.hasPrefix("  holdfast \(command)") {
      for word in line.components(separatedBy: " | ")[0].split(separator: " ") where word.hasPrefix("--") {
        #expect(known.contains(String(word)), "\(word) in \(line)")
      }
    }
  }

  @Test(arguments: commands)
  func `each option of the help is one the parser, the manual and all completions know`(
    command: String
  ) throws {
    let manual = try run("mandoc", ["-Tascii", "-Owidth=200", Places.root + "/docs/holdfast.1"]).outText
      .replacing(/.\u{8}/, with: "")
    let texts = try [
      manual, committed("completions/holdfast.bash"), committed("completions/_holdfast"),
    ]
    let fish = try committed("completions/holdfast.fish")
    for option in try options(command) {
      for text in texts { #expect(text.contains(option), "\(option)") }
      #expect(
        fish.contains("'__fish_seen_subcommand_from \(command)'")
          && fish.contains("-l \(option.dropFirst(2))"))
      let said = try holdfast([command, "--x" + option.dropFirst(2)])
      #expect(said.code == 64 && said.errText.contains("did you mean \(option)?"), "\(said)")
    }
  }

  @Test func `the nearest command, option, topic and choice is named`() throws {
    for (arguments, near) in [
      (["recrod"], "record"), (["vrify", "x"], "verify"), (["help", "exprot"], "export"),
      (["help", "confg"], "config"), (["record", "--bitrat", "1"], "--bitrate"),
      (["record", "--gaps", "fil"], "fill"), (["help", "--completion", "bsh"], "bash"),
    ] {
      let said = try holdfast(arguments)
      #expect(said.code == 64 && said.isOneLine && said.errText.contains("did you mean \(near)?"), "\(said)")
    }
    let far = try holdfast(["xyzzy"])
    #expect(far.code == 64 && far.isOneLine && far.errText.contains("holdfast help"))
    #expect(!far.errText.contains("did you mean"))
    #expect(try holdfast(["--he"]).code == 64)
    #expect(try holdfast([]).code == 64)
  }

  @Test func `the codes that the topic lists are those that the commands end with`() throws {
    let listed = try holdfast(["help", "exit-codes"]).outLines.compactMap {
      Int32($0.prefix(5).filter(\.isNumber))
    }
    #expect(listed == [0, 1, 64, 65, 66, 69, 73, 74, 75, 77])
  }

  @Test func `all choices of the help are taken, and no other`() throws {
    let folder = try TempFolder()
    for line in try holdfast(["help", "record"]).outLines where line.hasPrefix("  --") {
      let words = line.split(separator: " ")
      guard words.count > 1, words[1].contains("|"), !words[1].contains("N|") else { continue }
      let option = String(words[0])
      let raw = option == "--format"
      for choice in words[1].split(separator: "|").map(String.init) {
        let input = raw ? ["--input", "-"] : ["--input", "tone:440", "--max-ms", "20"]
        let take = try record([option, choice] + input, to: "\(choice).opus", in: folder)
        try expectSealed(take)
      }
      #expect(try holdfast(["record", option, "nosuch"]).code == 64)
    }
    #expect(folder.names.count { $0.hasSuffix(".opus") } == 11)
  }

  @Test func `values stand behind a blank, an equals sign or the letter`() throws {
    let folder = try TempFolder()
    for (i, words) in [["-o", "0.opus"], ["-o1.opus"], ["--output", "2.opus"], ["--output=3.opus"]]
      .enumerated()
    {
      let said = try holdfast(
        ["record", "--input", "tone:440", "--max-ms=20", "--realtime=no"] + words, folder: folder.path)
      #expect(said.code == 0 && folder.file("\(i).opus").exists, "\(said)")
    }
    for words in [["--output"], ["--realtime=maybe"], ["--max-ms="], ["-x"], ["--", "-x"]] {
      #expect(try holdfast(["record"] + words, folder: folder.path).code == 64, "\(words)")
    }
  }

  @Test func `the manual page has no warnings and nothing too wide`() throws {
    let page = Places.root + "/docs/holdfast.1"
    let groff = try run("groff", ["-ww", "-man", "-Tascii", "-z", page])
    #expect(groff.code == 0 && groff.err.isEmpty, "\(groff)")
    let lint = try run("mandoc", ["-Tlint", "-Wwarning", page])
    #expect(lint.code == 0 && lint.out.isEmpty, "\(lint)")
    let shown = try run("mandoc", ["-Tascii", "-Owidth=200", page]).outText.replacing(/.\u{8}/, with: "")
    for heading in ["NAME", "SYNOPSIS", "COMMANDS", "CONFIGURATION", "EXIT STATUS", "EXAMPLES"] {
      #expect(shown.contains("\n\(heading)\n"))
    }
    #expect(!shown.contains("\\") && shown.contains("holdfast help --completion bash > ~/.local"))
  }

  @Test func `help fits 40 columns and has nothing but ASCII where the locale asks`() throws {
    for command in Self.commands {
      let said = try Running(
        "bash", ["-c", "stty cols 40; exec \"$0\" help \(command)", Places.holdfast],
        environment: ["LC_ALL": "C", "TERM": "xterm", "NO_COLOR": "1"], terminal: true
      ).wait()
      let lines = said.outText.split(separator: "\r\n")
      #expect(said.code == 0 && said.out.allSatisfy { $0 < 0x80 && $0 != 0x1B })
      // What a person copies stays whole: examples and an option's names.
      let prose = lines.filter { !$0.hasPrefix("  ") || $0.hasPrefix("      ") }
      #expect(
        prose.allSatisfy { $0.count <= 40 || !$0.dropFirst(6).contains(" ") || $0.hasPrefix("usage") },
        "\(prose)")
    }
  }
}

/// The scripts in the shells that they are for.
@Suite struct CompletionTests {
  private let folder: TempFolder
  init() throws {
    folder = try TempFolder("complete")
    for name in ["talk.opus", "talk.wav", "talk notes.opus", "notes.txt"] { try folder.write(name, "") }
    try FileManager.default.createDirectory(atPath: folder.file("takes"), withIntermediateDirectories: false)
  }
  private static let expected: [([String], [String])] = [
    (["re"], ["record", "recover", "restore"]), (["record", "--gaps", ""], ["close", "fill"]),
    (["record", "--inp"], ["--input"]), (["help", "conf"], ["config"]),
    (["record", "-o", "talk"], ["talk notes.opus", "talk.opus"]),
    (["export", "talk.opus", "-o", "talk.w"], ["talk.wav"]),
    (["verify", "no"], []), (["list", "t"], ["takes"]),
  ]

  @Test(arguments: expected) func `bash`(words: [String], expected: [String]) throws {
    let script = """
      source "$1"; shift; COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#; _holdfast
      printf '%s\\n' "${COMPREPLY[@]}" | sort
      """
    let said = try run(
      "bash", ["-c", script, "bash", Places.root + "/completions/holdfast.bash"] + words, folder: folder.path)
    #expect(said.code == 0 && said.err.isEmpty, "\(said)")
    #expect(said.outLines.filter { !$0.isEmpty } == expected)
  }
  @Test func `bash takes an equals sign and a colon apart`() throws {
    for (words, expected) in [
      (["record", "--gaps", "=", "c"], ["close"]), (["record", "--gaps", "="], ["close", "fill"]),
      (["record", "--input", "file", ":", "talk.w"], ["talk.wav"]),
      (["inspect", "--", "talk.w"], ["talk.wav"]),
    ] { try bash(words: words, expected: expected) }
  }
  @Test(arguments: expected) func `fish`(words: [String], expected: [String]) throws {
    let line = (["holdfast"] + words).joined(separator: " ")
    let said = try run(
      "fish", ["-N", "-c", "source \(Places.root)/completions/holdfast.fish; complete -C '\(line)'"],
      environment: ["HOME": folder.path], folder: folder.path)
    #expect(said.code == 0 && said.err.isEmpty, "\(said)")
    let words = said.outLines.map { String($0.split(separator: "\t")[0]).replacing("\\ ", with: " ") }
    // Fish shows files of other endings behind them, and where there are none.
    #expect(Array(words.map { $0.dropping("/") }.prefix(expected.count)).sorted() == expected)
  }
  @Test func `zsh parses it and completes a choice`() throws {
    let script = """
      zmodload zsh/zpty; zpty z zsh -f -i; w() { zpty -n -w z "$1"; sleep $2; }
      w $'PROMPT=; stty -echo; autoload -U compinit; fpath=(\(Places.root)/completions $fpath); compinit -D -u; bindkey "^I" complete-word\\n' 2
      w $'holdfast record --gaps cl\\t' 1; w $'\\x01: \\n' 0.5
      w $'holdfast recor\\t' 1; w $'--resampler be\\t' 1; w $'\\x01: \\n' 0.5
      while zpty -r -t z line; do print -rn -- "$line"; done; zpty -d z
      """
    let said = try run("zsh", ["-f", "-c", script], environment: ["TERM": "dumb"], folder: folder.path)
    #expect(said.outText.contains("--gaps close") && said.outText.contains("--resampler best"), "\(said)")
    #expect(!said.outText.contains("error") && !said.outText.contains("not found"), "\(said)")
  }
}
