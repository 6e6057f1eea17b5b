import Foundation

/// Our own small C programs in Tests/tools, compiled beside the tests the first time they are asked for.
public enum Tool {
  private static let lock = NSLock()

  /// An executable made of Tests/tools/NAME.c.
  public static func program(_ name: String, _ flags: [String] = []) throws -> String {
    try compiled(name, name, flags + ["-lm"])
  }
  /// A library for LD_PRELOAD made of Tests/tools/NAME.c.
  public static func preload(_ name: String) throws -> String {
    try compiled(name, name + ".so", ["-shared", "-fPIC", "-pthread", "-ldl"])
  }

  /// Another library made of Tests/tools/NAME/NAME.c, in need of `flags`.
  public static func library(_ name: String, _ flags: [String] = []) throws -> String {
    try compiled("\(name)/\(name)", name + ".so", ["-shared", "-fPIC", "-DPIC"] + flags)
  }

  private static func compiled(_ name: String, _ output: String, _ flags: [String]) throws -> String {
    lock.lock()
    defer { lock.unlock() }
    let source = Places.root + "/Tests/tools/\(name).c"
    let folder = Places.built + "/test-tools"
    let path = folder + "/" + output
    if let made = modified(path), let written = modified(source), made > written { return path }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let fresh = path + ".\(getpid())"
    let said = try run("gcc", ["-O2", "-o", fresh, source] + flags)
    guard said.code == 0 else { throw Failure("gcc \(name).c: \(said.errText)") }
    guard rename(fresh, path) == 0 else { throw Failure("rename to \(path): errno \(errno)") }
    return path
  }
  private static func modified(_ path: String) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
  }
}

/// Disk faults for a process: Tests/tools/faultdisk.c explains the rules.
///
/// To fail each step in turn: run once with no rules, then once for each `n` in `1...fault.steps().count` with
/// `"any@\(n)=EIO"` or `"any@\(n)=KILL"`.
public struct FaultDisk {
  /// What to add to the process' environment.
  public let environment: [String: String?]
  private let log: String

  /// - Parameter rules: E.g. `"fdatasync@2=EIO;write[audio.opus]@10=KILL"`; empty only logs.
  /// - Parameter under: Only calls on this folder and below are counted.
  /// - Parameter log: Where the calls are listed: outside `under`, made anew.
  public init(_ rules: String = "", under: String, log: String) throws {
    self.log = log
    precondition(!log.hasPrefix("/dev/"))  // it is made anew
    try? FileManager.default.removeItem(atPath: log)
    environment = [
      "LD_PRELOAD": try Tool.preload("faultdisk"), "FAULTDISK": rules, "FAULTDISK_UNDER": under,
      "FAULTDISK_LOG": log,
    ]
  }

  /// One call of the log. `path` is relative to nothing: as the kernel knows it; `from -> to` for those with two.
  public struct Step: Sendable, CustomStringConvertible {
    public let number: Int
    public let operation: String
    public let nth: Int
    public let path: String
    public let detail: Int  // bytes, flags or mode
    public let result: String  // a number, an errno name, or "killed"
    public let injected: String?
    public var description: String { "\(number) \(operation)@\(nth) \(path) \(detail) = \(result)" }
  }

  /// The calls so far, in the order they were begun.
  public func steps() -> [Step] {
    let data = FileManager.default.contents(atPath: log) ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
      let f = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard f.count >= 6, let number = Int(f[0]), let nth = Int(f[2]), let detail = Int(f[4]) else {
        return nil
      }
      let injected = f.count > 6 ? String(f[6].dropFirst("INJECTED ".count)) : nil
      return Step(
        number: number, operation: f[1], nth: nth, path: f[3], detail: detail, result: f[5],
        injected: injected)
    }.sorted { $0.number < $1.number }
  }
}
