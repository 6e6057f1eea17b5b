import Platform
import Session

/// How a file system that lacks something is told.
public enum FileSystemText {
  /// The event's fields.
  public static func fields(_ missing: [FileSystemGap], _ name: String?) -> [(String, JSON)] {
    [
      ("event", .string("warning")), ("kind", .string("filesystem")), ("active", .bool(true)),
      ("missing", .array(missing.map { .string($0.rawValue) })),
    ] + (name.map { [("file_system", .string($0))] } ?? [])
  }

  /// One line for a person: what is missing, and which promise falls.
  public static func line(_ missing: [FileSystemGap], _ name: String?) -> String {
    "this file system\(name.map { " (\($0))" } ?? "") has " + missing.map(\.text).joined(separator: "; ")
  }
}

extension FileSystemGap {
  var text: String {
    switch self {
    case .locks: "no locks: whether a take is being recorded shows only after 2 s of watching it"
    case .noReplace:
      "no rename that never replaces: a file that appears under the take's name in the moment of sealing may be lost"
    case .sync: "no syncs: a power cut may take more than the last second, and even the whole take"
    }
  }
}
