@unsafe @preconcurrency import Glibc
import Holdfast

/// A recorder in Swift:  HoldfastExample FOLDER INPUT MILLISECONDS
///
/// Goes on with an unfinished take of the folder, if a recorder was killed there, or begins a new one.
@main struct Example {
  static func main() async {
    let words = CommandLine.arguments
    guard words.count == 4, let milliseconds = Int64(words[3]) else {
      return print("usage: HoldfastExample FOLDER INPUT MILLISECONDS")
    }
    unsafe setlinebuf(stdout)  // whoever reads it sees each event as it comes
    do throws(RecorderFailure) {
      try await record(Path(words[1]), try InputSpec(Path(words[2])), milliseconds)
    } catch { print(error.message) }
  }

  static func record(_ folder: Path, _ input: InputSpec, _ milliseconds: Int64) async throws(RecorderFailure)
  {
    var options = InputOptions()
    options.paced = true
    var settings = RecordingSettings(input: input, options: options)
    settings.takesFolder = folder
    let unfinished = try TakeStore(folder: folder).pending().first { $0.kind == .unfinished }
    let recorder =
      try unfinished.map { take throws(RecorderFailure) in
        try Recorder.continuing(take.path, settings: settings)
      } ?? Recorder(settings: settings)
    try recorder.start()
    let until = recorder.effectiveMs + milliseconds
    for await event in recorder.events {
      switch event {
      case .level(let level, _): if level.endFrame / 48 >= until { recorder.stop(.user) }
      default: print(event.json(context: nil).line)
      }
    }
    recorder.wait()
  }
}
