import Testing

@testable import Holdfast

@Suite struct PlayerMachineTests {
  @Test func `every command is answered in every state`() {
    func after(_ before: [PlayerMachine.Command], fed: Bool = false, _ command: PlayerMachine.Command) -> (
      PlayerMachine.Action, PlayerMachine.State
    ) {
      var machine = PlayerMachine()
      for command in before { _ = machine.take(command) }
      if fed { machine.fedAll() }
      return (machine.take(command), machine.state)
    }
    #expect(after([], .pause) == (.hold, .paused))
    #expect(after([], .resume) == (.none, .playing))
    #expect(after([], .seek(ms: 5)) == (.jump(ms: 5), .playing))
    #expect(after([], .stop) == (.end, .over))
    #expect(after([], fed: true, .pause) == (.hold, .paused))
    #expect(after([], fed: true, .resume) == (.none, .draining))
    #expect(after([], fed: true, .seek(ms: 5)) == (.jump(ms: 5), .playing))
    #expect(after([], fed: true, .stop) == (.end, .over))
    #expect(after([.pause], .pause) == (.none, .paused))
    #expect(after([.pause], .resume) == (.goOn, .playing))
    #expect(after([.pause], .seek(ms: 5)) == (.jump(ms: 5), .paused))
    #expect(after([.pause], .stop) == (.end, .over))
    for command in [PlayerMachine.Command.pause, .resume, .seek(ms: 5), .stop] {
      #expect(after([.stop], command) == (.none, .over))
    }
  }

  @Test func `it ends when the last frame was heard, and only then`() {
    var machine = PlayerMachine()
    machine.drained()
    #expect(machine.state == .playing)
    machine.fedAll()
    #expect(machine.state == .draining)
    machine.drained()
    #expect(machine.state == .over)
    machine.fedAll()
    #expect(machine.state == .over)
  }
}
