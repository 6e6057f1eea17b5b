import Holdfast
import Platform

/// What `inspect` says of one file to a person.
struct Card {
  private let report: InspectReport
  private let style: Style
  private var rows: [(name: String, text: String, tone: Style.Tone)] = []

  static func lines(_ report: InspectReport, _ style: Style) -> [String] {
    var card = Card(report: report, style: style)
    card.fill()
    return [style.strong(report.path.display)] + card.rows.flatMap { card.lines($0.name, $0.text, $0.tone) }
  }
  private init(report: InspectReport, style: Style) {
    self.report = report
    self.style = style
  }

  private mutating func row(_ name: String, _ text: String, _ tone: Style.Tone = .plain) {
    rows.append((name, text, tone))
  }
  private func lines(_ name: String, _ text: String, _ tone: Style.Tone) -> [String] {
    let column = 16
    guard let columns = style.columns else { return [pad("  " + name, column) + style.paint(text, tone)] }
    if columns < 60 {
      let head = "  \(name): "
      guard head.count + displayWidth(text) > columns else {
        return [style.paint(head, .faint) + style.paint(text, tone)]
      }
      return [style.paint("  \(name):", .faint)]
        + pieces(text, columns - 4).map { "    " + style.paint($0, tone) }
    }
    return pieces(text, columns - column).enumerated().map { i, piece in
      style.paint(pad(i == 0 ? "  " + name : "", column), .faint) + style.paint(piece, tone)
    }
  }
  /// Broken at blanks, but what has blanks of its own (the waveform) only where it must be.
  private func pieces(_ text: String, _ width: Int) -> [String] {
    if displayWidth(text) <= width { return [text] }
    return Help.wrap(text, style, width: width).flatMap { line -> [String] in
      var rest = Substring(line)
      var out: [String] = []
      while rest.count > width {
        out.append(String(rest.prefix(width)))
        rest = rest.dropFirst(width)
      }
      return out + [String(rest)]
    }
  }

  private mutating func fill() {
    what()
    length()
    row("size", "\(sizeText(report.sizeBytes)) (\(report.sizeBytes) bytes)")
    row("waveform", style.blocks(report.bars))
    sound()
    speech()
    if let story = report.story { tell(story) }
    checksum()
    verdicts()
  }

  private mutating func what() {
    var what =
      "\(report.outcome.rawValue), \(report.contentType), \(report.sampleRate) Hz, "
      + (report.channels == 1 ? "mono" : "\(report.channels) channels")
    if report.parts > 1 { what += ", \(report.parts) parts" }
    row("what", report.recording ? what + ", being recorded now" : what, Words.tone(report))
    guard let story = report.story else { return }
    if let started = story.startedMs { row("when", Words.dateText(started)) }
    if let ended = story.endedBy { row("ended by", ended.rawValue) }
  }
  private mutating func length() {
    row(
      "length", "\(clockText(report.durationMs))  (\(report.durationMs) ms, \(report.effectiveFrames) frames)"
    )
    guard let story = report.story else { return }
    let left = story.pauses.map(\.lengthMs) + story.autoPauses.map(\.lengthMs)
    guard !left.isEmpty else { return }
    let whole = left.reduce(report.durationMs) { $0 &+ max(0, $1 ?? 0) }
    row("with pauses", (left.contains(nil) ? "at least " : "") + clockText(whole))
  }
  private mutating func sound() {
    let levels = report.levels
    let loudness =
      report.loudness > -100 ? "loudness \(fixed(report.loudness, 1)) LUFS" : "no loudness to speak of"
    row("level", "RMS \(fixed(levels.rmsDb, 1)) dBFS, peak \(fixed(levels.peakDb, 1)) dBFS, \(loudness)")
    if report.channels > 1 {
      for (i, channel) in report.channelLevels.enumerated().prefix(8) {
        row("channel \(i + 1)", "RMS \(fixed(channel.rmsDb, 1)) dBFS, peak \(fixed(channel.peakDb, 1)) dBFS")
      }
    }
    let runs = levels.clippedRuns
    row("clipping", runs == 0 ? "none" : runs == 1 ? "clipped once" : "clipped \(runs) times")
    let hum = report.hum.map { "hum of \($0.hertz) Hz at \(fixed($0.db, 0)) dBFS" } ?? "no hum"
    let floor = report.noiseFloorDb > -150 ? "\(fixed(report.noiseFloorDb, 1)) dBFS" : "digital silence"
    row("noise floor", "\(floor), \(hum), DC offset \(fixed(levels.dcOffset, 4))")
    for silence in report.silences.prefix(8) {
      row("no signal", "\(clockText(silence.lowerBound)) to \(clockText(silence.upperBound))")
    }
  }
  private mutating func speech() {
    let practice = report.speech.practice
    guard practice.speechMs > 0 else { return row("speech", "none") }
    row(
      "speech",
      "\(fixed(practice.speechShare * 100, 0)) %, \(clockText(practice.speechMs)) from \(clockText(practice.leadMs)) to \(clockText(report.durationMs - practice.tailMs))"
    )
    row(
      "speech pauses",
      practice.pauses == 0
        ? "none"
        : "\(practice.pauses): longest \(practice.longestMs) ms, median \(practice.medianMs) ms, \(fixed(practice.pausesPerMinute, 1)) a minute"
    )
  }
  private mutating func tell(_ story: TakeStory) {
    func at(_ frame: Int64) -> String { clockText(milliseconds(frames: frame)) }
    func list(_ name: String, _ items: [String], always: Bool = false) {
      guard !items.isEmpty else { return always ? row(name, "none") : () }
      row(
        name,
        "\(items.count): \(items.prefix(10).joined(separator: ", "))"
          + (items.count > 10 ? ", \(style.ellipsis)" : ""))
    }
    func length(_ ms: Int64?) -> String { ms.map { " for \(Words.secondsText($0))" } ?? "" }
    list("pauses", story.pauses.map { at($0.frame) + length($0.lengthMs) }, always: true)
    list("left out", story.autoPauses.map { "silence at \(at($0.frame))" + length($0.lengthMs) })
    list(
      "gaps",
      story.gaps.map {
        "\(at($0.frame)), \(milliseconds(frames: $0.gap.frames)) ms \($0.gap.filled ? "of silence instead" : "left out")"
      }, always: true)
    list(
      "marks", story.marks.map { at($0.frame) + ($0.label.map { " \(Path($0).display)" } ?? "") },
      always: true)
    list(
      "interrupted", story.interruptions.map { "\(at($0.frame)) \($0.reason.rawValue)" + length($0.lengthMs) }
    )
  }
  private mutating func checksum() {
    let note =
      report.measuredOn == .manifest
      ? "  (as sealed)" : report.problems.contains { $0.kind == "checksum" } ? "  (NOT as sealed)" : ""
    row("sha256", report.sha256 + note)
  }
  private mutating func verdicts() {
    for problem in report.problems {
      row(problem.costsAudio ? "DAMAGE" : "note", problem.message, problem.costsAudio ? .bad : .warning)
    }
    let verdicts = report.verdicts
    for verdict in verdicts { row("verdict", verdict.message, .warning) }
    if verdicts.isEmpty, report.frames > 0, report.code == 0 { row("verdict", "good", .good) }
  }
}

/// Words and their colours, the same in every command.
enum Words {
  static func tone(_ state: String) -> Style.Tone {
    switch state {
    case "complete", "recovered", "repaired", "whole", "ok", "ready": .good
    case "unfinished", "recording", "busy", "discarded", "replaced": .warning
    case "unreadable", "FAILED", "DAMAGED", "denied": .bad
    default: .plain
    }
  }
  static func tone(_ report: InspectReport) -> Style.Tone {
    report.code == 0 ? tone(report.outcome.rawValue) : .bad
  }
  static func state(_ word: String) -> Table.Cell { Table.Cell(word, tone(word)) }
  /// `2026-11-30 17:24:11 UTC`.
  static func dateText(_ ms: Int64) -> String {
    let text = Stamp.rfc3339(ms)
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + " UTC"
  }
  /// `0.4 s`, `12.3 s`, `02:05`.
  static func secondsText(_ ms: Int64) -> String {
    ms < 60_000 ? "\(fixed(Double(ms) / 1_000, 1)) s" : clockText(ms)
  }
}
