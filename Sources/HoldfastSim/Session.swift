import CSim
import Encoding
import Holdfast
import Store

/// A rule that was broken, and how.
struct Violation: Error {
  var rule: String
  var what: String
}

/// One recorder's life on the simulated machine, and all that was seen of it from outside.
final class Session: @unchecked Sendable {
  struct Command {
    var time: Int64
    var captured: Int64
    var event: Reference.Event
  }
  let scenario: Scenario
  let device: Device
  private(set) var events: [RecorderEvent] = []
  private(set) var states: [TakeState] = []
  private(set) var commands: [Command] = []
  private(set) var pausesAccepted = 0
  private(set) var marksAccepted: [String] = []
  /// Why it couldn't begin.
  private(set) var refusal: RecorderFailure?
  private(set) var path: Path?
  /// When `sealed` was told, on the machine's clock.
  private(set) var sealedAt: Int64?
  private(set) var sealedFrames: Int64 = 0
  private(set) var endedAt: Int64 = 0
  private(set) var intrusions: [String] = []
  /// It goes on with an unfinished take, of so many effective frames.
  private(set) var goesOn = false
  private(set) var continuing: Int64 = 0
  static let folder = Path("/sim/takes")
  static let output = Path("/sim/takes/take.opus")

  init(_ scenario: Scenario) {
    self.scenario = scenario
    device = Device(scenario, holding: scenario.live ? nil : Int64(scenario.rate) * 3 / 2)
  }

  private var settings: RecordingSettings {
    var settings = RecordingSettings()
    settings.output = Self.output
    settings.takesFolder = Path("/sim/other")
    settings.temporaryFolder = Path("/sim/tmp")
    settings.force = scenario.replaces
    settings.takeID = "sim-\(scenario.seed)"
    settings.context = #"{"session":"sim"}"#
    settings.maxMs = scenario.maxMs
    settings.minValidMs = 500
    settings.preRollMs = max(0, scenario.preRollMs)
    settings.encoder = EncoderSettings(bitrate: scenario.bitrate, complexity: 0)
    settings.gaps = scenario.closesGaps ? .close : .fill
    settings.absence = scenario.waitSeconds < 0 ? .ask : .wait(seconds: scenario.waitSeconds)
    settings.sourceKind = "sim"
    settings.live = scenario.live
    settings.inhibitsSleep = false
    settings.quality = .fastest
    return settings
  }

  /// Runs it to its end; on a thread of the machine.
  ///
  /// - Parameter continuation: an unfinished take to go on with.
  func run(continuing continuation: Continuation? = nil) throws {
    var all = settings
    if let continuation {
      all.goOn(with: continuation)
      (goesOn, continuing) = (true, continuation.effectiveFrames)
    }
    let recorder = Recorder(settings: all, continuing: continuation)
    device.isTaking = { [weak recorder] in
      guard let state = recorder?.state else { return false }
      if case .interrupted(.left, _) = state { return false }
      return state.isTaking
    }
    let reader = try Thread(name: "reader") { [self] in
      while true {
        let new = recorder.events.next()
        if new.isEmpty { return }
        for event in new { hear(event) }
      }
    }
    do throws(RecorderFailure) {
      if scenario.preRollMs >= 0, continuation == nil {
        try recorder.arm(source: DeviceSource(device, live: scenario.live))
      } else {
        note(.start(preRoll: 0), recorder, before: true)
        try recorder.start(source: DeviceSource(device, live: scenario.live))
      }
    } catch {
      refusal = error
      reader.join()
      recorder.wait()
      endedAt = sim_now()
      return
    }
    for step in scenario.steps {
      pause(step.wait)
      checkState(recorder)
      act(step.act, recorder)
      lastAct = sim_now()
    }
    pause(.ms(300))
    checkState(recorder)
    recorder.stop(.user)
    guard recorder.wait(until: MonotonicTime(nanoseconds: sim_now() + 300_000_000_000)) else {
      throw Violation(
        rule: "ends", what: "300 s after its stop the recorder hasn't ended: \(recorder.state.name)")
    }
    reader.join()
    path = recorder.path
    endedAt = sim_now()
    if let found { throw found }
  }

  private func pause(_ wait: Step.Wait) {
    switch wait {
    case .ms(0): sim_yield()
    case .ms(let n): sim_wait(sim_now() + n * 1_000_000, -1)
    case .calls(let n): sim_wait(sim_now() + 100_000_000, sim_calls() + 1 + n)
    }
  }
  /// Where sound flows, and nothing was asked lately, the last state that was told is the recorder's.
  private func checkState(_ recorder: Recorder) {
    guard device.flows, sim_now() - lastAct > 150_000_000,
      sim_now() - sim_trouble() > 1_000_000_000 || sim_trouble() == 0,
      let last = states.last
    else { return }
    guard last.name != recorder.state.name, found == nil else { return }
    found = Violation(
      rule: "legal states",
      what: "the recorder is \(recorder.state.name), and \(last.name) was told last: \(states.map(\.name))")
  }
  private var found: Violation?
  private var lastAct: Int64 = 0

  private func hear(_ event: RecorderEvent) {
    events.append(event)
    if case .state(let state, _) = event { states.append(state) }
    if case .sealed(let take) = event { (sealedAt, sealedFrames) = (sim_now(), take.effectiveFrames) }
  }
  private func note(_ event: Reference.Event, _ recorder: Recorder, before: Bool = false) {
    commands.append(Command(time: sim_now(), captured: before ? 0 : recorder.captured, event: event))
  }

  private func act(_ act: Step.Act, _ recorder: Recorder) {
    let captured = recorder.captured
    func noted(_ event: Reference.Event) {
      commands.append(Command(time: sim_now(), captured: captured, event: event))
    }
    switch act {
    case .start:
      guard recorder.state == .armed else { break }
      do throws(RecorderFailure) {
        try recorder.start()
        // It begins once its files are made.
        note(.start(preRoll: max(0, scenario.preRollMs) * 48), recorder)
      } catch { refusal = error }
    case .pause: if recorder.pause() == .closeGate { noted(.pause) }
    case .resume: if recorder.resume() == .openGate { noted(.resume) }
    case .mark:
      let label = "m\(commands.count)"
      if recorder.mark(label: label) == .writeMark { noted(.mark(label)) }
    case .stop: recorder.stop(.user)
    case .discard: _ = recorder.discard()
    case .leave: recorder.leave()
    case .goOn: recorder.goOn()
    case .keep: recorder.keep()
    case .lose(let ms): device.lose(ms: ms)
    case .unplug(let fault, let ms): device.unplug(fault, ms: ms)
    case .hush(let ms): device.hush(ms: ms)
    case .fault(let kinds, let error, let count): sim_fault(Int32(kinds), Int32(error), Int32(count))
    case .stall(let kinds, let ms, let count): sim_stall(Int32(kinds), ms * 1_000_000, Int32(count))
    case .room(let bytes): sim_room(bytes)
    case .jump(let ms): sim_jump(ms * 1_000_000)
    case .doze(let ms): sim_sleep(ms * 1_000_000)
    case .intrude: intrude(recorder)
    case .crash(let after, let crash):
      sim_crash(sim_calls() + 1 + after, crash.model.raw, crash.spread, crash.seed)
    }
  }
  /// What another process' `recover` says meanwhile.
  private func intrude(_ recorder: Recorder) {
    let isOver = !device.isTaking()
    do throws(RecorderFailure) {
      for result in try Recovery.recover(Self.folder) {
        switch result {
        case .recovered(let take): if !isOver { intrusions.append("recovered \(take.take.path.display)") }
        case .repaired(let file): intrusions.append("repaired \(file)")
        case .nothingToDo: break
        case .failed(let failure): intrusions.append("failed \(failure.code) \(failure.kind)")
        }
      }
    } catch { if error.code != 66 { intrusions.append("threw \(error.code)") } }
  }

  // MARK: what has to be

  /// All that touched the stream, in its order: what came at the same frame as a loss came before it.
  private func timeline(until time: Int64) -> [(captured: Int64, event: Reference.Event)] {
    // What is asked while no frames come takes effect with the next ones.
    let captured = time == .max ? .max : device.captured(at: time)
    var list = commands.filter { $0.time <= time && ($0.captured < captured || $0.captured == 0) }.map {
      (time: $0.time, captured: $0.captured, event: $0.event)
    }
    var losses: [(captured: Int64, event: Reference.Event)] = []
    for entry in device.log where entry.time <= time {
      switch entry.entry {
      case .delivered: break
      case .lost(let frames): losses.append((entry.captured, .lost(frames)))
      case .away(let reason): list.append((entry.time, entry.captured, .broken(reason)))
      case .back: list.append((entry.time, entry.captured, .joined))
      }
    }
    list = list.enumerated().sorted {
      ($0.element.captured, $0.element.time, $0.offset) < ($1.element.captured, $1.element.time, $1.offset)
    }.map(\.element)
    var merged = list.map { ($0.captured, $0.event) }
    for loss in losses {
      let at = merged.firstIndex { $0.0 > loss.captured } ?? merged.count
      merged.insert((loss.captured, loss.event), at: at)
    }
    return merged
  }

  /// The take as it has to be, from what had come by a moment; nil for all of it.
  ///
  /// - Parameter followed: only what was asked for before at least 50 ms of sound had come: a device that stalls brings
  ///   nothing about until it is given up.
  func reference(at time: Int64? = nil, followed: Bool = false) -> Reference {
    var reference = Reference(
      rate: device.rate, limitMs: scenario.maxMs, closesGaps: scenario.closesGaps, continuing: continuing)
    let events = timeline(until: time ?? .max)
    let last = followed ? device.captured(at: time ?? .max) - Int64(device.rate) / 20 : .max
    // Where the sound breaks, all that was asked by then takes effect; and at once while it stays away.
    let settled = events.lastIndex { $0.event.isBreak } ?? -1
    let isAway = settled >= 0 && events[settled].event != .joined
    for (index, (captured, event)) in events.enumerated()
    where index < settled || isAway || captured <= last || !event.isAsked {
      reference.take(event, at: captured)
    }
    if let time {
      reference.take(.joined, at: device.captured(at: time))
    } else {
      reference.finish(at: device.delivered)
    }
    return reference
  }
}
