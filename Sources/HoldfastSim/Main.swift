import CSim
import Glibc

/// holdfast-sim: sessions by chance, each of which is checked; see docs/ARCHITECTURE.md, "Trust".
@main
struct Main {
  static func main() {
    var sessions: Int64 = 1_000
    var seed: UInt64 = 1
    var one = false
    var first = false
    var replay: String?
    var words = CommandLine.arguments.dropFirst()
    while let word = words.popFirst() {
      let value = words.first
      switch word {
      case "--sessions": sessions = words.popFirst().flatMap(Int64.init) ?? sessions
      case "--seed":
        seed = words.popFirst().flatMap(UInt64.init) ?? seed
        one = true
      case "--from": seed = words.popFirst().flatMap(UInt64.init) ?? seed
      case "--first": first = true
      case "--replay": replay = words.popFirst() ?? value
      default:
        print("usage: holdfast-sim [--sessions N] [--from SEED] [--first] [--seed SEED] [--replay SCENARIO]")
        exit(64)
      }
    }
    if let replay {
      guard let scenario = Scenario(text: replay) else {
        print("that is no scenario")
        exit(64)
      }
      exit(Workers.show(scenario) ? 0 : 1)
    }
    if one {
      let scenario = Scenario(seed: seed)
      print(scenario.text)
      exit(Workers.show(scenario) ? 0 : 1)
    }
    exit(Workers.run(from: seed, sessions: sessions, first: first) ? 0 : 1)
  }
}
