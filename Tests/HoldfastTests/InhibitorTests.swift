import Foundation
import TestSupport
import Testing

/// The lock that keeps the machine awake, against a logind of our own on a bus of our own.
@Suite struct InhibitorTests {
  private static let lock = "inhibit sleep:idle|Holdfast|Recording a take|block"

  /// The mock, running, and the environment of who is to ask it.
  private final class Logind {
    let folder: TempFolder
    let process: Running
    let environment: [String: String?]

    init(_ how: String) throws {
      folder = try TempFolder("bus")
      process = try Running(
        "/usr/bin/python3", [Places.root + "/Tests/tools/mock_logind.py", folder.path, how])
      guard process.waitFor("address ") else { throw Failure("no bus: \(process.wait(timeout: 1))") }
      environment = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.file("bus"))"]
    }
    var said: [String] {
      String(decoding: process.out, as: UTF8.self).split(separator: "\n").map(String.init).filter {
        !$0.hasPrefix("address")
      }
    }
  }

  @Test(arguments: [SIGINT, SIGKILL])
  func `the lock is taken with the take, held through a pause, and released with it`(signal: Int32) throws {
    let logind = try Logind("grant")
    let live = try LiveTake(environment: logind.environment)
    try #require(logind.process.waitFor(Self.lock))
    try live.reach(ms: 200)
    try live.pause()
    try live.resume()
    #expect(logind.said == [Self.lock])
    if signal == SIGKILL {
      live.process.signal(SIGKILL)
      #expect(live.process.wait().signal == SIGKILL)
    } else {
      try expectSealed(live.stop())
    }
    #expect(logind.process.waitFor("released sleep:idle"))
    #expect(logind.said == [Self.lock, "released sleep:idle"])
  }

  @Test func `armed there is none, and a discarded take gives it back`() throws {
    let logind = try Logind("grant")
    let live = try LiveTake(
      ["--input", "tone:440", "--arm"], environment: logind.environment, json: false, terminal: true)
    try #require(live.process.waitFor("armed"))
    usleep(300_000)
    #expect(logind.said == [])
    live.process.send(" ")
    try #require(logind.process.waitFor(Self.lock))
    try #require(live.process.waitFor("recording"))
    live.process.send("xx")
    #expect(live.process.wait(timeout: 20).code == 0)
    #expect(logind.process.waitFor("released sleep:idle"))
  }

  @Test func `who may only keep it from idling does that`() throws {
    let logind = try Logind("remote")
    let live = try LiveTake(environment: logind.environment)
    let idle = "inhibit idle|Holdfast|Recording a take|block"
    try #require(logind.process.waitFor(idle))
    try live.reach(ms: 100)
    let take = try live.stop()
    try expectSealed(take)
    #expect(take.said.err.isEmpty)
    #expect(logind.process.waitFor("released idle"))
    #expect(logind.said == [Self.lock, idle, "released idle"])
  }

  @Test(arguments: ["refuse", "hang", "mute"])
  func `a bus that refuses, hangs or never speaks costs nothing`(how: String) throws {
    let logind = try Logind(how)
    let folder = try TempFolder()
    let live = try LiveTake(in: folder, environment: logind.environment)
    try #require(logind.process.waitFor(how == "mute" ? "connected" : Self.lock))
    try live.reach(ms: 300)
    let take = try live.stop()
    try expectSealed(take)
    #expect(take.said.err.isEmpty, "\(take.said)")
    // It ended while the bus still owed an answer.
    #expect(logind.process.isRunning && !logind.said.contains { $0.hasPrefix("released") })
  }

  @Test func `no bus, an address that makes no sense, and a file that is recorded ask nobody`() throws {
    for address in ["unix:path=/nonexistent/bus", "nonsense", "", "unix:path=/dev/null"] {
      let take = try record(
        ["--input", "tone:440", "--realtime", "--max-ms", "200"],
        environment: ["DBUS_SYSTEM_BUS_ADDRESS": address])
      try expectSealed(take, frames: 9_600)
      #expect(take.said.err.isEmpty, "\(address): \(take.said)")
    }
    let logind = try Logind("grant")
    try expectSealed(
      record(["--input", "tone:440", "--max-ms", "2000"], environment: logind.environment), frames: 96_000)
    #expect(logind.said == [])
  }
}
