import Holdfast
import Platform

/// `holdfast inspect`: one file as a card, several as a table.
enum InspectCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    let files = try FileList(arguments)
    guard files.count != 0 else {
      throw UsageError("inspect needs a file; `holdfast help inspect` shows how")
    }
    let json = arguments.has("--json")
    let minPauseMs = try arguments.number("--min-pause-ms", 10...3_600_000) ?? SpeechDetector.minPauseMs
    let table = files.isMany && !json ? Self.table(output.style) : nil
    var isFirst = true
    return try Looking.run("inspect", files, arguments, output) { path, progress throws(RecorderFailure) in
      path.text == "-"
        ? try Inspector.inspect(descriptor: 0, shown: path, minPauseMs: minPauseMs, progress: progress)
        : try Inspector.inspect(path, minPauseMs: minPauseMs, progress: progress)
    } show: { (report: InspectReport) in
      if json {
        output.json(report.json)
      } else if let table {
        if isFirst { output.line(table.header) }
        row(report, table, output)
      } else {
        for line in Card.lines(report, output.style) { output.line(line) }
      }
      isFirst = false
      return report.code
    }
  }

  private static func table(_ style: Style) -> Table {
    Table(
      [
        .length, .state, Table.Column("SPEECH", 8, rank: 4), Table.Column("LUFS", 8, rank: 2),
        Table.Column("PEAK", 8, rank: 3), Table.Column("NOISE", 8, rank: 5),
        Table.Column("CLIPS", 7, rank: 1),
        Table.Column("WAVEFORM", 36, rank: 9),
      ], style)
  }
  private static func row(_ report: InspectReport, _ table: Table, _ output: Output) {
    let levels = report.levels
    func db(_ value: Double) -> Table.Cell { Table.Cell(value > -100 ? fixed(value, 1) : "-") }
    output.line(
      table.row(
        [
          Table.Cell(clockText(report.durationMs)),
          Words.state(report.code == 0 ? report.outcome.rawValue : "DAMAGED"),
          Table.Cell("\(fixed(report.speech.practice.speechShare * 100, 0)) %"), db(report.loudness),
          db(levels.peakDb), db(report.noiseFloorDb),
          Table.Cell("\(levels.clippedRuns)", levels.clippedRuns > 0 ? .warning : .plain),
          Table.Cell(output.style.blocks(report.bars)),
        ], report.path.display))
    for problem in report.problems {
      output.lines(table.note(problem.message, problem.costsAudio ? .bad : .warning))
    }
    for verdict in report.verdicts { output.lines(table.note(verdict.message, .warning)) }
  }
}

/// What `inspect` and `verify` have in common: many files, several at once, shown in their order.
enum Looking {
  /// - Parameters:
  ///   - look: at one file, on any thread.
  ///   - show: what came of it; gives an exit code.
  /// - Returns: the worst code.
  static func run<Report: Sendable>(
    _ verb: String, _ files: FileList, _ arguments: Arguments, _ output: Output,
    look: @escaping @Sendable (Path, @escaping (Double) -> Void) throws(RecorderFailure) -> Report,
    show: (Report) -> Int32
  ) throws(UsageError) -> Int32 {
    let json = arguments.has("--json")
    let jobs = try arguments.number("--jobs", 1...1_024).map { Int($0) } ?? processorCount
    let progress = Progress(verb, total: files.count, json: json, output)
    var code: Int32 = 0
    do throws(Errno) {
      try Crew.run(files, jobs: jobs, progress) { item, told -> Result<Report, RecorderFailure> in
        do throws(RecorderFailure) {
          switch item {
          case .file(let path): return .success(try look(path, told))
          case .bad(let failure): throw failure
          }
        } catch { return .failure(error) }
      } show: { found in
        switch found {
        case .success(let report): code = max(code, show(report))
        case .failure(let failure): code = max(code, Main.report(failure, json: json, output))
        }
        output.flush()
        return !output.hasNoReader
      }
    } catch {
      progress.finish()
      return Main.report(
        RecorderFailure(code: 74, kind: "thread", message: "can't start a thread: \(error.text)"), json: json,
        output)
    }
    progress.finish()
    return code
  }
}
