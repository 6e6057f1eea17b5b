import Holdfast
import Platform

/// `holdfast inspect`.
enum InspectCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard !arguments.operands.isEmpty else { throw UsageError("inspect needs a file") }
    let json = arguments.has("--json")
    let minPauseMs = try arguments.number("--min-pause-ms", 10...3_600_000) ?? SpeechDetector.minPauseMs
    var code: Int32 = 0
    for (i, path) in arguments.operands.enumerated() {
      do throws(RecorderFailure) {
        let report =
          path.text == "-"
          ? try Inspector.inspect(descriptor: 0, shown: Path("-"), minPauseMs: minPauseMs)
          : try Inspector.inspect(path, minPauseMs: minPauseMs)
        if json {
          output.json(report.json)
        } else {
          if i > 0 { output.line("") }
          card(report, output)
        }
        code = max(code, report.code)
      } catch { code = max(code, Main.report(error, json: json, output)) }
      output.flush()
    }
    return code
  }

  private static func card(_ report: InspectReport, _ output: Output) {
    func row(_ name: String, _ text: String) { output.line(pad("  " + name, 14) + text) }
    output.line(report.path.display)
    var what = "\(report.outcome.rawValue), \(report.contentType), \(report.sampleRate) Hz, "
    what += report.channels == 1 ? "mono" : "\(report.channels) channels"
    if report.parts > 1 { what += ", \(report.parts) parts" }
    row("what", report.recording ? what + ", being recorded now" : what)
    if let started = report.story?.startedMs { row("when", Stamp.rfc3339(started)) }
    row(
      "length", "\(clockText(report.durationMs))  (\(report.durationMs) ms, \(report.effectiveFrames) frames)"
    )
    row("size", "\(report.sizeBytes) bytes")
    row("waveform", output.style.blocks(report.bars))
    let levels = report.levels
    row(
      "level", "RMS \(fixed(levels.rmsDb, 1)) dBFS, peak \(fixed(levels.peakDb, 1)) dBFS, \(loudness(report))"
    )
    row("noise floor", "\(fixed(report.noiseFloorDb, 1)) dBFS, \(faults(report))")
    if report.channels > 1 {
      for (i, channel) in report.channelLevels.enumerated().prefix(8) {
        row("channel \(i + 1)", "RMS \(fixed(channel.rmsDb, 1)) dBFS, peak \(fixed(channel.peakDb, 1)) dBFS")
      }
    }
    for verdict in report.verdicts { row("sound", verdict.message) }
    if let story = report.story {
      row("pauses", "\(story.pauses.count)" + places(story.pauses.map(\.frame)))
      if !story.autoPauses.isEmpty {
        let left = story.autoPauses.reduce(0) { $0 + ($1.lengthMs ?? 0) }
        row(
          "left out",
          "\(clockText(left)) of silence, \(story.autoPauses.count) times"
            + places(story.autoPauses.map(\.frame)))
      }
      if !story.marks.isEmpty { row("marks", "\(story.marks.count)" + places(story.marks.map(\.frame))) }
      if !story.gaps.isEmpty { row("gaps", "\(story.gaps.count)" + places(story.gaps.map(\.frame))) }
      if !story.interruptions.isEmpty {
        row(
          "interrupted",
          story.interruptions.map { "\(clockText(milliseconds(frames: $0.frame))) \($0.reason.rawValue)" }
            .joined(separator: ", "))
      }
      if let ended = story.endedBy { row("ended by", ended.rawValue) }
    }
    let practice = report.speech.practice
    if practice.speechMs > 0 {
      row(
        "speech",
        "\(clockText(practice.speechMs)), \(fixed(practice.speechShare * 100, 0)) %, from \(clockText(practice.leadMs)) to \(clockText(report.durationMs - practice.tailMs))"
      )
      row(
        "speech pauses",
        practice.pauses == 0
          ? "0"
          : "\(practice.pauses): longest \(practice.longestMs) ms, median \(practice.medianMs) ms, \(fixed(practice.pausesPerMinute, 1)) a minute"
      )
    }
    for silence in report.silences.prefix(8) {
      row("no signal", "\(clockText(silence.lowerBound)) to \(clockText(silence.upperBound))")
    }
    row("sha256", report.sha256 + (report.measuredOn == .manifest ? "  (as sealed)" : ""))
    for problem in report.problems { row(problem.costsAudio ? "DAMAGE" : "note", problem.message) }
  }

  private static func loudness(_ report: InspectReport) -> String {
    report.loudness > -100 ? "loudness \(fixed(report.loudness, 1)) LUFS" : "no loudness to speak of"
  }
  private static func faults(_ report: InspectReport) -> String {
    let hum = report.hum.map { "hum of \($0.hertz) Hz at \(fixed($0.db, 0)) dBFS" } ?? "no hum"
    let clipped = report.levels.clippedRuns == 1 ? "once" : "\(report.levels.clippedRuns) times"
    return "\(hum), DC offset \(fixed(report.levels.dcOffset, 4)), clipped \(clipped)"
  }
  private static func places(_ frames: [Int64]) -> String {
    guard !frames.isEmpty else { return "" }
    let shown = frames.prefix(10).map { clockText(milliseconds(frames: $0)) }.joined(separator: ", ")
    return " at \(shown)" + (frames.count > 10 ? ", …" : "")
  }
}

/// `holdfast verify`.
enum VerifyCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard !arguments.operands.isEmpty else { throw UsageError("verify needs a take") }
    let json = arguments.has("--json")
    var code: Int32 = 0
    for path in arguments.operands {
      do throws(RecorderFailure) {
        let report = try Verifier.verify(path)
        if json {
          output.json(report.json)
        } else if report.isSound {
          output.line("ok      \(path.display)")
        } else {
          for check in report.checks {
            if let fault = check.fault { output.line("FAILED  \(path.display): \(check.name): \(fault)") }
          }
        }
        if !report.isSound { code = max(code, 65) }
      } catch { code = max(code, Main.report(error, json: json, output)) }
      output.flush()
    }
    return code
  }
}

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
      output.line(pad("LENGTH", 9) + pad("STATE", 12) + pad("PAUSES", 8) + pad("BYTES", 12) + "NAME")
      for take in takes {
        output.line(
          pad(clockText(take.durationMs), 9) + pad(take.kind.rawValue, 12) + pad("\(take.pauseCount)", 8)
            + pad("\(take.sizeBytes)", 12) + take.path.name.display)
        if let fault = take.fault { output.line("         \(fault)") }
        if let reason = take.interruption, reason != .killed {
          output.line("         interrupted: \(reason.rawValue)")
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
