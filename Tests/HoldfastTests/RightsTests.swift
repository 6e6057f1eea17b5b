import Foundation
import TestSupport
import Testing

/// What happens where rights are missing. Root has them all: there the command runs as nobody.
@Suite struct RightsTests {
  /// Runs a copy of the command that anybody may run, without root's rights.
  private func unprivileged(
    _ arguments: [String], in folder: TempFolder, environment: [String: String?] = ["HOME": "/nonexistent"],
    before: [String] = []
  ) throws -> Finished {
    guard getuid() == 0 else {
      return try holdfast(arguments, environment: environment, folder: folder.path)
    }
    let command = folder.file("holdfast-copy")
    if !command.exists {
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
      try FileManager.default.copyItem(atPath: Places.holdfast, toPath: command)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: command)
    }
    let drop = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"] + before + [command]
    let works = try run("setpriv", drop + ["--version"], environment: environment)
    guard works.code == 0 else { try Test.cancel("nobody can't run the command here: \(works.errText)") }
    return try run("setpriv", drop + arguments, environment: environment, folder: folder.path)
  }
  private func folder(_ name: String, mode: Int, in folder: TempFolder) throws {
    try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file(name))
  }

  @Test(arguments: [0o555, 0o000, 0o311]) func `a folder without rights is told as such, and nothing is made`(
    mode: Int
  )
    throws
  {
    let scratch = try TempFolder()
    try folder("shut", mode: mode, in: scratch)
    defer { chmod(scratch.file("shut"), 0o700) }
    let said = try unprivileged(
      ["record", "--input", "tone:440", "--max-ms", "100", "-o", "shut/take.opus"], in: scratch)
    #expect(said.code == 77 && said.isOneLine, "\(said)")
    #expect(said.errText.contains("shut") && said.errText.contains("Permission denied"), "\(said)")
    chmod(scratch.file("shut"), 0o700)
    #expect(!scratch.names.contains { $0.hasPrefix("shut/") && $0 != "shut/" })
  }

  @Test func `an input without rights is told from one that isn't there`() throws {
    let scratch = try TempFolder()
    try Wav(Tone.sine(480)).write(to: scratch.file("in.wav"))
    chmod(scratch.file("in.wav"), 0)
    for arguments in [["inspect", "in.wav"], ["record", "--input", "file:in.wav", "-o", "a.opus"]] {
      let said = try unprivileged(arguments, in: scratch)
      #expect(said.code == 77 && said.isOneLine && said.errText.contains("permission"), "\(said)")
    }
    for arguments in [["inspect", "no.wav"], ["record", "--input", "file:no.wav", "-o", "a.opus"]] {
      let said = try unprivileged(arguments, in: scratch)
      #expect(said.code == 66 && said.isOneLine && said.errText.contains("no.wav"), "\(said)")
    }
  }

  @Test func `a takes folder that can't be made is told as such`() throws {
    let scratch = try TempFolder()
    try folder("home", mode: 0o555, in: scratch)
    defer { chmod(scratch.file("home"), 0o700) }
    let said = try unprivileged(
      ["record", "--input", "tone:440", "--max-ms", "100"], in: scratch,
      environment: ["XDG_DATA_HOME": scratch.file("home"), "HOME": nil])
    #expect(said.code == 77 && said.isOneLine, "\(said)")
  }

  @Test func `a configuration out of reach is none, one without rights is an error`() throws {
    let scratch = try TempFolder()
    try folder("home", mode: 0o755, in: scratch)
    try folder("home/holdfast", mode: 0o755, in: scratch)
    try scratch.write("home/holdfast/config", "max-ms = nonsense\n")
    try folder("takes", mode: 0o777, in: scratch)
    defer { chmod(scratch.file("home"), 0o700) }
    func said(_ name: String) throws -> Finished {
      try unprivileged(
        ["record", "--input", "tone:440", "--max-ms", "100", "-o", "takes/\(name).opus"], in: scratch,
        environment: ["HOME": "/nonexistent", "XDG_CONFIG_HOME": scratch.file("home")])
    }
    chmod(scratch.file("home/holdfast/config"), 0)
    let refused = try said("a")
    #expect(
      refused.code == 64 && refused.isOneLine && refused.errText.contains("home/holdfast/config"),
      "\(refused)")
    chmod(scratch.file("home"), 0)
    #expect(try said("b").code == 0)
  }

  /// Threads are refused one after the other; whichever it is, a take that isn't begun isn't there.
  @Test func `a start without threads leaves nothing behind`() throws {
    guard getuid() == 0 else { try Test.cancel("root is needed, to be somebody with few processes") }
    let scratch = try TempFolder()
    for threads in 1...10 {
      try folder("takes\(threads)", mode: 0o777, in: scratch)
      let place = scratch.file("takes\(threads)")
      let said = try unprivileged(
        ["record", "--input", "tone:440", "--max-ms", "100", "-o", "takes\(threads)/take.opus"], in: scratch,
        before: ["prlimit", "--nproc=\(threads)"])
      let left = try FileManager.default.contentsOfDirectory(atPath: place)
      if said.code == 0 {
        #expect(left.contains("take.opus"))
      } else {
        #expect(left.isEmpty && said.isOneLine, "\(threads): \(said) \(left)")
      }
    }
  }
}
