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
    let events = Events()
    let player = Player(path, range: range, output: spec) { events.push($0) }
    let stopping = Stopping()
    try? SignalWatcher().start { signal in
      switch signal {
      case SIGUSR1: player.toggle()
      case SIGUSR2: break
      default:
        player.stop()
        // The device may hang in a call of ALSA's, also while it is opened: nothing is lost by leaving it there.
        if !stopping.begun.exchange(true, ordering: .relaxed) {
          _ = try? Thread(name: "hf-leave") { leave(player) }
        }
      }
    }
    do throws(RecorderFailure) { try player.start() } catch { return Main.report(error, json: json, output) }
    return show(events, player, json: json, output)
  }

  private static func leave(_ player: Player) {
    if !player.wait(until: .now.advanced(by: 2_000_000_000)) { _exit(0) }
  }

  private static func show(_ events: Events, _ player: Player, json: Bool, _ output: Output) -> Int32 {
    let isTerminal = !json && isatty(Output.errorDescriptor) == 1 && environment("TERM")?.text != "dumb"
    var code: Int32 = 0
    while true {
      let event = events.next()
      if json, case .failed = event {} else if json { output.json(event.json) }
      switch event {
      case .failed(let failure): code = Main.report(failure, json: json, output)
      case .state(let state, let ms) where isTerminal:
        Output.raw("\r\u{1B}[K\(state.rawValue)  \(clockText(ms))")
      case .position(let ms) where isTerminal: Output.raw("\r\u{1B}[Kplaying  \(clockText(ms))")
      case .state, .position, .underrun: break
      }
      output.flush()
      switch event {
      case .failed, .state(.ended, _), .state(.stopped, _):
        if isTerminal { Output.raw("\n") }
        for lost in player.lostMs {
          Output.note(
            "note: from \(ClipTime.text(lost.lowerBound)) to \(ClipTime.text(lost.upperBound)) its audio is lost: silence was played"
          )
        }
        if code == 0, !player.lostMs.isEmpty { code = 65 }
        return code
      case .state, .position, .underrun: break
      }
    }
  }

  private final class Stopping: Sendable { let begun = Atomic<Bool>(false) }

  /// The player's events on their way to the thread that prints.
  private final class Events: Sendable {
    private let waiting = Mutex<[PlayerEvent]>([])
    private let filled = CountingSemaphore()

    func push(_ event: PlayerEvent) {
      waiting.withLock { $0.append(event) }
      filled.post()
    }
    func next() -> PlayerEvent {
      filled.wait()
      return waiting.withLock { $0.removeFirst() }
    }
  }
}
