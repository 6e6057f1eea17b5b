import Foundation
import Testing

@testable import Signal

/// Runs ones through a clock in blocks, with commands at stream positions.
private func run(
  _ total: Int, block: Int, max: Int64? = nil, _ commands: [(TakeClock.Command, Int64)]
) -> (kept: [Float], transitions: [TakeClock.Transition], clock: TakeClock) {
  var clock = TakeClock(maxFrames: max)
  for (command, position) in commands { clock.schedule(command, at: position, captureFrame: position) }
  var kept: [Float] = []
  var transitions: [TakeClock.Transition] = []
  var first = 0
  while first <= total {
    let n = min(block, total - first)
    var samples = [Float](repeating: 1, count: Swift.max(1, n))
    var span = samples.mutableSpan
    clock.pass(&span, count: n) { part in
      for i in 0..<part.count { kept.append(part[i]) }
    } transition: {
      transitions.append($0)
    }
    if n == 0 { break }
    first += n
  }
  return (kept, transitions, clock)
}

@Test(arguments: [1, 100, 480, 10_000])
func `a pause keeps 240 fading frames and then nothing, a resume fades in`(_ block: Int) {
  let (kept, transitions, clock) = run(10_000, block: block, [(.pause, 1_000), (.resume, 5_000)])
  #expect(kept.count == 1_000 + 240 + 5_000)
  #expect(clock.effectiveFrames == Int64(kept.count))
  #expect(kept[..<1_000].allSatisfy { $0 == 1 })
  #expect(kept[1_000..<1_240].allSatisfy { $0 < 1 && $0 > 0 })
  #expect(zip(kept[1_000..<1_239], kept[1_001..<1_240]).allSatisfy { $0 > $1 })
  #expect(zip(kept[1_240..<1_479], kept[1_241..<1_480]).allSatisfy { $0 < $1 })
  #expect(kept[1_480...].allSatisfy { $0 == 1 })
  #expect(
    transitions == [
      .init(command: .pause, captureFrame: 1_000, effectiveFrame: 1_000),
      .init(command: .pause, captureFrame: 1_000, effectiveFrame: 1_240, closed: true),
      .init(command: .resume, captureFrame: 5_000, effectiveFrame: 1_240),
    ])
}

@Test func `a resume inside the fade-out waits for its end`() {
  let (kept, transitions, _) = run(2_000, block: 480, [(.pause, 500), (.resume, 600)])
  #expect(kept.count == 2_000)
  #expect(transitions.last?.effectiveFrame == 740)
}

@Test func `a pause inside a fade-in makes no step`() {
  let (kept, _, _) = run(5_000, block: 480, [(.pause, 500), (.resume, 2_000), (.pause, 2_100)])
  #expect(kept.count == 500 + 240 + 100 + 240)
  for (a, b) in zip(kept, kept.dropFirst()) { #expect(abs(a - b) < 0.02) }
}

@Test func `a pause as the very first and the very last act counts`() {
  let first = run(3_000, block: 480, [(.pause, 0), (.resume, 2_000)])
  #expect(first.kept.count == 240 + 1_000)
  let last = run(3_000, block: 480, [(.pause, 3_000)])
  #expect(last.kept.count == 3_000)
  #expect(last.transitions.map(\.command) == [.pause])
}

@Test(arguments: [1, 333, 4_800])
func `a limit stops at that very frame, also inside a fade`(_ block: Int) {
  #expect(run(9_999, block: block, max: 4_320, []).kept.count == 4_320)
  let faded = run(9_999, block: block, max: 1_100, [(.pause, 1_000)])
  #expect(faded.kept.count == 1_100)
  #expect(faded.clock.isFull)
}

@Test func `a mark is placed where it was made, and in a pause at the joint`() {
  let (_, transitions, _) = run(
    9_000, block: 480,
    [(.note(0), 700), (.pause, 1_000), (.note(1), 3_000), (.resume, 5_000), (.note(2), 6_000)])
  let marks = transitions.filter { if case .note = $0.command { true } else { false } }
  #expect(marks.map(\.effectiveFrame) == [700, 1_240, 2_240])
}

@Test(arguments: 0..<50)
func `random pauses keep exactly what lies between them`(_ seed: UInt64) {
  var generator = SplitMix(state: seed)
  var commands: [(TakeClock.Command, Int64)] = []
  var position: Int64 = 0
  var expected: Int64 = 0
  for _ in 0..<10 {
    let open = Int64.random(in: 0...3_000, using: &generator)
    let shut = Int64.random(in: 240...3_000, using: &generator)
    commands += [(.pause, position + open), (.resume, position + open + shut)]
    expected += open + 240
    position += open + shut
  }
  let (kept, transitions, _) = run(
    Int(position) + 500, block: Int.random(in: 1...1_000, using: &generator), commands)
  #expect(kept.count == Int(expected + 500), "seed \(seed)")
  #expect(transitions.filter { $0.command == .pause && !$0.closed }.count == 10)
  for (a, b) in zip(kept, kept.dropFirst()) { #expect(abs(a - b) < 0.02, "seed \(seed): a click") }
}

@Test func `frame counts are exact however large`() {
  #expect(takeFrames(deviceFrames: 44_100, rate: 44_100) == 48_000)
  #expect(takeFrames(deviceFrames: 1, rate: 96_000) == 1)  // 0.5 rounds up
  #expect(takeFrames(deviceFrames: 1 << 55, rate: 48_000) == 1 << 55)
  #expect(takeFrames(deviceFrames: (1 << 50) * 441, rate: 44_100) == (1 << 50) * 480)
}

@Test func `no signal is found exactly, and a quiet talker is signal`() {
  var detector = NoSignalDetector(rate: 48_000)
  let zeros = [Float](repeating: 0.01, count: 48_000 * 3)  // a constant is no signal
  let talk = (0..<48_000).map { Float(0.004 * (($0 / 100) % 2 == 0 ? 1 : -1)) }
  detector.push(talk.span)
  detector.push(zeros.span)
  #expect(detector.isActive)
  detector.push(talk.span)
  #expect(!detector.isActive)
  detector.finish(at: 5 * 48_000)
  #expect(detector.stretches == [48_000..<(4 * 48_000)])
}

@Test(arguments: [(146_737, 266_737), (386_400, 482_880), (1_056_048, 1_152_048), (864_001, 960_001)])
func `no signal begins and ends at the sample`(_ from: Int, _ to: Int) {
  let sound = (0..<1_400_000).map { (n: Int) -> Float in
    if (from..<to).contains(n) { return 0.2 }
    let wave = sin(Double(n) * 0.05 + 0.3)
    return Float(0.202 + 0.1 * wave)
  }
  for block in [1_000, 48_000, 1_400_000] {
    var detector = NoSignalDetector(rate: 48_000)
    for first in stride(from: 0, to: sound.count, by: block) {
      detector.push(Array(sound[first..<min(sound.count, first + block)]).span)
    }
    #expect(detector.stretches.count == 1)
    // A sine that crosses the level of the silence right there isn't told from it.
    #expect(abs((detector.stretches.first?.lowerBound ?? 0) - Int64(from)) <= 4)
    #expect(abs((detector.stretches.first?.upperBound ?? 0) - Int64(to)) <= 4)
  }
}

@Test(arguments: [-78.0, -74, -73, -71, -68]) func `hiss is no signal below -72 dBFS`(_ db: Double) {
  var state: UInt64 = 0x1234_5678_9ABC_DEF1
  let amplitude = pow(10, db / 20) * 3.0.squareRoot()
  let hiss = (0..<960_000).map { _ -> Float in
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Float(amplitude * (Double(state >> 11) / Double(1 << 52) - 1))
  }
  var detector = NoSignalDetector(rate: 48_000)
  detector.push(hiss.span)
  detector.finish(at: 960_000)
  #expect(detector.stretches == (db < -72 ? [0..<960_000] : []))
}

@Test func `what was asked takes effect where no frames come that would bring it about`() {
  var clock = TakeClock(maxFrames: nil)
  var samples = [Float](repeating: 1, count: 1_000)
  var span = samples.mutableSpan
  clock.pass(&span, count: 1_000) { _ in
  } transition: { _ in
  }
  let commands: [TakeClock.Command] = [.pause, .resume, .pause, .note(7)]
  for command in commands { clock.schedule(command, at: 1_000, captureFrame: 1_000) }
  var told: [TakeClock.Transition] = []
  clock.settle { told.append($0) }
  #expect(told.map(\.command) == [.pause, .pause, .resume, .pause, .note(7), .pause])
  #expect(told.map(\.effectiveFrame) == Array(repeating: 1_000, count: 6))
  #expect(told.filter(\.closed).count == 2 && clock.isPaused)
}
