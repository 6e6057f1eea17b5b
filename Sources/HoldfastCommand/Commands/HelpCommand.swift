import Glibc
import Holdfast

/// `holdfast help`, all from the tables that parse.
enum HelpCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count <= 1 else { throw UsageError("help explains one command or topic") }
    if arguments.has("--man") {
      output.text(ManualPage.text)
      return 0
    }
    if let shell = arguments.text("--completion") {
      output.text(Completion.script(shell))
      return 0
    }
    let style = output.style
    guard let asked = arguments.operands.first else {
      output.lines(Help.overview(style))
      return 0
    }
    if let command = CommandName(rawValue: asked.text) {
      output.lines(Help.text(command, style))
    } else if let topic = Topic(rawValue: asked.text) {
      output.lines(Help.text(topic, style))
    } else {
      let near = nearest(asked.text, CommandName.allCases.map(\.rawValue) + Topic.allCases.map(\.rawValue))
      throw UsageError(
        "no command \(asked.display)\(near.map { "; did you mean \($0)?" } ?? "; `holdfast help` lists them")"
      )
    }
    return 0
  }
}

/// The pages that `help` shows, as lines that fit the style's width.
enum Help {
  static var version: [String] {
    ["holdfast \(HoldfastVersion.number)"] + HoldfastVersion.libraries.map { "  \($0)" }
  }

  static func overview(_ style: Style) -> [String] {
    var lines = ["usage: holdfast COMMAND [OPTION…]", ""]
    lines += pairs(
      CommandName.allCases.map { ("\($0.rawValue) \($0.page.operands)", $0.page.summary) }, column: 30, style)
    lines += ["", "topics:"]
    lines += pairs(Topic.allCases.map { ("help \($0.rawValue)", $0.summary) }, column: 30, style)
    lines += [""]
    lines += wrap("`holdfast help COMMAND` explains one, `holdfast --version` names the libraries.", style)
    return lines
  }

  static func text(_ command: CommandName, _ style: Style) -> [String] {
    let page = command.page
    let options = command.options
    let operands = page.operands.isEmpty ? "" : " " + page.operands
    var lines = ["usage: holdfast \(command.rawValue)\(operands)\(options.isEmpty ? "" : " [OPTION…]")", ""]
    lines += wrap(page.summary + ".", style)
    for paragraph in page.text { lines += [""] + wrap(paragraph, style) }
    if !options.isEmpty {
      lines += ["", style.strong("options:")]
      lines += pairs(options.map { ($0.names, $0.help) }, column: 30, style)
    }
    if !page.examples.isEmpty {
      lines += ["", style.strong("examples:")]
      for example in page.examples {
        lines.append("  " + example.line)
        if !example.meaning.isEmpty { lines += wrap(example.meaning, style, indent: 6) }
      }
    }
    if !page.exits.isEmpty {
      lines += ["", style.strong("exit codes:")]
      lines += pairs(page.exits.map { ("\($0.code)", $0.meaning) }, column: 6, style)
      lines += wrap("`holdfast help exit-codes` lists all.", style)
    }
    return lines
  }

  static func text(_ topic: Topic, _ style: Style) -> [String] {
    switch topic {
    case .exitCodes:
      var lines = pairs(ExitCode.table.map { ("\($0.code)", $0.meaning) }, column: 6, style)
      for paragraph in ExitCode.text { lines += [""] + wrap(paragraph, style) }
      return lines
    case .config:
      var lines: [String] = []
      for paragraph in Configuration.text { lines += wrap(paragraph, style) + [""] }
      lines += Configuration.example.map { "  " + $0 } + [""]
      lines.append(style.strong("what can be set:"))
      for option in Configuration.options {
        let commands = option.commands.map(\.rawValue).joined(separator: ", ")
        lines += pairs(
          [("\(option.key) = \(option.value?.shown ?? "yes|no")", "\(commands): \(option.help)")], column: 30,
          style)
      }
      return lines + [""] + wrap(Configuration.fixed, style)
    }
  }

  /// Names and what they are, in two columns, or one below the other where there is no room beside them.
  private static func pairs(_ pairs: [(String, String)], column: Int, _ style: Style) -> [String] {
    let isNarrow = style.textWidth < column + 30
    return pairs.flatMap { name, text -> [String] in
      let name = "  " + name
      guard !isNarrow, displayWidth(name) < column else {
        return [name] + wrap(text, style, indent: isNarrow ? 6 : column)
      }
      var lines = wrap(text, style, indent: column)
      lines[0] = pad(name, column) + lines[0].drop { $0 == " " }
      return lines
    }
  }
  /// Breaks at blanks. A word longer than a line stays whole.
  static func wrap(_ text: String, _ style: Style, indent: Int = 0, width: Int? = nil) -> [String] {
    let width = width ?? style.textWidth
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + displayWidth(line) + 1 + displayWidth(String(word)) > width {
        lines.append(margin + line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " " + word
    }
    return lines + [margin + line]
  }
}

extension Option {
  /// `-o, --output FILE`.
  var names: String {
    [short, long].compactMap { $0 }.joined(separator: ", ") + (value.map { " \($0.shown)" } ?? "")
  }
}

extension Configuration {
  static let text = [
    "An option on the command line beats its variable in the environment, which beats the configuration file: $XDG_CONFIG_HOME/holdfast/config, or ~/.config/holdfast/config.",
    "The file has a line an option, by its long name without the dashes; a line that begins with # is a comment. A switch is yes or no; on the command line --NAME=no undoes a yes. The variable is HOLDFAST_ and the name in capitals, with _ for -: HOLDFAST_MIN_PAUSE_MS=300. An empty variable is none. What a command doesn't know it leaves alone; a line that nobody knows is an error.",
  ]
  static let example = [
    "# ~/.config/holdfast/config", "input = alsa:hw:CARD=Headset", "bitrate = 24000", "auto-pause = 30",
  ]
  /// Each once, in the table's order.
  static var options: [Option] { Option.table.filter(\.isConfigurable) }
  static var fixed: String {
    var names: [String] = []
    for option in Option.table where !option.isConfigurable && !option.commands.contains(.help) {
      if !names.contains(option.long) { names.append(option.long) }
    }
    return
      "Only on the command line, since they say what is done and to which file, or what a program reads: "
      + names.joined(separator: ", ") + "."
  }
}
