import Holdfast

/// `holdfast help --man`: holdfast(1) in the man(7) macros, committed as docs/holdfast.1.
enum ManualPage {
  static var text: String {
    var page = [
      ".\\\" Made by `holdfast help --man` (make generated). Don't edit it.",
      ".TH HOLDFAST 1 \"\(HoldfastVersion.date)\" \"holdfast \(HoldfastVersion.number)\" \"User Commands\"",
      ".nh", ".ad l",  // an option that is broken with a hyphen is another
      ".SH NAME", "holdfast \\- records takes that aren't lost, and looks after them",
      ".SH SYNOPSIS",
    ]
    for (i, command) in CommandName.allCases.enumerated() {
      if i > 0 { page.append(".br") }
      page.append(
        ".B holdfast " + escape(command.rawValue) + "\n"
          + "\(command.options.isEmpty ? "" : ".RI [ OPTION... ]\n")" + operands(command.page.operands))
    }
    page += [".SH DESCRIPTION"]
    page += paragraphs([
      "Holdfast records speech into sealed, checksummed Ogg Opus takes whose clock is the file's own frame count. What is recorded lies on the disk at once: a recorder that is killed loses 50 ms of sound at most, and `holdfast recover` seals the rest.",
      "An option may stand anywhere behind the command, as --name value or --name=value; what follows -- is a file.",
    ])
    page.append(".SH COMMANDS")
    for command in CommandName.allCases {
      page.append(".SS \"holdfast \(escape(command.rawValue)) \(escape(command.page.operands))\"")
      page += paragraphs([first(command.page.summary) + "."] + command.page.text)
      for option in command.options {
        page += [".TP", option.manual] + lines(option.help)
      }
      if !command.page.exits.isEmpty {
        page += [".PP", "Exit codes of its own:"]
        for exit in command.page.exits { page += [".TP 6", ".B \(exit.code)"] + lines(exit.meaning) }
      }
    }
    page.append(".SH CONFIGURATION")
    page += paragraphs(Configuration.text)
    page +=
      [".PP", ".nf", ".RS 4"] + Configuration.example.map(escape) + [".RE", ".fi", ".PP", "What can be set:"]
    page += lines(Configuration.options.map(\.key).joined(separator: ", ") + ".")
    page += paragraphs([Configuration.fixed])
    page.append(".SH ENVIRONMENT")
    for (name, meaning) in environment { page += [".TP", ".B " + escape(name)] + lines(meaning) }
    page.append(".SH FILES")
    for (name, meaning) in files { page += [".TP", ".I " + escape(name)] + lines(meaning) }
    page.append(".SH \"EXIT STATUS\"")
    for exit in ExitCode.table { page += [".TP 6", ".B \(exit.code)"] + lines(exit.meaning) }
    page += paragraphs(ExitCode.text)
    page.append(".SH EXAMPLES")
    for command in CommandName.allCases {
      for example in command.page.examples {
        page += [".TP", ".B " + quoted(example.line)]
        page += lines(example.meaning.isEmpty ? "" : first(example.meaning) + ".")
      }
    }
    page += [".SH \"SEE ALSO\"", ".BR arecord (1),", ".BR opusinfo (1),", ".BR parallel (1)"]
    // A paragraph right behind a heading is none.
    let lines = page.enumerated().filter { i, line in line != ".PP" || !page[i - 1].hasPrefix(".S") }.map(
      \.element)
    return lines.joined(separator: "\n") + "\n"
  }

  private static let environment = [
    ("HOLDFAST_NAME", "the option --name, as CONFIGURATION says"),
    ("XDG_CONFIG_HOME", "where holdfast/config is looked for; default ~/.config"),
    ("XDG_DATA_HOME", "where the takes folder holdfast/takes lies; default ~/.local/share"),
    ("NO_COLOR", "if it isn't empty, nothing is coloured"),
    ("TERM", "dumb: no colours, and no line is drawn over"),
    ("LC_ALL, LC_CTYPE, LANG", "the first that is set tells whether the terminal speaks UTF-8"),
    ("TMPDIR", "where a take goes on as a last resort if its folder goes; default /tmp"),
  ]
  private static let files = [
    ("NAME.opus", "a take, or any Ogg Opus file"),
    ("NAME.take.json", "its manifest: pauses, marks, gaps, levels, checksum, ledger"),
    ("NAME.opus.partial/", "a take that is recorded, or that its recorder left"),
    (".holdfast-trash/", "beside the takes: what was discarded, replaced or cut off, for 7 days"),
    ("~/.config/holdfast/config", "options, as CONFIGURATION says"),
  ]

  private static func first(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
  private static func paragraphs(_ texts: [String]) -> [String] { texts.flatMap { [".PP"] + lines($0) } }
  /// Running text, in lines of the source that aren't too long.
  private static func lines(_ text: String) -> [String] {
    text.isEmpty ? ["\\&"] : Help.wrap(text, Style(), width: 68).map(escape)
  }
  private static func operands(_ text: String) -> String {
    text.isEmpty ? "\\&" : escape(text)
  }
  fileprivate static func quoted(_ text: String) -> String {
    "\"" + escape(text).split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\(dq")
      + "\""
  }
  /// As roff takes it: ASCII, with nothing at the beginning of a line that is a request.
  fileprivate static func escape(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": out += "\\e"
      case "-": out += "\\-"
      case "`": out += "\\(ga"
      case "'": out += "\\(aq"
      case "~": out += "\\(ti"
      case "^": out += "\\(ha"
      case "…": out += "..."
      default:
        out +=
          scalar.isASCII ? String(scalar) : "\\[u" + String(scalar.value, radix: 16, uppercase: true) + "]"
      }
    }
    return out.hasPrefix(".") ? "\\&" + out : out
  }
}

extension Option {
  /// `.B`, with the value in italics.
  fileprivate var manual: String {
    let names = [short, long].compactMap { $0 }.map { "\\fB\(ManualPage.escape($0))\\fR" }.joined(
      separator: ", ")
    guard let value else { return names }
    switch value {
    case .choice(let choices):
      return names + " " + choices.map { "\\fB\(ManualPage.escape($0))\\fR" }.joined(separator: "|")
    case .open(let name, _): return names + " \\fI\(ManualPage.escape(name))\\fR"
    }
  }
}
