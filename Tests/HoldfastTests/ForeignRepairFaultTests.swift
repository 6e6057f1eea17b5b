import Foundation
import TestSupport
import Testing

/// The disk fails, or the process is killed, at every step of a repair.
@Suite struct ForeignRepairFaultTests {
  private static func source(in folder: TempFolder) throws -> String {
    let path = try Cases.folder("E") + "/E03/page_missing.opus"
    return try folder.write("a.opus", Data(contentsOf: URL(fileURLWithPath: path)))
  }
  private static func repair(_ folder: TempFolder, _ rules: String) throws -> (Finished, FaultDisk) {
    let disk = try FaultDisk(rules, under: folder.path, log: folder.path + ".log")
    return (try holdfast(["recover", folder.file("a.opus")], environment: disk.environment), disk)
  }
  private static func content(_ path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path))
  }

  /// Steps of an undisturbed repair, and the copy it makes.
  private static func undisturbed() throws -> (steps: [FaultDisk.Step], copy: Data) {
    let folder = try TempFolder("repair")
    defer { try? FileManager.default.removeItem(atPath: folder.path + ".log") }
    _ = try source(in: folder)
    let (said, disk) = try repair(folder, "")
    #expect(said.code == 0, "\(said)")
    return (disk.steps(), try content(folder.file("a.recovered.opus")))
  }

  @Test(arguments: ["EIO", "ENOSPC"]) func `a failing call leaves nothing, or a whole copy`(_ fault: String)
    throws
  {
    let (steps, whole) = try Self.undisturbed()
    #expect(steps.contains { $0.operation == "renameat2" } && steps.contains { $0.operation == "fdatasync" })
    for step in steps {
      let folder = try TempFolder("repair")
      defer { try? FileManager.default.removeItem(atPath: folder.path + ".log") }
      let path = try Self.source(in: folder)
      let before = try Repair.Stamp(path)
      let (said, _) = try Self.repair(folder, "any@\(step.number)=\(fault)")
      #expect(try Repair.Stamp(path) == before, "\(step)")
      if folder.names == ["a.opus"] {
        #expect(said.isOneLine && [66, 73, 74, 75].contains(said.code), "\(step): \(said)")
      } else {
        #expect(folder.names == ["a.opus", "a.recovered.opus"] && said.code == 0, "\(step): \(said)")
        #expect(try Self.content(folder.file("a.recovered.opus")) == whole, "\(step)")
      }
    }
  }
  @Test(arguments: ["KILL", "KILLAFTER"]) func `killed at any step, the next run makes the same copy`(
    _ kill: String
  ) throws {
    let (steps, whole) = try Self.undisturbed()
    for step in steps {
      let folder = try TempFolder("repair")
      defer { try? FileManager.default.removeItem(atPath: folder.path + ".log") }
      let path = try Self.source(in: folder)
      let before = try Repair.Stamp(path)
      let copy = folder.file("a.recovered.opus")
      let (said, _) = try Self.repair(folder, "any@\(step.number)=\(kill)")
      #expect(said.signal == SIGKILL, "\(step): \(said)")
      if copy.exists { #expect(try Self.content(copy) == whole, "\(step)") }
      let (again, _) = try Self.repair(folder, "")
      #expect(again.code == 0, "\(step): \(again)")
      #expect(folder.names == ["a.opus", "a.recovered.opus"], "\(step)")
      #expect(try Self.content(copy) == whole && Repair.Stamp(path) == before, "\(step)")
    }
  }
  @Test func `two at once don't meet`() throws {
    let (_, whole) = try Self.undisturbed()
    let folder = try TempFolder("repair")
    defer { try? FileManager.default.removeItem(atPath: folder.path + ".log") }
    _ = try Self.source(in: folder)
    let disk = try FaultDisk("fdatasync@1=DELAY:1500", under: folder.path, log: folder.path + ".log")
    let first = try Running(
      Places.holdfast, ["recover", folder.file("a.opus")], environment: disk.environment)
    let end = Date() + 10
    while !folder.names.contains(".recovering-a"), Date() < end { usleep(5_000) }
    usleep(200_000)
    let second = try holdfast(["recover", folder.file("a.opus")])
    #expect(second.code == 75 && second.isOneLine, "\(second)")
    #expect(first.wait().code == 0)
    #expect(folder.names == ["a.opus", "a.recovered.opus"])
    #expect(try Self.content(folder.file("a.recovered.opus")) == whole)
  }
}
