import Foundation
import Holdfast
import Synchronization
import TestSupport
import Testing

/// All of the API from eight threads at once, on the same takes: what `make sanitize` watches.
@Suite struct ManyThreadsTests {
  private let folder: TempFolder
  init() throws { folder = try TempFolder("threads") }

  private func settings(_ name: String) -> RecordingSettings {
    var options = InputOptions()
    options.paced = true
    var settings = RecordingSettings(input: .tone(hertz: 440, dbfs: -12), options: options)
    settings.output = Path(folder.file(name))
    settings.context = "c"
    settings.preRollMs = 20
    settings.minValidMs = 100
    return settings
  }

  /// What a caller on any thread may do with a recorder; the number says which.
  private func use(_ recorder: Recorder, _ i: Int) {
    switch i % 12 {
    case 0: recorder.pause()
    case 1: recorder.resume()
    case 2: recorder.mark(label: "here")
    case 3: recorder.toggle()
    case 4: recorder.goOn()
    case 5: _ = (recorder.snapshot, recorder.state, recorder.effectiveMs)
    case 6: _ = (recorder.path, recorder.captured, recorder.sourceProblems, recorder.deviceHangs)
    case 7: _ = recorder.wait(until: .now.advanced(by: 1_000_000))
    case 8: recorder.schedule(.mark(label: nil), atCaptureFrame: recorder.captured + 480)
    case 9: try? recorder.start()
    case 10: try? recorder.arm()
    default: _ = recorder.events.isOver
    }
  }
  /// What a caller may do with a folder of takes, and a player.
  private func look(_ i: Int, _ player: Player) {
    let store = TakeStore(folder: Path(folder.path))
    let finished = Path(folder.file("talk.opus"))
    switch i % 12 {
    case 0: _ = try? store.takes()
    case 1: _ = try? store.pending(context: "c")
    case 2: _ = try? store.trash()
    case 3: _ = try? store.recover()
    case 4: _ = try? Take(finished).verify()
    case 5: _ = try? Take(finished).checksum()
    case 6: _ = try? Inspector.inspect(finished)
    case 7:
      _ = try? Take(finished).export(
        to: Path(folder.file("x\(i).wav")), range: ClipRange(fromMs: 100, toMs: 400), force: true)
    case 8: player.toggle()
    case 9: player.seek(toMs: Int64(i % 300))
    case 10: _ = (player.state, player.positionMs, player.lostMs)
    default: _ = InputSpec.tone(hertz: 440, dbfs: -12).permission()
    }
  }

  @Test(arguments: 0..<4) func `eight threads call everything`(_ seed: Int) async throws {
    let made = try record(
      ["--input", "file:" + Places.testaudio("talk.wav"), "--max-ms", "800"], to: "talk.opus", in: folder)
    try #require(made.said.code == 0)
    let whole = try contents(made.path)
    let names = (0..<3).map { "t\($0).opus" }
    let recorders = names.map { Recorder(settings: settings($0)) }
    let player = Player(Path(made.path), output: .file(Path(folder.file("heard.wav"))))
    let readers = recorders.map { recorder in
      Task {
        var last: RecorderEvent?
        for await event in recorder.events { last = event }
        return last
      }
    }
    try recorders[0].arm()
    for recorder in recorders { try recorder.start() }
    try player.start()
    await withTaskGroup(of: Void.self) { group in
      for n in 0..<8 {
        group.addTask {
          for i in 0..<60 {
            let step = (i &* 7 &+ n &* 5 &+ seed &* 3)
            use(recorders[step % 3], step)
            if n % 2 == 0 || i % 4 == 0 { look(step, player) }
          }
        }
      }
      group.addTask { for await _ in player.events {} }
      group.addTask {
        usleep(300_000)
        player.stop()
        // The endings too come from several threads, at the same take at once.
        recorders[0].stop(.user)
        recorders[1].leave()
        recorders[2].discard()
      }
      group.addTask {
        usleep(300_000)
        recorders[0].stop(.user)
        recorders[1].end()
        recorders[2].keep()
      }
    }
    player.stop()
    player.wait()
    for recorder in recorders {
      recorder.stop(.user)
      recorder.wait()
    }
    for reader in readers { #expect(await reader.value != nil) }
    #expect(try contents(made.path) == whole, "a sealed take never changes")
    #expect(recorders[0].state == .sealed)
    // Sealed, left or discarded: what stands in the folder is whole.
    _ = try TakeStore(folder: Path(folder.path)).recover()
    for (name, recorder) in zip(names, recorders)
    where FileManager.default.fileExists(atPath: folder.file(name)) {
      #expect(try Verifier.verify(Path(folder.file(name))).isSound)
      if recorder.state == .sealed {
        #expect(try Judge.opusdecFrames(folder.file(name)) == Int(recorder.snapshot.effectiveFrames))
      }
    }
  }
}
