import Holdfast
import Platform

/// `holdfast verify`.
enum VerifyCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    let files = try FileList(arguments)
    guard files.count != 0 else { throw UsageError("verify needs a take; `holdfast help verify` shows how") }
    let json = arguments.has("--json")
    let table = Table([.length, .state], output.style)
    var isFirst = true
    return try Looking.run("verify", files, arguments, output) { path, progress throws(RecorderFailure) in
      try Verifier.verify(path, progress: progress)
    } show: { (report: VerifyReport) in
      if json {
        output.json(report.json)
      } else {
        if isFirst { output.line(table.header) }
        let length = clockText(milliseconds(frames: report.effectiveFrames))
        output.line(
          table.row([Table.Cell(length), Words.state(report.isSound ? "ok" : "FAILED")], report.path.display))
        for check in report.checks {
          if let fault = check.fault { output.lines(table.note("\(check.name): \(fault)", .bad)) }
        }
      }
      isFirst = false
      return report.isSound ? 0 : 65
    }
  }
}
