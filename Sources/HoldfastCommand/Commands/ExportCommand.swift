import Glibc
import Holdfast
import Platform
import Synchronization

/// `holdfast export`.
enum ExportCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count == 1, let source = arguments.operands.first, !source.bytes.isEmpty else {
      throw UsageError("export needs one file, and where to write it: holdfast export FILE -o FILE.wav")
    }
    guard let target = arguments.values["--output"], !target.bytes.isEmpty, !target.bytes.contains(0) else {
      throw UsageError("export needs -o FILE.wav, -o FILE.flac or -o FILE.opus")
    }
    let range = ClipRange(fromMs: try arguments.time("--from") ?? 0, toMs: try arguments.time("--to"))
    let json = arguments.has("--json")
    let stop = Stop()
    try? SignalWatcher().start { signal in
      guard signal != SIGUSR1, signal != SIGUSR2 else { return }
      // It may wait for a pipe: nothing is made before it asks.
      guard stop.isAsked.load(ordering: .acquiring) else { SignalWatcher.die(of: signal) }
      stop.signal.store(signal, ordering: .releasing)
    }
    let progress = Progress("export", total: 1, json: json, output)
    progress.begin(0)
    do throws(RecorderFailure) {
      let made = try Exporter.export(source, to: target, range: range, force: arguments.has("--force")) {
        stop.isAsked.store(true, ordering: .releasing)
        return stop.signal.load(ordering: .acquiring) != 0
      } progress: {
        progress.update(0, $0)
      }
      progress.finish()
      if json {
        output.json(made.json)
        return 0
      }
      output.line(
        "exported \(made.path.display): \(clockText(made.durationMs)) (\(made.durationMs) ms, \(made.frames) frames), "
          + "\(made.sizeBytes) bytes")
      output.flush()
      for note in made.notes { output.note("note: \(note)") }
      return 0
    } catch {
      progress.finish()
      // Nothing is left of it: now the signal may do what it does.
      let signal = stop.signal.load(ordering: .acquiring)
      if error.kind == "cancelled", signal != 0 { SignalWatcher.die(of: signal) }
      return Main.report(error, json: json, output)
    }
  }

  private final class Stop: Sendable {
    let signal = Atomic<Int32>(0)
    let isAsked = Atomic<Bool>(false)
  }
}
