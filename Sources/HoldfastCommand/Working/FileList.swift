import CPlatform
import Glibc
import Holdfast
import Platform

/// The files that a command is to look at, one after the other: its operands, then what `--files-from` lists.
///
/// A list is read as it comes, so that a pipe's first file is looked at before its last is named. Keep it on one thread.
struct FileList: Sendable {
  enum Item: Sendable {
    case file(Path)
    /// A line of the list that names none.
    case bad(RecorderFailure)
  }
  /// How many there are, where that is known before all are read.
  let count: Int?
  /// Whether there may be more than one.
  var isMany: Bool { count != 1 }
  private var operands: ArraySlice<Path>
  private let list: Int32?  // open until the process ends
  private let shown: Path
  private let end: UInt8
  private var buffer: [UInt8] = []
  private var start = 0
  private var line = 0
  private var isOver = false
  /// A path has 4096 bytes at most, in JSON up to six times that, and `inspect --json` says more than that.
  private static let longestLine = 16 << 20

  init(_ arguments: Arguments) throws(UsageError) {
    operands = arguments.operands[...]
    let name = arguments.values["--files-from"]
    end = arguments.has("--null") ? 0 : UInt8(ascii: "\n")
    shown = name ?? Path("")
    if arguments.has("--null"), name == nil { throw UsageError("--null is for --files-from") }
    guard let name else {
      (list, count) = (nil, operands.count)
      try Self.checkInput(operands, isListed: false)
      return
    }
    count = nil
    try Self.checkInput(operands, isListed: name.text == "-")
    let raw =
      name.text == "-"
      ? holdfast_duplicate(0) : unsafe name.withCString { unsafe holdfast_open($0, O_RDONLY | O_NOCTTY, 0) }
    guard raw >= 0 else {
      throw UsageError("--files-from \(name.display): it can't be read: \(Errno.current.text)")
    }
    list = raw
  }
  private static func checkInput(_ operands: ArraySlice<Path>, isListed: Bool) throws(UsageError) {
    let uses = operands.count { $0.text == "-" } + (isListed ? 1 : 0)
    if uses > 1 { throw UsageError("standard input can be read once only: - stands there \(uses) times") }
  }

  /// - Returns: nil behind the last. Blocks where a list is a pipe.
  mutating func next() -> Item? {
    if let operand = operands.popFirst() { return .file(operand) }
    while !isOver, let list {
      guard let bytes = nextLine(list) else { return failed }
      if let item = Self.item(bytes, isJSON: end != 0, place: "\(shown.display):\(line)") { return item }
    }
    return nil
  }
  private var failed: Item?

  private mutating func nextLine(_ list: Int32) -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let found = buffer[searched...].firstIndex(of: end) {
        defer { start = found + 1 }
        line += 1
        return buffer[start..<found]
      }
      searched = buffer.count
      guard buffer.count - start <= Self.longestLine else {
        return stop("\(shown.display):\(line + 1): a line of more than \(Self.longestLine) bytes")
      }
      if start > 0 {
        buffer.removeFirst(start)
        searched -= start
        start = 0
      }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let n = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(list, $0.baseAddress, $0.count) }
      if n < 0, errno == EINTR { continue }
      if n < 0 { return stop("\(shown.display): \(Errno.current.text)") }
      if n == 0 {
        isOver = true
        line += 1
        defer { start = buffer.count }
        return buffer[start...]
      }
      buffer += chunk[..<n]
    }
  }
  private mutating func stop(_ message: String) -> ArraySlice<UInt8>? {
    isOver = true
    failed = .bad(RecorderFailure(code: 74, kind: "io", message: message))
    return nil
  }

  /// What a line names: a path, or with `{` in front an object with `path`, or `path_hex` where that isn't UTF-8.
  ///
  /// - Returns: nil for an empty line.
  private static func item(_ line: ArraySlice<UInt8>, isJSON: Bool, place: String) -> Item? {
    func bad(_ text: String) -> Item {
      .bad(RecorderFailure(code: 64, kind: "usage", message: "\(place): \(text)"))
    }
    guard isJSON else { return line.isEmpty ? nil : .file(Path(bytes: Array(line))) }
    guard !line.isEmpty else { return nil }
    guard !line.contains(0) else { return bad("it has a NUL inside: names that end with NUL need --null") }
    guard line.first == UInt8(ascii: "{") else { return .file(Path(bytes: Array(line))) }
    do throws(JSONError) {
      let object = try JSON.read(Array(line))
      if let hex = object["path_hex"]?.string {
        guard let bytes = bytes(hex: hex), !bytes.isEmpty else {
          return bad("its path_hex is no hexadecimal path")
        }
        return .file(Path(bytes: bytes))
      }
      guard let path = object["path"]?.string, !path.isEmpty else { return bad("the object has no path") }
      return .file(Path(path))
    } catch {
      return bad("it begins with { and is no JSON object: \(error.message) at byte \(error.offset)")
    }
  }
  private static func bytes(hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for i in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[i...(i + 1)], as: UTF8.self), radix: 16),
        digits[i] != UInt8(ascii: "+")
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
