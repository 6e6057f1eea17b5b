import CPlatform
import Glibc
import Holdfast
import Platform

/// What the environment and the configuration file say of options; the first beats the second, the command line both.
///
/// The file has a line an option, `name = value`, by the option's long name without dashes; `#` begins a comment line.
struct Configuration: Sendable {
  struct Entry: Sendable, Equatable {
    var value: Path
    var origin: Origin
  }
  enum Origin: Sendable, Equatable {
    case variable(String)
    case file(Path, line: Int)

    /// As it was written there, with the place.
    func written(_ option: String, _ value: String) -> String {
      switch self {
      case .variable(let name): "\(name)=\(value)"
      case .file(let path, let line): "\(path.display):\(line): \(option.dropFirst(2)) = \(value)"
      }
    }
  }
  private var entries: [String: Entry] = [:]
  subscript(_ key: String) -> Entry? { entries[key] }

  static let largestFile = 65_536  // bytes
  /// `$XDG_CONFIG_HOME/holdfast/config`, else `~/.config/holdfast/config`; nil without a home.
  static func path(_ variable: (String) -> Path?) -> Path? {
    if let base = variable("XDG_CONFIG_HOME"), base.isAbsolute { return base.appending("holdfast/config") }
    guard let home = variable("HOME"), home.isAbsolute else { return nil }
    return home.appending(".config/holdfast/config")
  }

  /// Reads both. No file is none; one that can't be read is an error.
  static func load(_ variable: (String) -> Path?) throws(UsageError) -> Configuration {
    var configuration = Configuration()
    if let path = path(variable), let bytes = try read(path) {
      configuration = try Configuration(bytes, of: path)
    }
    for option in Option.table where option.isConfigurable {
      guard let value = variable(option.variable), !value.bytes.isEmpty else { continue }
      if option.value == nil, isYes(value.text) == nil {
        throw UsageError("\(option.variable)=\(value.display): yes or no is needed")
      }
      configuration.entries[option.key] = Entry(value: value, origin: .variable(option.variable))
    }
    return configuration
  }

  private init() {}
  /// - Parameter bytes: the file's.
  init(_ bytes: [UInt8], of path: Path) throws(UsageError) {
    for (index, raw) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .enumerated()
    {
      let line = Self.trimmed(raw)
      guard let first = line.first, first != UInt8(ascii: "#") else { continue }
      func fault(_ text: String) -> UsageError { UsageError("\(path.display):\(index + 1): \(text)") }
      guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
        throw fault("\(Path(bytes: Array(line)).display): a line is name = value, or begins with #")
      }
      let key = Path(bytes: Array(Self.trimmed(line[..<equals])))
      let value = Path(bytes: Array(Self.trimmed(line[(equals + 1)...])))
      let named = Option.table.filter { $0.key == key.text }
      guard !named.isEmpty else {
        let near = nearest(key.text, Option.table.filter(\.isConfigurable).map(\.key))
        throw fault(
          "no option \(key.display)\(near.map { "; did you mean \($0)?" } ?? "; `holdfast help config` lists them")"
        )
      }
      guard let option = named.first(where: \.isConfigurable) else {
        throw fault("\(key.display) is for the command line only: it says what is done, not how")
      }
      guard !value.bytes.isEmpty else { throw fault("\(key.display) has no value") }
      if option.value == nil, Self.isYes(value.text) == nil {
        throw fault("\(key.display) = \(value.display): yes or no is needed")
      }
      if case .choice(let choices) = option.value, !choices.contains(value.text) {
        throw fault("\(key.display) = \(value.display): it can be \(choices.joined(separator: ", "))")
      }
      if let before = entries[key.text], case .file(_, let line) = before.origin {
        throw fault("\(key.display) stands on line \(line) already")
      }
      entries[key.text] = Entry(value: value, origin: .file(path, line: index + 1))
    }
  }

  static func isYes(_ text: String) -> Bool? {
    switch text {
    case "yes", "true", "on", "1": true
    case "no", "false", "off", "0": false
    default: nil
    }
  }
  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }
    let front = bytes.drop(while: isBlank)
    return front.prefix((front.lastIndex { !isBlank($0) } ?? front.startIndex - 1) - front.startIndex + 1)
  }
  /// A home that this user may not even look into (`sudo -u` keeps HOME) holds no configuration of theirs.
  private static func isOutOfReach(_ path: Path) -> Bool {
    var facts = stat()
    return unsafe path.withCString { unsafe stat($0, &facts) } != 0 && errno == EACCES
  }
  /// - Returns: nil where there is no such file.
  private static func read(_ path: Path) throws(UsageError) -> [UInt8]? {
    func fault(_ text: String) -> UsageError {
      UsageError("\(path.display): the configuration can't be read: \(text)")
    }
    // A FIFO in its place mustn't hold the command up.
    let file = unsafe path.withCString { unsafe holdfast_open($0, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) }
    guard file >= 0 else {
      let reason = Errno.current
      if [ENOENT, ENOTDIR].contains(reason.code) || isOutOfReach(path) { return nil }
      throw fault(reason.text)
    }
    defer { close(file) }
    var facts = stat()
    guard unsafe fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw fault("it is no regular file")
    }
    var bytes = [UInt8](repeating: 0, count: largestFile + 1)
    var count = 0
    while count < bytes.count {
      let n = unsafe bytes.withUnsafeMutableBytes { raw -> Int in
        guard let base = raw.baseAddress else { return 0 }
        return unsafe Glibc.read(file, base + count, raw.count - count)
      }
      if n < 0, errno != EINTR { throw fault(Errno.current.text) }
      if n == 0 { break }
      count += max(0, n)
    }
    guard count <= largestFile else { throw fault("it is larger than \(largestFile) bytes") }
    return Array(bytes.prefix(count))
  }
}
