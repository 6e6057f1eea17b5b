import Holdfast
import Platform

/// `holdfast recover`.
enum RecoverCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count <= 1 else { throw UsageError("recover takes one take or folder") }
    let json = arguments.has("--json")
    guard let place = arguments.operands.first ?? TakesFolderPath.standard(environment) else {
      throw UsageError("no takes folder: neither XDG_DATA_HOME nor HOME is set; name a take or a folder")
    }
    let results: [Recovery.Result]
    let progress = Progress("recover", total: 1, json: json, output)
    progress.begin(0)
    do throws(RecorderFailure) {
      results = try Recovery.recover(place) { missing, name in
        if json { output.json(.object(FileSystemText.fields(missing, name))) }
        output.flush()
        output.note("note: " + FileSystemText.line(missing, name))
      } progress: { done, total in
        progress.set(done: done, of: total)
      }
      progress.finish()
    } catch {
      progress.finish()
      // Nothing has been recorded yet: nothing to do, not an error.
      if arguments.operands.isEmpty, error.code == 66 {
        if !json { output.line("nothing to recover in \(place.display)") }
        return 0
      }
      return Main.report(error, json: json, output)
    }
    var saved = 0
    var failures: [RecorderFailure] = []
    let table = Table([.length, .state, .pauses, .size], output.style)
    if !json, results.contains(where: \.isSaved) { output.line(table.header) }
    for result in results {
      switch result {
      case .recovered(let take):
        saved += 1
        if json { output.json(take.json) } else { print(take, table, output) }
        if let warning = take.take.warning {
          output.flush()
          output.error(warning)
        }
      case .repaired(let copy):
        saved += 1
        if json { output.json(copy.json) } else { print(copy, table, output) }
      case .nothingToDo(let path, let why):
        if !json { output.line(why.hasPrefix(path.display) ? why : "\(path.display) \(why)") }
      case .failed(let failure):
        failures.append(failure)
        _ = Main.report(failure, json: json, output)
      }
      output.flush()
    }
    if results.isEmpty, !json { output.line("nothing to recover in \(place.display)") }
    guard let first = failures.first else { return 0 }
    // One take that was named has its own code; of a folder's takes some are saved, or none.
    if results.count == 1, saved == 0 { return first.code }
    return saved > 0 ? 1 : 65
  }

  private static func print(_ recovered: RecoveredTake, _ table: Table, _ output: Output) {
    let take = recovered.take
    output.line(
      table.row(
        [
          Table.Cell(clockText(take.durationMs)), Words.state(take.outcome.rawValue),
          Table.Cell("\(take.pauseCount)"),
          Table.Cell(sizeText(take.sizeBytes)),
        ], take.path.display))
    output.lines(
      table.note(
        recovered.lostMsMax > 0
          ? "at most \(recovered.lostMsMax) ms of what was heard are lost" : "nothing of it is lost"))
    if take.tooShort { output.lines(table.note(tooShortText(take), .warning)) }
    for problem in recovered.problems { output.lines(table.note("note: \(problem.message)", .warning)) }
  }
  private static func print(_ copy: RepairedFile, _ table: Table, _ output: Output) {
    output.line(
      table.row(
        [Table.Cell(clockText(copy.durationMs)), Words.state("repaired"), Table.Cell("-"), Table.Cell("-")],
        (copy.written ?? copy.source).display))
    let prefix = "\(copy.source.display): "
    output.lines(
      table.note(copy.message.hasPrefix(prefix) ? String(copy.message.dropFirst(prefix.count)) : copy.message)
    )
  }
}

extension Recovery.Result {
  /// There is a whole file of it now.
  fileprivate var isSaved: Bool {
    switch self {
    case .recovered, .repaired: true
    case .nothingToDo, .failed: false
    }
  }
}

/// How much is missing to a take that is long enough.
func tooShortText(_ take: SealedTake) -> String {
  let seconds = (take.missingMs + 999) / 1000
  return "too short: \(seconds) more second\(seconds == 1 ? " was" : "s were") needed"
}
