import Holdfast

/// Help, all from the one option table that parses.
enum Help {
  static var version: String {
    (["holdfast \(HoldfastVersion.number)"] + HoldfastVersion.libraries.map { "  \($0)" }).joined(
      separator: "\n")
  }

  static var overview: String {
    var lines = ["usage: holdfast COMMAND [OPTION…]", ""]
    for command in CommandName.allCases {
      lines.append("  " + pad("\(command.rawValue) \(command.arguments)", 28) + command.summary)
    }
    lines += ["", "`holdfast help COMMAND` explains one, `holdfast --version` names the libraries."]
    return lines.joined(separator: "\n")
  }

  static func text(_ command: CommandName) -> String {
    var lines = [
      "usage: holdfast \(command.rawValue) \(command.arguments) [OPTION…]", "", "\(command.summary).", "",
    ]
    for option in Option.table where option.commands.contains(command) {
      let names = [option.short, option.long].compactMap { $0 }.joined(separator: ", ")
      lines.append("  " + pad(names + (option.value.map { " \($0)" } ?? ""), 28) + option.help)
    }
    lines += examples(command)
    return lines.joined(separator: "\n")
  }

  private static func examples(_ command: CommandName) -> [String] {
    switch command {
    case .record:
      [
        "", "examples:", "  holdfast record -o talk.opus",
        "  holdfast record --input alsa:hw:1,0 -o talk.opus",
        "  holdfast record --input file:talk.wav -o talk.opus",
        "  arecord -f S16_LE -r 48000 -c 1 -t raw | holdfast record --input - -o talk.opus",
        "  holdfast record --input file:talk.wav --realtime --max-ms 90000 --json", "",
        "While it records: space pauses and resumes, m marks, enter or q stops, x twice discards.",
        "SIGINT, SIGTERM, SIGQUIT and SIGHUP stop; SIGUSR1 toggles pause, SIGUSR2 marks.",
        "Exit codes: 0 done, 64 usage, 65 damaged input, 66 no input, 69 no device, 73 can't create, 74 I/O, 75 busy, 77 permission.",
      ]
    case .inspect:
      [
        "", "examples:", "  holdfast inspect talk.opus", "  holdfast inspect --json *.wav | jq .duration_ms",
        "  holdfast inspect - < talk.opus",
      ]
    case .recover:
      [
        "", "examples:", "  holdfast recover", "  holdfast recover talk.opus",
        "  holdfast recover ~/talks --json", "",
        "Without a name: all unfinished takes of the takes folder, $XDG_DATA_HOME/holdfast/takes.",
        "Another program's damaged Ogg Opus file, if named, is repaired into NAME.recovered.opus; it isn't touched itself.",
        "Exit codes: 0 all is saved or nothing was to do, 1 some is saved, 65 nothing could be, 75 it is being recorded.",
      ]
    case .verify: ["", "example:", "  holdfast verify takes/*.opus"]
    case .list:
      [
        "", "Without DIR: the takes folder, $XDG_DATA_HOME/holdfast/takes.",
        "The trash is a folder beside the takes. What is in it is deleted when it is older than 7 days, by `list --trash`",
        "and at the end of the next recording in that folder; `holdfast list --trash --empty [DIR]` deletes it at once.",
      ]
    case .play:
      [
        "", "examples:", "  holdfast play talk.opus", "  holdfast play talk.opus --from 01:02.500 --to 01:10",
        "  holdfast play talk.opus --output alsa:hw:1,0", "",
        "FILE is whatever inspect reads; of an unfinished take what is there so far. SIGUSR1 pauses and resumes; SIGINT,",
        "SIGTERM, SIGQUIT and SIGHUP stop.",
        "Exit codes: 0 played or stopped, 64 usage, 65 audio of it is lost, 66 no such file, 69 no device, or it went, 75 busy.",
      ]
    case .export:
      [
        "", "examples:", "  holdfast export talk.opus -o talk.wav",
        "  holdfast export talk.opus --from 01:02.500 --to 01:10 -o clip.opus",
        "  holdfast export interview.flac --from 1:00:00 -o end.wav", "",
        "FILE is whatever inspect reads, also an unfinished take or - for standard input; .opus is cut out of Ogg Opus",
        "only. The stretch is exact to the sample; the file appears once it is whole.",
        "Exit codes: 0 done, 64 a stretch that isn't in the file, 65 audio in it is lost, 66 no such file, 73 FILE exists.",
      ]
    case .restore:
      [
        "", "examples:", "  holdfast restore talk.opus", "  holdfast restore ~/talks/talk.opus",
        "  holdfast restore 20261130T172411.897Z-03f2a1", "",
        "NAME is the take's path as it was, or an entry that `holdfast list --trash` shows; of several takes of that name",
        "the newest comes back. A bare name is looked for here, then in the takes folder. A discarded take comes back",
        "unfinished: `recover` seals it, `record --continue` goes on with it. A replaced one comes back sealed.",
        "Exit codes: 0 it is back, 66 the trash has no such take, 73 its name is taken.",
      ]
    case .devices: ["", "The first column is what --input alsa:NAME takes."]
    case .help: []
    }
  }

  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard let topic = arguments.operands.first else {
      output.line(overview)
      return 0
    }
    guard let command = CommandName(rawValue: topic.text) else {
      let near = nearest(topic.text, CommandName.allCases.map(\.rawValue))
      throw UsageError("no command \(topic.display)\(near.map { "; did you mean \($0)?" } ?? "")")
    }
    output.line(text(command))
    return 0
  }
}

/// Fills up with blanks to a column; one blank at least.
func pad(_ text: String, _ column: Int) -> String {
  text + String(repeating: " ", count: max(1, column - text.count))
}
