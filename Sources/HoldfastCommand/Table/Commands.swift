/// The commands, in the order that help shows them. A new one is a case here, a line in `page`, and one in `Main`.
enum CommandName: String, CaseIterable, Sendable {
  case record, inspect, recover, list, play, export, restore, verify, devices, bench, help

  var page: CommandPage {
    switch self {
    case .record: .record
    case .inspect: .inspect
    case .recover: .recover
    case .list: .list
    case .play: .play
    case .export: .export
    case .restore: .restore
    case .verify: .verify
    case .devices: .devices
    case .bench: .bench
    case .help: .help
    }
  }
  /// Its options, in the table's order.
  var options: [Option] { Option.table.filter { $0.commands.contains(self) } }
}

/// What help, the man page and the completions say of a command.
struct CommandPage: Sendable {
  /// What stands behind the command's name.
  var operands: String
  /// What a shell completes there.
  var completes: Completing
  /// One line, of a verb in the third person, without a full stop.
  var summary: String
  /// Paragraphs.
  var text: [String] = []
  var examples: [Example] = []
  /// The exit codes that mean something of its own here; the others are `ExitCode.table`'s.
  var exits: [(code: Int32, meaning: String)] = []

  struct Example: Sendable {
    var line: String
    var meaning: String
    init(_ line: String, _ meaning: String) {
      self.line = line
      self.meaning = meaning
    }
  }
}

/// What a shell may put in a place.
enum Completing: Sendable, Equatable {
  case nothing
  case words([String])
  /// Files with these endings, and folders to go through; any file where there is none.
  case files([String])
  case folders
  /// The words, and files behind `file:`.
  case spec([String])
}

/// What this program's exit codes mean, in every command.
enum ExitCode {
  static let table: [(code: Int32, meaning: String)] = [
    (0, "done"),
    (1, "recover: some takes are saved, some aren't"),
    (64, "usage: the command line or the configuration makes no sense"),
    (65, "a file is damaged, against its checksum, or has no audio that can be decoded"),
    (66, "no such file, take or folder"),
    (69, "no device or sound server, or it is lost for good (the take is sealed)"),
    (73, "the output can't be made, or exists"),
    (74, "input/output error or disk full (the take is sealed with what is on the disk)"),
    (75, "in use by another process: try again"),
    (77, "permission denied"),
  ]
  static let text = [
    "From 64 on they are those of sysexits.h. An error is one line on standard error: what failed, on what, why, and what to do; with --json it is an object on standard output too.",
    "Of several files all are tried, and the highest code is the exit code. A command that a signal ended, where that isn't a way to end it, has the code that the shell makes of it (128 and the signal's number).",
  ]
}
