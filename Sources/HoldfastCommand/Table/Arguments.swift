import Holdfast
import Platform

/// The words behind the command, sorted out, and below them what the configuration says.
struct Arguments {
  var command: CommandName
  private(set) var values: [String: Path] = [:]
  private(set) var operands: [Path] = []
  /// Where a value comes from that isn't of the command line.
  private var origins: [String: Configuration.Origin] = [:]

  func has(_ option: String) -> Bool { values[option] != nil }
  /// It stands on the command line: whoever wrote it means this run.
  func isGiven(_ option: String) -> Bool { has(option) && origins[option] == nil }
  func text(_ option: String) -> String? { values[option]?.text }
  /// The option and its value as it was written, for a message: `--gaps x`, `HOLDFAST_GAPS=x`, `FILE:3: gaps = x`.
  func written(_ option: String) -> String {
    let value = values[option]?.display ?? ""
    return origins[option]?.written(option, value) ?? "\(option) \(value)"
  }
  /// In front of a message that doesn't name its option: nothing for one of the command line.
  func place(_ option: String) -> String {
    origins[option].map { $0.written(option, text(option) ?? "") + ": " } ?? ""
  }

  /// A whole number in a range.
  func number(_ option: String, _ range: ClosedRange<Int64>) throws(UsageError) -> Int64? {
    guard let text = text(option) else { return nil }
    guard let value = Int64(text), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw UsageError("\(written(option)): a whole number, 0 or more, is needed")
    }
    guard range.contains(value) else {
      throw UsageError("\(written(option)): it must lie in \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
  /// A time of a file, in milliseconds.
  func time(_ option: String) throws(UsageError) -> Int64? {
    guard let text = text(option) else { return nil }
    guard let value = ClipTime.milliseconds(text) else {
      throw UsageError("\(written(option)): a time is mm:ss, mm:ss.mmm or h:mm:ss.mmm, such as 01:02.500")
    }
    return value
  }
  func choice<T>(_ option: String, _ choices: [(String, T)]) throws(UsageError) -> T? {
    guard let text = text(option) else { return nil }
    guard let found = choices.first(where: { $0.0 == text }) else {
      throw notOne(option, of: choices.map(\.0))
    }
    return found.1
  }
  private func notOne(_ option: String, of choices: [String]) -> UsageError {
    let near = nearest(text(option) ?? "", choices).map { "; did you mean \($0)?" } ?? ""
    return UsageError("\(written(option)): it can be \(choices.joined(separator: ", "))\(near)")
  }

  /// - Parameters:
  ///   - words: what follows the program's name.
  ///   - configuration: asked for once the command is known, and not by `help`.
  init(_ words: [Path], configuration: () throws(UsageError) -> Configuration) throws(UsageError) {
    guard let first = words.first else { throw UsageError("no command; `holdfast help` lists them") }
    guard let command = CommandName(rawValue: first.text) else {
      let near = nearest(first.text, CommandName.allCases.map(\.rawValue))
      throw UsageError(
        "no command \(first.display)\(near.map { "; did you mean \($0)?" } ?? "; `holdfast help` lists them")"
      )
    }
    self.command = command
    var rest = words.dropFirst()
    var onlyOperands = false
    while let word = rest.popFirst() {
      if onlyOperands || word.bytes.count < 2 || word.bytes.first != UInt8(ascii: "-") {
        operands.append(word)
      } else if word.text == "--" {
        onlyOperands = true
      } else {
        try take(word, &rest)
      }
    }
    if command != .help { add(try configuration()) }
    try checkChoices()
  }

  /// One option: `--name`, `--name value`, `--name=value`, `-n`, `-n value`, `-nvalue`.
  private mutating func take(_ word: Path, _ rest: inout ArraySlice<Path>) throws(UsageError) {
    var name = word
    var value: Path?
    let isLong = word.bytes.starts(with: Array("--".utf8))
    if isLong, let equals = word.bytes.firstIndex(of: UInt8(ascii: "=")) {
      name = Path(bytes: Array(word.bytes[..<equals]))
      value = Path(bytes: Array(word.bytes[(equals + 1)...]))
    }
    let known = command.options
    var found = known.first { $0.long == name.text || $0.short == name.text }
    if found == nil, !isLong, word.bytes.count > 2 {
      let letter = Path(bytes: Array(word.bytes.prefix(2))).text
      found = known.first { $0.short == letter && $0.value != nil }
      value = Path(bytes: Array(word.bytes.dropFirst(2)))
    }
    guard let option = found else {
      let near = nearest(name.text, known.map(\.long))
      throw UsageError(
        "\(command.rawValue) has no option \(name.display)"
          + (near.map { "; did you mean \($0)?" } ?? "; `holdfast help \(command.rawValue)` lists them"))
    }
    guard let kind = option.value else {
      // `=no` is for what the configuration switches on.
      let isOn = try value.map { given throws(UsageError) in
        guard let isOn = Configuration.isYes(given.text) else {
          throw UsageError("\(option.long)=\(given.display): it is there or isn't (=yes, =no)")
        }
        return isOn
      }
      off.remove(option.long)
      values[option.long] = isOn ?? true ? Path("") : nil
      if isOn == false { off.insert(option.long) }
      return
    }
    guard let given = value ?? rest.popFirst() else {
      throw UsageError("\(option.long) needs a value: \(kind.shown)")
    }
    values[option.long] = given
  }
  /// Switched off on the command line.
  private var off: Set<String> = []

  private mutating func add(_ configuration: Configuration) {
    for option in command.options
    where option.isConfigurable && !has(option.long) && !off.contains(option.long) {
      guard let entry = configuration[option.key] else { continue }
      if option.value == nil {
        guard Configuration.isYes(entry.value.text) == true else { continue }
        values[option.long] = Path("")
      } else {
        values[option.long] = entry.value
      }
      origins[option.long] = entry.origin
    }
  }

  private func checkChoices() throws(UsageError) {
    for option in command.options {
      guard case .choice(let choices) = option.value, let text = text(option.long) else { continue }
      if !choices.contains(text) { throw notOne(option.long, of: choices) }
    }
  }
}

/// The command line or the configuration makes no sense.
struct UsageError: Error {
  var message: String
  init(_ message: String) { self.message = message }
}
