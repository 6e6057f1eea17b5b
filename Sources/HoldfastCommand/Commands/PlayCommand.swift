import Glibc
import Holdfast
import Platform
import Synchronization

/// `holdfast play`.
enum PlayCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.count == 1, let path = arguments.operands.first, !path.bytes.isEmpty else {
      throw UsageError("play needs one file")
    }
    let range = ClipRange(fromMs: try arguments.time("--from") ?? 0, toMs: try arguments.time("--to"))
    let spec: OutputSpec
    do throws(RecorderFailure) { spec = try OutputSpec(arguments.values["--output"]) } catch {
      throw UsageError(error.message)
    }
    let json = arguments.has("--json")
    let player = Player(path, range: range, output: spec)
    let stopping = Stopping()
    let isPipe = !isRegular(path)
    try? SignalWatcher().start { signal in
      switch signal {
      case SIGUSR1: player.toggle()
      case SIGUSR2: break
      default:
        // A pipe that nobody writes to may be waited for: nothing has sounded.
        if isPipe, !stopping.hasStarted.load(ordering: .acquiring) { SignalWatcher.die(of: signal) }
        player.stop()
        // The device may hang in a call of ALSA's, also while it is opened: nothing is lost by leaving it there.
        if !stopping.begun.exchange(true, ordering: .relaxed) {
          _ = try? Thread(name: "hf-leave") { leave(player) }
        }
      }
    }
    do throws(RecorderFailure) { try player.start() } catch { return Main.report(error, json: json, output) }
    stopping.hasStarted.store(true, ordering: .releasing)
    return show(player, json: json, output)
  }

  private static func leave(_ player: Player) {
    if !player.wait(until: .now.advanced(by: 2_000_000_000)) { _exit(0) }
  }

  private static func show(_ player: Player, json: Bool, _ output: Output) -> Int32 {
    let isTerminal = !json && isatty(Output.errorDescriptor) == 1 && environment("TERM")?.text != "dumb"
    var code: Int32 = 0
    while case let events = player.events.next(), !events.isEmpty {
      for event in events {
        if json, case .failed = event {} else if json { output.json(event.json) }
        switch event {
        case .failed(let failure): code = Main.report(failure, json: json, output)
        case .state(let state, let ms) where isTerminal:
          Output.raw("\r\u{1B}[K\(state.rawValue)  \(clockText(ms))")
        case .position(let ms) where isTerminal: Output.raw("\r\u{1B}[Kplaying  \(clockText(ms))")
        case .state, .position, .underrun: break
        }
      }
      output.flush()
    }
    if isTerminal { Output.raw("\n") }
    for lost in player.lostMs {
      Output.note(
        "note: from \(ClipTime.text(lost.lowerBound)) to \(ClipTime.text(lost.upperBound)) its audio is lost: silence was played"
      )
    }
    return code == 0 && !player.lostMs.isEmpty ? 65 : code
  }

  private static func isRegular(_ path: Path) -> Bool {
    var facts = stat()
    guard path.text != "-", unsafe path.withCString({ unsafe stat($0, &facts) }) == 0 else { return false }
    return facts.st_mode & S_IFMT == S_IFREG
  }

  private final class Stopping: Sendable {
    let begun = Atomic<Bool>(false)
    let hasStarted = Atomic<Bool>(false)
  }
}
