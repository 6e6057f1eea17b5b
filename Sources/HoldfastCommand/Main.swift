import CPlatform
import Glibc
import Holdfast
import Platform

/// The `holdfast` command: parses, calls the library, prints.
@main struct Main {
  static func main() {
    fillStandardDescriptors()
    // Swift's runtime would hold a crashed process for a backtrace, and with it the take's lock: a crash is a kill.
    for fault in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] { holdfast_set_default(fault) }
    holdfast_set_ignored(SIGPIPE)
    holdfast_set_ignored(SIGXFSZ)  // a file-size limit is an error of the write, not a death
    var words: [Path] = []
    for i in 1..<max(1, Int(CommandLine.argc)) {
      guard let word = unsafe CommandLine.unsafeArgv[i] else { break }
      unsafe words.append(Path(bytes: (0..<strlen(word)).map { unsafe UInt8(bitPattern: word[$0]) }))
    }
    let output = Output()
    var code = run(words, output)
    output.flush()
    // What was asked for couldn't be shown. A take is safe whoever reads its events: `record` isn't touched by it.
    if let failure = output.failure, words.first?.text != CommandName.record.rawValue {
      Output.error("can't write to standard output: \(failure.text)")
      code = max(code, 74)
    }
    // Nobody reads on: what other threads are still looking at isn't waited for, nor taken apart under their feet.
    if output.hasNoReader { _exit(code) }
    exit(code)
  }

  private static func run(_ words: [Path], _ output: Output) -> Int32 {
    if let first = words.first?.text, ["--version", "-V"].contains(first) {
      output.lines(Help.version)
      return 0
    }
    if let first = words.first?.text, ["--help", "-h"].contains(first) {
      output.lines(Help.overview(output.style))
      return 0
    }
    let json = words.contains { $0.text == "--json" }
    do throws(UsageError) {
      if words.count > 1,
        words.dropFirst().prefix(while: { $0.text != "--" }).contains(where: {
          ["--help", "-h"].contains($0.text)
        }),
        let command = CommandName(rawValue: words[0].text)
      {
        output.lines(Help.text(command, output.style))
        return 0
      }
      let arguments = try Arguments(words) { () throws(UsageError) in try Configuration.load(environment) }
      switch arguments.command {
      case .record: return try RecordCommand(arguments).run(output)
      case .inspect:
        Output.silenceLibraries()
        return try InspectCommand.run(arguments, output)
      case .verify:
        Output.silenceLibraries()
        return try VerifyCommand.run(arguments, output)
      case .recover:
        Output.silenceLibraries()
        return try RecoverCommand.run(arguments, output)
      case .list:
        return try arguments.has("--trash") || arguments.has("--empty")
          ? TrashCommand.list(arguments, output) : ListCommand.run(arguments, output)
      case .play:
        Output.silenceLibraries()
        return try PlayCommand.run(arguments, output)
      case .export:
        Output.silenceLibraries()
        return try ExportCommand.run(arguments, output)
      case .restore: return try TrashCommand.restore(arguments, output)
      case .bench: return try BenchCommand.run(arguments, output)
      case .devices: return try DevicesCommand.run(arguments, output)
      case .help: return try HelpCommand.run(arguments, output)
      }
    } catch {
      return report(RecorderFailure(code: 64, kind: "usage", message: error.message), json: json, output)
    }
  }

  /// An error is one line on standard error, and with `--json` one object too.
  static func report(_ failure: RecorderFailure, json: Bool, _ output: Output) -> Int32 {
    if json { output.json(RecorderEvent.failed(failure).json(context: nil)) }
    output.flush()
    output.error(failure.message)
    return failure.code
  }
}
