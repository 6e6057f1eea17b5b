/// A file's path as the kernel knows it: bytes, with no claim that they are UTF-8.
public struct Path: Sendable, Hashable {
  public let bytes: [UInt8]

  public init(bytes: [UInt8]) { self.bytes = bytes }
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// For people and JSON: one line, bytes that aren't UTF-8 as U+FFFD, control characters as U+FFFD too.
  public var display: String {
    let text = String(decoding: bytes, as: UTF8.self)
    return String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? "\u{FFFD}" : $0 }))
  }
  public var isUTF8: Bool { String(validating: bytes, as: UTF8.self) != nil }
  /// The exact text where the bytes are UTF-8, else with U+FFFD in place of what isn't.
  public var text: String { String(decoding: bytes, as: UTF8.self) }
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  public var isAbsolute: Bool { bytes.first == UInt8(ascii: "/") }
  /// The last component, without slashes.
  public var name: Path {
    var end = bytes.count
    while end > 1, bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
    let trimmed = bytes[..<end]
    guard let slash = trimmed.lastIndex(of: UInt8(ascii: "/")) else { return Path(bytes: Array(trimmed)) }
    return Path(bytes: Array(trimmed[(slash + 1)...]))
  }
  /// The folder it lies in; `.` for a bare name.
  public var parent: Path {
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return Path(".") }
    return slash == 0 ? Path("/") : Path(bytes: Array(bytes[..<slash]))
  }
  /// A folder may be named with a slash behind it; what is in it isn't.
  public var withoutTrailingSlash: Path {
    bytes.count > 1 && bytes.last == UInt8(ascii: "/") ? Path(bytes: Array(bytes.dropLast())) : self
  }
  public func appending(_ component: Path) -> Path {
    if bytes.isEmpty || bytes == Array(".".utf8) { return component }
    return Path(
      bytes: bytes.last == UInt8(ascii: "/")
        ? bytes + component.bytes : bytes + [UInt8(ascii: "/")] + component.bytes)
  }
  public func appending(_ component: String) -> Path { appending(Path(component)) }
  public func addingSuffix(_ suffix: String) -> Path { Path(bytes: bytes + Array(suffix.utf8)) }
  public func hasSuffix(_ suffix: String) -> Bool {
    bytes.count > suffix.utf8.count && bytes.reversed().starts(with: suffix.utf8.reversed())
  }
  public func droppingSuffix(_ suffix: String) -> Path {
    hasSuffix(suffix) ? Path(bytes: Array(bytes.dropLast(suffix.utf8.count))) : self
  }

  /// Calls `body` with the path as a C string. A path with a NUL inside can't name a file: it ends there.
  public func withCString<R, E: Error>(_ body: (UnsafePointer<CChar>) throws(E) -> R) throws(E) -> R {
    var terminated = bytes.map { CChar(bitPattern: $0) }
    terminated.append(0)
    var result: Result<R, E>?
    unsafe terminated.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return }
      do throws(E) { result = .success(try unsafe body(base)) } catch { result = .failure(error) }
    }
    guard let result else { preconditionFailure("an array with a terminator has a base address") }
    return try result.get()
  }
}
