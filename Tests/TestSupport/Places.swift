import Foundation

/// Where things are: the repository, and what was built beside the running tests.
public enum Places {
  /// The repository's root folder, without a slash at the end.
  public static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// The folder that the test bundle was built into; the executables lie beside it.
  public static let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  /// The `holdfast` command as built with these tests; the variable `HOLDFAST` names another.
  public static let holdfast = ProcessInfo.processInfo.environment["HOLDFAST"] ?? built + "/holdfast"

  /// A clip of `testaudio/`.
  public static func testaudio(_ name: String) -> String { root + "/testaudio/" + name }
}

/// A folder of its own for one test, removed with everything in it when the last reference goes.
public final class TempFolder: Sendable {
  public let path: String

  public init(_ name: String = "test") throws {
    let base = FileManager.default.temporaryDirectory.path
    path = "\(base)/holdfast-\(name)-\(getpid())-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of `name` in the folder; nothing is made.
  public func file(_ name: String) -> String { path + "/" + name }

  @discardableResult public func write(_ name: String, _ data: Data) throws -> String {
    try data.write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }
  @discardableResult public func write(_ name: String, _ text: String) throws -> String {
    try write(name, Data(text.utf8))
  }

  /// All names below the folder, sorted, folders with a slash at the end.
  public var names: [String] {
    let all = FileManager.default.subpaths(atPath: path) ?? []
    return all.map { name in
      var folder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: file(name), isDirectory: &folder)
      return folder.boolValue ? name + "/" : name
    }.sorted()
  }
}

public struct Failure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// What the cases' generator makes (`Tests/cases/make_inputs.py`), once a group and test process.
public enum Cases {
  private static let cache = Cache()

  /// The folder that holds the group's inputs, e.g. `Cases.folder("E") + "/E01/good.opus"`.
  public static func folder(_ group: Character) throws -> String { try cache.folder(group) }

  /// What is true of each file of a group, by its name in the folder: manifest.json's "files".
  public static func truth(_ group: Character) throws -> [String: [String: Any]] {
    let data = try Data(contentsOf: URL(fileURLWithPath: folder(group) + "/manifest.json"))
    let json = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    return json?["files"] as? [String: [String: Any]] ?? [:]
  }

  private final class Cache: @unchecked Sendable {
    private let lock = NSLock()
    private var folders: [Character: String] = [:]

    func folder(_ group: Character) throws -> String {
      lock.lock()
      defer { lock.unlock() }
      if let made = folders[group] { return made }
      // Beside the build, not in a temporary folder: statics are never freed, and the same bytes serve the next run.
      let path = Places.built + "/cases/\(group)"
      let maker = Places.root + "/Tests/cases/make_inputs.py"
      let made = try run("python3", [maker, path, "--only", String(group)], timeout: 120)
      guard made.code == 0 else { throw Failure("make_inputs.py: \(made.errText)") }
      folders[group] = path
      return path
    }
  }
}
