import Holdfast
import Platform

/// The commands, in the order that help shows them.
enum CommandName: String, CaseIterable {
  case record, inspect, recover, list, play, export, restore, verify, devices, help

  var arguments: String {
    switch self {
    case .record: "[-o FILE.opus]"
    case .inspect, .verify: "FILE…"
    case .recover: "[FILE.opus | DIR]"
    case .list: "[DIR]"
    case .play: "FILE"
    case .export: "FILE -o FILE"
    case .restore: "NAME.opus"
    case .devices: ""
    case .help: "[COMMAND]"
    }
  }
  var summary: String {
    switch self {
    case .record: "records a take"
    case .inspect: "says what is in takes and other audio files"
    case .recover: "seals takes whose recorder was killed"
    case .verify: "checks takes: pages, checksum, decoded length, ledger, manifest"
    case .list: "lists takes and partial takes of a folder, or what is in its trash"
    case .play: "plays a take, or a stretch of it"
    case .export: "writes a take or a stretch of it to a WAV, FLAC or Opus file"
    case .restore: "brings a discarded or replaced take back from the trash"
    case .devices: "lists the sound devices that can record"
    case .help: "explains a command"
    }
  }
}

/// One option: what parses it is also what help prints.
struct Option {
  var long: String
  var short: String?
  var value: String?
  var help: String
  var commands: [CommandName]

  init(
    _ long: String, _ short: String? = nil, _ value: String? = nil, _ commands: [CommandName], _ help: String
  ) {
    self.long = long
    self.short = short
    self.value = value
    self.help = help
    self.commands = commands
  }

  static let table: [Option] = [
    Option(
      "--output", "-o", "FILE.opus", [.record], "the take's file; without it a new name in the takes folder"),
    Option(
      "--continue", nil, "FILE.opus", [.record], "goes on with an unfinished take, in the same file"),
    Option(
      "--output", "-o", "FILE", [.export],
      "NAME.wav or NAME.flac (16 bit), or NAME.opus (cut, not encoded anew)"),
    Option(
      "--output", nil, "SPEC", [.play], "alsa:NAME (default alsa:default), file:PATH.wav or file:PATH.flac"),
    Option("--from", nil, "TIME", [.play, .export], "mm:ss[.mmm] or h:mm:ss[.mmm]; default the start"),
    Option("--to", nil, "TIME", [.play, .export], "where it ends; default the end"),
    Option("--input", nil, "SPEC", [.record], "alsa:NAME, file:PATH, - (raw samples), or tone:HZ[,DBFS]"),
    Option("--realtime", nil, nil, [.record], "reads a file or tone at the speed it sounds"),
    Option(
      "--format", nil, "FORMAT", [.record],
      "of raw samples: u8, s16le (default), s24le, s24_32le, s32le, f32le"),
    Option("--rate", nil, "HZ", [.record], "of raw samples; default 48000"),
    Option("--channels", nil, "N", [.record], "of raw samples; default 1"),
    Option("--channel", nil, "N|mix", [.record], "which channel becomes the take; default 1"),
    Option("--max-ms", nil, "N", [.record], "stops at that very frame; 0 for no limit (default)"),
    Option("--min-valid-ms", nil, "N", [.record], "shorter takes are sealed and marked too_short"),
    Option("--bitrate", nil, "BITS_PER_S", [.record], "6000 to 510000; default 32000"),
    Option("--complexity", nil, "0-10", [.record], "of the Opus encoder; default 10"),
    Option("--resampler", nil, "QUALITY", [.record], "fastest, medium (default) or best"),
    Option("--gaps", nil, "fill|close", [.record], "lost frames become silence (default) or nothing"),
    Option("--arm", nil, nil, [.record], "listens first; space or SIGUSR1 starts"),
    Option(
      "--pre-roll", nil, "MS", [.record], "with --arm: sound from before the start that goes into the take"),
    Option("--period-ms", nil, "MS", [.record], "how often a device hands over frames; default 10"),
    Option("--buffer-ms", nil, "MS", [.record], "how much a device holds before it overruns; default 100"),
    Option(
      "--mmap", nil, nil, [.record], "reads a device through its mapped buffer instead of snd_pcm_readi"),
    Option("--wait-device", nil, "S", [.record], "how long a lost device is waited for; default 10"),
    Option(
      "--force", nil, nil, [.record],
      "replaces an existing take when the new one is sealed; the old one goes to the trash"),
    Option("--force", nil, nil, [.export], "replaces an existing file, which goes to the trash beside it"),
    Option("--session", nil, "ID", [.record], "goes into the take's context"),
    Option("--round", nil, "N", [.record], "goes into the take's context"),
    Option("--take-id", nil, "ID", [.record], "names the take: same id and input give the same bytes"),
    Option(
      "--json", nil, nil, [.record, .inspect, .recover, .list, .play, .export, .restore, .verify, .devices],
      "one JSON object a line, and nothing else on standard output"),
    Option("--trash", nil, nil, [.list], "what was discarded or replaced, and how long it is kept yet"),
    Option("--empty", nil, nil, [.list], "with --trash: deletes all of it now, for good"),
    Option(
      "--min-pause-ms", nil, "MS", [.record, .inspect],
      "how long a speaker must be silent for a pause; default 250"),
    Option(
      "--auto-pause", nil, "SECONDS", [.record],
      "leaves silence out after that much of it, until 200 ms before the next sound; off by default"),
    Option(
      "--stop-after-silence", nil, "SECONDS", [.record], "stops after that much silence; off by default"),
    Option("--no-ui", nil, nil, [.record], "reads no keys and draws nothing"),
    Option(
      "--block-frames", nil, "N", [.record], "frames a source is read by at most; the take is the same at any"
    ),
  ]
}

/// The words behind the command, sorted out.
struct Arguments {
  var command: CommandName
  var values: [String: Path] = [:]
  var operands: [Path] = []

  func has(_ option: String) -> Bool { values[option] != nil }
  func text(_ option: String) -> String? { values[option]?.text }

  /// A whole number in a range.
  func number(_ option: String, _ range: ClosedRange<Int64>) throws(UsageError) -> Int64? {
    guard let text = text(option) else { return nil }
    guard let value = Int64(text), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw UsageError("\(option) \(values[option]?.display ?? ""): a whole number is needed")
    }
    guard range.contains(value) else {
      throw UsageError("\(option) \(value): it must lie in \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
  /// A time of a file, in milliseconds.
  func time(_ option: String) throws(UsageError) -> Int64? {
    guard let text = text(option) else { return nil }
    guard let value = ClipTime.milliseconds(text) else {
      throw UsageError(
        "\(option) \(values[option]?.display ?? ""): a time is mm:ss, mm:ss.mmm or h:mm:ss.mmm, such as 01:02.500"
      )
    }
    return value
  }
  func choice<T>(_ option: String, _ choices: [(String, T)]) throws(UsageError) -> T? {
    guard let text = text(option) else { return nil }
    guard let found = choices.first(where: { $0.0 == text }) else {
      throw UsageError(
        "\(option) \(values[option]?.display ?? ""): it can be \(choices.map(\.0).joined(separator: ", "))")
    }
    return found.1
  }

  /// - Parameter words: what follows the program's name.
  init(_ words: [Path]) throws(UsageError) {
    guard let first = words.first else { throw UsageError("no command; `holdfast help` lists them") }
    guard let command = CommandName(rawValue: first.text) else {
      let near = nearest(first.text, CommandName.allCases.map(\.rawValue))
      throw UsageError(
        "no command \(first.display)\(near.map { "; did you mean \($0)?" } ?? "; `holdfast help` lists them")"
      )
    }
    self.command = command
    var i = 1
    var onlyOperands = false
    while i < words.count {
      let word = words[i]
      i += 1
      guard !onlyOperands, word.bytes.count > 1, word.bytes.first == UInt8(ascii: "-") else {
        operands.append(word)
        continue
      }
      if word.text == "--" {
        onlyOperands = true
        continue
      }
      var name = word
      var value: Path?
      if word.bytes.starts(with: Array("--".utf8)), let equals = word.bytes.firstIndex(of: UInt8(ascii: "="))
      {
        name = Path(bytes: Array(word.bytes[..<equals]))
        value = Path(bytes: Array(word.bytes[(equals + 1)...]))
      }
      let known = Option.table.filter { $0.commands.contains(command) }
      guard let option = known.first(where: { $0.long == name.text || $0.short == name.text }) else {
        let near = nearest(name.text, known.map(\.long))
        throw UsageError(
          "\(command.rawValue) has no option \(name.display)"
            + (near.map { "; did you mean \($0)?" } ?? "; `holdfast help \(command.rawValue)` lists them"))
      }
      if option.value == nil {
        guard value == nil else { throw UsageError("\(option.long) takes no value") }
        values[option.long] = Path("")
        continue
      }
      if value == nil {
        guard i < words.count else { throw UsageError("\(option.long) needs a value: \(option.value ?? "")") }
        value = words[i]
        i += 1
      }
      values[option.long] = value
    }
  }
}

/// The command line makes no sense.
struct UsageError: Error {
  var message: String
  init(_ message: String) { self.message = message }
}

/// The candidate with the smallest edit distance, if it is near enough to be meant.
func nearest(_ word: String, _ candidates: [String]) -> String? {
  let w = Array(word.utf8.prefix(64))
  let scored = candidates.map { ($0, distance(w, Array($0.utf8))) }
  guard let best = scored.min(by: { $0.1 < $1.1 }), best.1 <= max(2, best.0.utf8.count / 3) else {
    return nil
  }
  return best.0
}
private func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  var row = Array(0...b.count)
  for i in 0..<a.count {
    var corner = row[0]
    row[0] = i + 1
    for j in 0..<b.count {
      let above = row[j + 1]
      row[j + 1] = min(above + 1, row[j] + 1, corner + (a[i] == b[j] ? 0 : 1))
      corner = above
    }
  }
  return row[b.count]
}
