import TestSupport
import Testing

@testable import Signal

/// What becomes of `samples` behind the gate, in blocks, with a person's pauses where asked for.
private struct Gated {
  var kept: [Float] = []
  var transitions: [TakeClock.Transition] = []
  var decisions: [AutoPause.Decision] = []
  var clock = TakeClock(maxFrames: nil)

  init(
    _ samples: [Float], pause: Int64 = 0, stop: Int64 = 0, block: Int = 480, paused: Range<Int>? = nil
  ) throws {
    var auto = AutoPause(try #require(SilenceRules(pauseAfterMs: pause, stopAfterMs: stop)))
    var first = 0
    while first < samples.count, !clock.isFull {
      if first == paused?.lowerBound {
        auto.suspend {
          gate(&$0, $1)
        } decide: {
          decide($0)
        }
        clock.schedule(.pause, at: Int64(first), captureFrame: Int64(first))
      }
      if first == paused?.upperBound {
        auto.restart()
        clock.schedule(.resume, at: Int64(first), captureFrame: Int64(first))
      }
      let edges = [paused?.lowerBound, paused?.upperBound, samples.count].compactMap { $0 }
      let n = min(block, (edges.first { $0 > first } ?? samples.count) - first)
      var part = Array(samples[first..<(first + n)])
      var span = part.mutableSpan
      auto.pass(&span, count: n) {
        gate(&$0, $1)
      } decide: {
        decide($0)
      }
      first += n
    }
    if !clock.isFull { auto.finish { gate(&$0, $1) } }
  }
  private mutating func gate(_ span: inout MutableSpan<Float>, _ count: Int) {
    clock.pass(&span, count: count) { part in
      for i in 0..<part.count { kept.append(part[i]) }
    } transition: {
      transitions.append($0)
    }
  }
  private mutating func decide(_ decision: AutoPause.Decision) {
    decisions.append(decision)
    switch decision {
    case .leaveOut: schedule(.leaveOut, clock.position)
    case .takeIn(let after): schedule(.takeIn, clock.position + after)
    case .stop: clock.end()
    case .warn: break
    }
  }
  private mutating func schedule(_ command: TakeClock.Command, _ position: Int64) {
    clock.schedule(command, at: position, captureFrame: position)
  }
  /// Stream positions from each fade-out to the frame that the next sound joins at.
  var leftOut: [(from: Int64, to: Int64?)] {
    var all: [(from: Int64, to: Int64?)] = []
    for transition in transitions {
      switch transition.command {
      case .leaveOut: all.append((transition.captureFrame, nil))
      case .takeIn: all[all.count - 1].to = transition.captureFrame
      default: break
      }
    }
    return all
  }
}

private let room = Tone.white(48_000 * 8, rmsDb: -66, seed: 5)
/// A talk, 8 s of a quiet room, and the talk again: its speech begins half a second in.
private func talkTwice() throws -> [Float] {
  let talk = try Wav(reading: Places.testaudio("talk.wav")).samples
  let noise = Tone.white(talk.count, rmsDb: -66, seed: 6)
  let noisy = zip(talk, noise).map { $0 + $1 }
  return noisy + room + noisy
}
private let talkFrames = 612_221

@Suite struct AutoPauseTests {
  @Test func `after the silence nothing is kept until 200 ms before the next sound`() throws {
    let samples = try talkTwice()
    let gated = try Gated(samples, pause: 2_000)
    #expect(gated.leftOut.count == 1)
    let left = try #require(gated.leftOut.first)
    let end = Int64(588_221)  // of the first talk's last word
    let next = Int64(talkFrames + room.count + 24_000)
    #expect((end + 94_000...end + 104_000).contains(left.from), "\(left)")
    let to = try #require(left.to)
    #expect((next - 9_600 - 2_880...next - 4_800).contains(to), "\(left)")
    // Every frame of the rest is there: faded at the joint, else as it was.
    #expect(gated.kept.count == samples.count - Int(to - left.from - 240))
    #expect(gated.clock.effectiveFrames == Int64(gated.kept.count))
    let joint = Int(left.from) + 240
    #expect(Array(gated.kept[..<Int(left.from)]) == Array(samples[..<Int(left.from)]))
    #expect(Array(gated.kept[(joint + 240)...]) == Array(samples[(Int(to) + 240)...]))
    for i in 1..<239 { #expect(abs(gated.kept[joint + i]) <= abs(samples[Int(to) + i])) }
  }

  @Test(arguments: [1, 77, 441, 1_920, 4_800, 100_000])
  func `the same frames whatever the blocks`(_ block: Int) throws {
    let samples = try talkTwice()
    let one = try Gated(samples, pause: 2_000, stop: 7_000)
    let other = try Gated(samples, pause: 2_000, stop: 7_000, block: block)
    #expect(one.kept == other.kept && one.decisions == other.decisions)
    #expect(one.transitions == other.transitions)
  }

  @Test func `pauses of a talk that are shorter stay`() throws {
    let talk = Array(try talkTwice()[..<talkFrames])
    #expect(try Gated(talk, pause: 2_000).decisions == [])
    #expect(try Gated(talk, pause: 1_000).leftOut.count == 1)  // the one of 1.4 s
  }

  @Test func `a fan is silence, a sound that isn't speech is none`() throws {
    let fan = Tone.white(48_000 * 20, rmsDb: -40, seed: 9)
    #expect(try Gated(fan, pause: 3_000).leftOut.count == 1)
    var knocks = fan
    for i in stride(from: 48_000 * 2, to: knocks.count, by: 96_000) {
      for (j, v) in Tone.white(9_600, rmsDb: -15, seed: 3).enumerated() { knocks[i + j] += v }
    }
    #expect(try Gated(knocks, pause: 3_000).decisions == [])
  }

  @Test func `nothing from the start on: left out until the first word`() throws {
    let samples = room + Array(try talkTwice()[..<talkFrames])
    let left = try Gated(samples, pause: 3_000).leftOut
    #expect(left.first?.from == 144_000)  // a multiple of the step
    let next = Int64(room.count + 24_000)
    #expect((next - 12_480...next - 4_800).contains(left.first?.to ?? 0), "\(left)")
  }

  @Test func `a person's pause ends it, and silence counts anew behind that`() throws {
    // Left out from 2 s on, paused at 4 s, resumed at 5 s, left out from 7 s on.
    let gated = try Gated(room, pause: 2_000, paused: 192_000..<240_000)
    #expect(
      gated.transitions.map(\.command) == [.leaveOut, .takeIn, .pause, .pause, .resume, .leaveOut])
    #expect(gated.transitions.map(\.closed) == [false, false, false, true, false, false])
    #expect(gated.kept.count == 96_000 + 240 + (336_000 - 240_000) + 240)
    #expect(gated.leftOut.map(\.from) == [96_000, 336_000])
  }

  @Test func `a stop is told 5 s before, and takes place at a frame`() throws {
    let gated = try Gated(room, stop: 7_000)
    #expect(gated.decisions == [.warn(true), .stop])
    #expect(gated.kept.count == 336_000)
    let both = try Gated(room, pause: 1_000, stop: 7_000)
    #expect(both.decisions == [.leaveOut, .warn(true), .stop])
    #expect(both.kept.count == 48_000 + 240)
  }
  @Test func `a sound takes the warning back`() throws {
    let gated = try Gated(room + Array(try talkTwice()[..<200_000]), stop: 10_000)
    #expect(gated.decisions == [.warn(true), .warn(false)])
  }
  @Test func `while a person pauses nothing is stopped`() throws {
    #expect(try Gated(room, stop: 6_000, paused: 96_000..<288_000).decisions == [])
    #expect(try Gated(room, stop: 6_000, paused: 192_000..<288_000).decisions == [.warn(true), .warn(false)])
  }
  @Test func `rules that ask for nothing`() {
    #expect(SilenceRules(pauseAfterMs: 0, stopAfterMs: 0) == nil)
    #expect(SilenceRules.warningFrames(stopAfter: 48_000) == 24_000)
    #expect(SilenceRules.warningFrames(stopAfter: 48_000 * 60) == 240_000)
  }
}

@Suite struct LeavingOutTests {
  private func run(
    _ commands: [(TakeClock.Command, Int64)]
  ) -> (kept: Int, transitions: [TakeClock.Transition]) {
    var clock = TakeClock(maxFrames: nil)
    for (command, position) in commands { clock.schedule(command, at: position, captureFrame: position) }
    var samples = [Float](repeating: 1, count: 10_000)
    var transitions: [TakeClock.Transition] = []
    var span = samples.mutableSpan
    clock.pass(&span, count: 10_000) { _ in
    } transition: {
      transitions.append($0)
    }
    return (Int(clock.effectiveFrames), transitions)
  }
  @Test func `a resume doesn't end a silence, nor does sound end a person's pause`() {
    #expect(run([(.leaveOut, 1_000), (.resume, 2_000)]).kept == 1_240)
    #expect(run([(.pause, 1_000), (.takeIn, 2_000)]).kept == 1_240)
    #expect(run([(.pause, 1_000), (.leaveOut, 1_100), (.takeIn, 2_000), (.resume, 3_000)]).kept == 8_240)
  }
  @Test func `a pause within the fade-out of a silence waits for its end`() {
    let (kept, transitions) = run([(.leaveOut, 1_000), (.pause, 1_100), (.resume, 5_000)])
    #expect(kept == 1_240 + 5_000)
    #expect(transitions.map(\.command) == [.leaveOut, .takeIn, .pause, .pause, .resume])
    #expect(transitions.map(\.effectiveFrame) == [1_000, 1_240, 1_240, 1_240, 1_240])
  }
  @Test func `sound within the fade-out joins behind it`() {
    #expect(run([(.leaveOut, 1_000), (.takeIn, 1_100)]).kept == 10_000)
  }
}
