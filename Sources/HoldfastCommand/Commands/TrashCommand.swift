import Holdfast
import Platform

/// `holdfast list --trash` and `holdfast restore`.
enum TrashCommand {
  static func list(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.has("--trash") else {
      throw UsageError("--empty is for the trash: `holdfast list --trash --empty` deletes what is in it")
    }
    guard arguments.operands.count <= 1 else { throw UsageError("list takes one folder") }
    guard let folder = arguments.operands.first ?? TakesFolderPath.standard(environment) else {
      throw UsageError("no takes folder: neither XDG_DATA_HOME nor HOME is set; name a folder")
    }
    let json = arguments.has("--json")
    do throws(RecorderFailure) {
      if arguments.has("--empty") {
        try empty(folder, json, output)
      } else {
        try show(folder, json, output)
      }
      return 0
    } catch {
      // Nothing has been recorded yet: nothing was discarded, and that is no error.
      if arguments.operands.isEmpty, error.code == 66 {
        if !json { output.line("the trash of \(folder.display) is empty") }
        return 0
      }
      return Main.report(error, json: json, output)
    }
  }

  private static func show(_ folder: Path, _ json: Bool, _ output: Output) throws(RecorderFailure) {
    let (lines, deleted) = try TakeTrash.list(folder)
    if json {
      for line in lines { output.json(line.json) }
      return
    }
    if deleted > 0 {
      Output.note("deleted \(deleted) \(deleted == 1 ? "entry" : "entries") older than 7 days")
    }
    guard !lines.isEmpty else {
      output.line("the trash of \(folder.display) is empty")
      return
    }
    let table = Table(
      [.length, .state, .size, Table.Column("LEFT", 8, rank: 1), Table.Column("ENTRY", 29, rank: 3)],
      output.style)
    output.line(table.header)
    for line in lines {
      output.line(
        table.row(
          [
            Table.Cell(line.take.map { clockText($0.durationMs) } ?? "-"), Words.state(line.kind.rawValue),
            Table.Cell(line.take.map { sizeText($0.sizeBytes) } ?? "-"),
            Table.Cell(keptText(line.remainingMs)),
            Table.Cell(line.entry.display),
          ], line.name.display))
      if let message = line.message ?? line.take?.fault { output.lines(table.note(message, .warning)) }
    }
    if let newest = lines.last(where: { $0.take != nil }) {
      output.line("`\(newest.folder.appending(newest.name).restoreCommand)` brings that one back")
    }
  }

  private static func empty(_ folder: Path, _ json: Bool, _ output: Output) throws(RecorderFailure) {
    let (gone, kept) = try TakeTrash.empty(folder)
    for line in gone {
      if json {
        output.json(line.deletedJSON)
      } else {
        output.line("deleted \(line.name.display), \(line.entry.display)")
      }
    }
    if gone.isEmpty, !json { output.line("the trash of \(folder.display) had nothing to delete") }
    for entry in kept {
      Output.note("\(entry.display) stays: it holds files that aren't Holdfast's, or is in use")
    }
  }

  private static func keptText(_ ms: Int64) -> String {
    let hours = ms / 3_600_000
    return hours >= 24 ? "\(hours / 24)d \(hours % 24)h" : "\(hours)h"
  }

  static func restore(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count == 1, let name = arguments.operands.first, !name.bytes.isEmpty else {
      throw UsageError("restore needs the name of one take; `holdfast list --trash` shows them")
    }
    let json = arguments.has("--json")
    do throws(RecorderFailure) {
      let back = try TakeTrash.restore(name, takesFolder: TakesFolderPath.standard(environment))
      if json {
        output.json(back.json)
        return 0
      }
      let shown = back.take.path.display
      output.line(
        "restored \(shown): \(back.isUnfinished ? "unfinished" : back.take.kind.rawValue), \(clockText(back.take.durationMs))"
      )
      if back.isUnfinished {
        output.line(
          "  `holdfast recover \(shown)` seals it, `holdfast record --continue \(shown)` goes on with it")
      }
      if back.others > 0 {
        output.line(
          "  it was the newest of \(back.others + 1) takes of that name, put there \(Stamp.rfc3339(back.trashedMs)); `holdfast list --trash` shows the others"
        )
      }
      return 0
    } catch { return Main.report(error, json: json, output) }
  }
}
