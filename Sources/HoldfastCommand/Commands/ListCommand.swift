import Holdfast
import Platform

/// `holdfast list`.
enum ListCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count <= 1 else { throw UsageError("list takes one folder") }
    let json = arguments.has("--json")
    let standard = TakesFolderPath.standard(environment)
    guard let folder = arguments.operands.first ?? standard else {
      throw UsageError("no takes folder: neither XDG_DATA_HOME nor HOME is set; name a folder")
    }
    do throws(RecorderFailure) {
      let takes = try TakeStore(folder: folder).takes()
      if json {
        for take in takes { output.json(take.json) }
        return 0
      }
      guard !takes.isEmpty else {
        output.line("no takes in \(folder.display)")
        return 0
      }
      let table = Table([.length, .state, .pauses, .size], output.style)
      output.line(table.header)
      for take in takes {
        output.line(
          table.row(
            [
              Table.Cell(clockText(take.durationMs)), Words.state(take.kind.rawValue),
              Table.Cell("\(take.pauseCount)"), Table.Cell(sizeText(take.sizeBytes)),
            ], take.path.name.display))
        if let fault = take.fault { output.lines(table.note(fault, .bad)) }
        if let reason = take.interruption, reason != .killed {
          output.lines(table.note("interrupted: \(reason.rawValue)", .warning))
        }
      }
      return 0
    } catch {
      // Nothing has been recorded yet: an empty list, not an error.
      if arguments.operands.isEmpty, error.code == 66 {
        if !json { output.line("no takes in \(folder.display)") }
        return 0
      }
      return Main.report(error, json: json, output)
    }
  }
}
