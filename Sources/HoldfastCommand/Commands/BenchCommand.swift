import Glibc
import Holdfast
import Platform
import Synchronization

/// `holdfast bench`.
enum BenchCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count <= 1 else { throw UsageError("bench takes one folder at most") }
    var bench = Bench(folder: try folder(arguments), input: try input(arguments))
    bench.options.periodMs = Int(try arguments.number("--period-ms", 1...1_000) ?? 10)
    bench.options.bufferMs = Int(try arguments.number("--buffer-ms", 2...10_000) ?? 100)
    bench.options.mmap = arguments.has("--mmap")
    let bitrates = RecordingSettings.bitrates
    bench.encoder.bitrate = Int(
      try arguments.number("--bitrate", Int64(bitrates.lowerBound)...Int64(bitrates.upperBound)) ?? 32_000)
    bench.encoder.complexity = Int(try arguments.number("--complexity", 0...10) ?? 10)
    bench.seconds = Double(try arguments.number("--seconds", 1...86_400) ?? 10)

    let json = arguments.has("--json")
    let stopping = Stopping()
    do throws(Errno) { try SignalWatcher().start { stopping.take($0) } } catch {
      return Main.report(
        RecorderFailure(code: 74, kind: "thread", message: "can't start a thread: \(error.text)"), json: json,
        output)
    }
    let table = Table(
      [Table.Column("WHAT", 16), Table.Column("VERDICT", 9), Table.Column("THERE IS", 66, rank: 1)],
      last: "NEEDED", output.style)
    if json {
      output.json(BenchMachine.json)
    } else {
      for line in BenchMachine.text.split(separator: "\n") { output.line(String(line)) }
      output.line("folder \(bench.folder.display)")
      output.line("")
      output.line(table.header)
    }
    output.flush()
    do throws(RecorderFailure) {
      try bench.run {
        stopping.isAsked.load(ordering: .relaxed)
      } onLine: { line in
        if json {
          output.json(line.json)
        } else {
          output.line(
            table.row(
              [
                Table.Cell(line.name), Table.Cell(line.verdict.rawValue, tone(line.verdict)),
                Table.Cell(line.there),
              ], line.needed))
        }
        output.flush()
      }
    } catch {
      if error.kind == "cancelled" {
        Output.note("stopped: what was measured stands above, and nothing is left behind")
        return 0
      }
      return Main.report(error, json: json, output)
    }
    return 0
  }

  private static func tone(_ verdict: BenchVerdict) -> Style.Tone {
    switch verdict {
    case .enough: .good
    case .tight: .warning
    case .short: .bad
    }
  }

  /// The folder that was named, else the takes folder, or what of its path there is so far.
  private static func folder(_ arguments: Arguments) throws(UsageError) -> Path {
    if let named = arguments.operands.first {
      guard !named.bytes.isEmpty else { throw UsageError("the folder's name is empty") }
      return named
    }
    guard var path = TakesFolderPath.standard(environment) else {
      throw UsageError("without HOME there is no takes folder: name one")
    }
    while access(path, W_OK) != 0, path.parent != path { path = path.parent }
    return path
  }
  private static func access(_ path: Path, _ mode: Int32) -> Int32 {
    unsafe path.withCString { unsafe Glibc.access($0, mode) }
  }
  private static func input(_ arguments: Arguments) throws(UsageError) -> InputSpec {
    let input: InputSpec
    do throws(RecorderFailure) { input = try InputSpec(arguments.values["--input"]) } catch {
      throw UsageError(arguments.place("--input") + error.message)
    }
    if input == .standardInput {
      throw UsageError("bench reads a device, a file or a tone, not standard input")
    }
    return input
  }

  private final class Stopping: Sendable {
    let isAsked = Atomic<Bool>(false)
    func take(_ signal: Int32) {
      if signal != SIGUSR1, signal != SIGUSR2 { isAsked.store(true, ordering: .relaxed) }
    }
  }
}
