import Foundation
import TestSupport
import Testing

/// Case I01: whatever signal ends a take, it is sealed, whole, and the exit code is 0.
@Suite struct SignalEndingTests {
  static let stops = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  @Test(arguments: stops, [false, true]) func `a signal ends the take, with and without a terminal`(
    signal: Int32, terminal: Bool
  ) throws {
    let live = try LiveTake(json: !terminal, terminal: terminal)
    try #require(live.until { (live.path + ".partial").exists })
    usleep(200_000)
    let take = try ended(live) { $0.process.signal(signal) }
    try expectWhole(take.path)
    let report = try inspect(take.path).report
    #expect(report.text("ended_by") == "signal" && report.text("outcome") == "complete")
    #expect((report.int("duration_ms") ?? 0) > 0)
    if !terminal { try expectSealed(take) }
  }

  @Test(arguments: stops) func `a signal at once after the start gives a take or nothing`(signal: Int32)
    throws
  {
    for delay: UInt32 in [0, 1, 3, 6, 10, 15, 25, 50] {
      let live = try LiveTake(begun: false)
      usleep(delay * 1000)
      live.process.signal(signal)
      let said = live.process.wait(timeout: 20)
      if said.signal == signal {
        // Before the program's first instruction of ours the kernel ends it, as it would any.
        #expect(live.folder.names == [])
      } else {
        try expectSealed(Recorded(said, live.folder, live.path))
      }
    }
  }

  @Test(arguments: stops) func `a signal while paused ends the take`(signal: Int32) throws {
    let live = try LiveTake()
    try live.reach(ms: 100)
    try live.pause()
    let take = try live.stop(signal)
    try expectSealed(take)
    #expect(take.sealed?.int("pause_count") == 1 && take.sealed?.text("ended_by") == "signal")
  }

  @Test(arguments: stops) func `two signals 10 ms apart do what one does`(signal: Int32) throws {
    let live = try LiveTake()
    try live.reach(ms: 100)
    live.process.signal(signal)
    usleep(10_000)
    try expectSealed(live.stop(signal))
  }

  @Test(arguments: stops) func `a signal while sealing harms nothing`(signal: Int32) throws {
    let scratch = try TempFolder()
    let folder = try TempFolder()
    let fault = try FaultDisk(
      "fdatasync[manifest]@1=DELAY:200;renameat2[.take.json]@1=DELAY:100", under: folder.path,
      log: scratch.file("log"))
    let live = try LiveTake(in: folder, environment: fault.environment)
    try live.reach(ms: 100)
    live.process.signal(SIGINT)
    try live.reach("sealing")
    for _ in 0..<3 {
      live.process.signal(signal)
      usleep(80_000)
    }
    try expectSealed(live.stop(signal))
  }

  @Test(arguments: stops) func `a signal to the whole process group ends the take`(signal: Int32) throws {
    let live = try LiveTake()
    try live.reach(ms: 100)
    kill(-live.process.pid, signal)
    try expectSealed(Recorded(live.process.wait(timeout: 20), live.folder, live.path))
  }

  @Test(arguments: [SIGINT, SIGQUIT, SIGTERM])
  func `INT and QUIT stop also where a script's & had them ignored`(signal: Int32) throws {
    let folder = try TempFolder()
    let shell = try Running(
      "sh",
      [
        "-c", "\"$0\" record --json --realtime --input tone:440 -o \"$1\" & echo pid $! >&2; wait $!",
        Places.holdfast, folder.file("take.opus"),
      ])
    try #require(shell.waitFor("\"effective_ms\":100"))
    let words = String(decoding: shell.err, as: UTF8.self).split(separator: " ")
    let pid = try #require(words.last.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) })
    kill(pid, signal)
    try expectSealed(Recorded(shell.wait(timeout: 20), folder, folder.file("take.opus")))
  }

  @Test func `HUP stays ignored under nohup, and TERM still ends the take`() throws {
    let folder = try TempFolder()
    let process = try Running(
      "nohup",
      [
        Places.holdfast, "record", "--json", "--realtime", "--input", "tone:440", "-o",
        folder.file("take.opus"),
      ])
    try #require(process.waitFor("\"effective_ms\":100"))
    process.signal(SIGHUP)
    try #require(process.waitFor("\"effective_ms\":300"))
    process.signal(SIGTERM)
    try expectSealed(Recorded(process.wait(timeout: 20), folder, folder.file("take.opus")))
  }

  @Test func `a terminal that is closed ends the take`() throws {
    let folder = try TempFolder()
    let program = """
      import os, sys, time
      pid, terminal = os.forkpty()
      if pid == 0: os.execv(sys.argv[1], [sys.argv[1], 'record', '--realtime', '--input', 'tone:440', '-o', sys.argv[2]])
      while not os.path.exists(sys.argv[2] + '.partial'): time.sleep(0.01)
      end = time.time() + 0.3
      while time.time() < end: os.read(terminal, 100)
      os.close(terminal)
      print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
      """
    let said = try run(
      "/usr/bin/python3", ["-c", program, Places.holdfast, folder.file("take.opus")], timeout: 20)
    #expect(said.outLines == ["0"], "\(said)")
    try expectWhole(folder.file("take.opus"))
    #expect(folder.names == ["take.opus", "take.take.json"])
  }

  /// Ends a take that prints no JSON.
  private func ended(_ live: LiveTake, _ end: (LiveTake) -> Void) throws -> Recorded {
    end(live)
    let said = live.process.wait(timeout: 20)
    #expect(said.code == 0, "\(said)")
    #expect(live.folder.names == ["take.opus", "take.take.json"])
    let quiet = Finished(exit: said.exit, signal: said.signal, out: Data(), err: said.err)
    return try Recorded(said.outText.hasPrefix("{") ? said : quiet, live.folder, live.path)
  }
}
