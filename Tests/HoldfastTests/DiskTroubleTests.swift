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
  // A file can be read again: its take ends with the disk's first word, and says so, unless all of it was read by then.
  let frames = try Judge.opusdecFrames(folder.file("a.opus"))
  #expect(end.code == 74 ? end.errText.contains("No space left on device") : frames == 612_221, "\(end)")
  #expect(try Judge.opusinfoComplaints(folder.file("a.opus")) == [])
  let report = try Verifier.verify(Path(folder.file("a.opus")))
  #expect(report.isSound, "\(report.checks.compactMap(\.fault))")
  #expect(try Judge.opusdecFrames(folder.file("a.opus")) == Int(report.effectiveFrames))
}

@Test(arguments: ["fdatasync@3=DELAY:1500", "pwrite[tail.]@30=DELAY:900"])
func `a disk that stalls is told, costs nothing, and is told to be over`(_ rule: String) throws {
  let folder = try TempFolder("slow")
  let takes = folder.file("takes")
  try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: false)
  let fault = try FaultDisk(rule, under: takes, log: folder.file("log"))
  let said = try holdfast(
    [
      "record", "--json", "--realtime", "--input", "tone:440", "--max-ms", "3500", "-o", takes + "/take.opus",
    ],
    environment: fault.environment)
  let take = try Recorded(said, folder, takes + "/take.opus")
  try expectSealed(take, frames: 168_000)
  let told = take.all("warning").filter { $0.text("kind") == "disk_slow" }.map { $0.flag("active") }
  #expect(told.starts(with: [true, false]), "\(take.events.filter { $0.text("event") == "warning" })")
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
