import TestSupport
import Testing

@testable import Signal

@Suite struct ClippingWatchTests {
  /// Frames of the changes, when 10 ms come at a time and those numbered `clips` clip.
  private func changes(_ clips: Set<Int>, hops: Int = 2_000) -> [Int64] {
    var watch = ClippingWatch()
    return (0..<hops).compactMap { watch.push(count: 480, clipped: clips.contains($0)) }
  }

  @Test func `no clipped run, no warning`() { #expect(changes([]) == []) }

  @Test func `comes with the first clipped run and goes 5 s after it`() {
    #expect(changes([100]) == [48_000, 48_480 + 240_000])
  }
  @Test func `runs up to 5 s apart are one warning`() {
    #expect(changes([100, 300, 700]) == [48_000, 701 * 480 + 240_000])
    #expect(changes([100, 602]).count == 4)
  }
  @Test func `a take that goes on counts from where it was`() {
    var watch = ClippingWatch(from: 96_000)
    #expect(watch.push(count: 480, clipped: true) == 96_000)
  }
}

@Suite struct QuietWatchTests {
  /// Block numbers at which the warning changes.
  private func changes(_ blocks: [(db: Double, speaking: Bool)], hasSignal: Bool = true) -> [Int] {
    var watch = QuietWatch()
    return blocks.enumerated().compactMap { i, block in
      let power = Float(amplitude(block.db) * amplitude(block.db))
      return watch.push(power: power, speaking: block.speaking, hasSignal: hasSignal) ? i : nil
    }
  }
  private func speech(_ db: Double, _ count: Int) -> [(db: Double, speaking: Bool)] {
    Array(repeating: (db, true), count: count)
  }
  private func noise(_ db: Double, _ count: Int) -> [(db: Double, speaking: Bool)] {
    Array(repeating: (db, false), count: count)
  }

  @Test(arguments: [-20.0, -40, -45])
  func `speech that is loud enough`(_ db: Double) { #expect(changes(speech(db, 200)) == []) }

  @Test func `speech that is too low for 3 s, once`() {
    #expect(changes(speech(-50, 300)) == [3 + 29])
    #expect(changes(speech(-50, 30)) == [])
  }
  @Test func `the pauses between words don't count`() {
    let talk = (0..<10).flatMap { _ in speech(-40, 10) + noise(-80, 10) }
    #expect(changes(talk) == [])
    let low = (0..<10).flatMap { _ in speech(-50, 10) + noise(-80, 10) }
    #expect(changes(low).count == 1)
  }
  @Test func `goes within 1.3 s when it gets loud enough`() {
    let found = changes(speech(-50, 100) + speech(-30, 100))
    #expect(found.count == 2 && (100...113).contains(found[1]))
  }
  @Test func `levels between the two bounds change nothing`() {
    #expect(changes((0..<50).flatMap { _ in speech(-45, 10) + speech(-43, 10) }) == [])
    #expect(changes(speech(-50, 60) + (0..<50).flatMap { _ in speech(-45, 10) + speech(-43, 10) }).count == 1)
  }
  @Test func `nothing but a muted input's hiss, before the first word`() {
    #expect(changes(noise(-66, 300)) == [3 + 99])
    #expect(changes(noise(-52, 300)) == [])  // a quiet room
    #expect(changes(noise(-66, 300), hasSignal: false) == [])  // told as no signal
    #expect(changes(noise(-66, 300) + noise(-160, 100)).count == 1)
    #expect(changes(speech(-30, 30) + noise(-66, 600)) == [])  // who has spoken may be silent
  }
  @Test func `hiss, then sound, then speech`() {
    #expect(changes(noise(-66, 200) + noise(-40, 100)).count == 2)
    #expect(changes(noise(-66, 200) + speech(-30, 100)).count == 2)
    #expect(changes(noise(-66, 200) + speech(-50, 100)).count == 1)  // still too low
  }
}
