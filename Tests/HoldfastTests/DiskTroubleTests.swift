import Foundation
import Holdfast
import TestSupport
import Testing

@Test(arguments: [2, 3, 10])
func `a page that a full disk refused is sealed out of the reserve, in its place`(_ page: Int) throws {
  let folder = try TempFolder()
  let disk = try FaultDisk("pwrite[audio.opus]@\(page)=ENOSPC", under: folder.path, log: folder.path + ".log")
  let end = try holdfast(
    ["record", "--input", "file:" + Places.testaudio("talk.wav"), "-o", folder.file("a.opus")],
    environment: disk.environment)
  #expect(end.code == 74 || (end.code == 0 && page == 2), "\(end)")
  #expect(try Judge.opusinfoComplaints(folder.file("a.opus")) == [])
  let report = try Verifier.verify(Path(folder.file("a.opus")))
  #expect(report.isSound, "\(report.checks.compactMap(\.fault))")
  #expect(try Judge.opusdecFrames(folder.file("a.opus")) == Int(report.effectiveFrames))
}

@Test func `a take whose folder is deleted is sealed whole in the default takes folder`() throws {
  let folder = try TempFolder()
  let data = folder.file("data")
  try FileManager.default.createDirectory(atPath: folder.file("gone"), withIntermediateDirectories: false)
  let recorder = try Running(
    Places.holdfast,
    [
      "record", "--input", "file:" + Places.testaudio("talk.wav"), "--realtime", "-o",
      folder.file("gone/a.opus"), "--json",
    ],
    environment: ["XDG_DATA_HOME": data])
  #expect(recorder.waitFor("\"effective_ms\":500"))
  try FileManager.default.removeItem(atPath: folder.file("gone"))
  recorder.signal(SIGINT)
  let end = recorder.wait()
  #expect(end.code == 74, "\(end)")
  let sealed = try #require(try end.jsonLines().first { $0["event"] as? String == "sealed" })
  let path = try #require(sealed["path"] as? String)
  #expect(path.hasPrefix(data))
  #expect(try Verifier.verify(Path(path)).isSound)
  #expect(try Judge.opusinfoComplaints(path) == [])
}

@Test func `links planted in a partial take are not followed`() throws {
  let folder = try TempFolder()
  let partial = folder.file("a.opus.partial")
  try FileManager.default.createDirectory(atPath: partial, withIntermediateDirectories: false)
  let good = Places.root + "/Tests/golden/v1/limit.opus"
  try FileManager.default.createSymbolicLink(atPath: partial + "/audio.opus", withDestinationPath: good)
  let end = try holdfast(["inspect", "--json", folder.file("a.opus")])
  #expect(end.code == 65)
  #expect(end.errText.split(separator: "\n").count == 1)
}
