import Testing

@testable import Encoding

@Suite struct OpusTimelineTests {
  private func second(_ timeline: inout OpusTimeline, _ granule: Int64?, last: Bool = false, lost: Int64 = 0)
    -> OpusTimeline.Placement
  { timeline.place(48_000, granule: granule, isLast: last, lostPages: lost, allowance: 1 << 40) }
  private func started() -> OpusTimeline {
    var timeline = OpusTimeline()
    _ = second(&timeline, 48_000)
    return timeline
  }

  @Test func `pages that count what they hold need nothing`() {
    var timeline = started()
    #expect(second(&timeline, 96_000) == .init(kept: 48_000))
    #expect(timeline.base == 0 && timeline.done == 96_000)
  }
  @Test func `the last position trims the end`() {
    var timeline = started()
    #expect(second(&timeline, 48_312, last: true) == .init(kept: 312))
    #expect(timeline.done == 48_312)
  }
  @Test func `a single page is trimmed too`() {
    var timeline = OpusTimeline()
    #expect(second(&timeline, 312, last: true) == .init(kept: 312))
    #expect(timeline.base == 0)
  }
  @Test func `a stream joined in the middle begins where its first page does`() {
    var timeline = OpusTimeline()
    #expect(second(&timeline, 48_000_000) == .init(kept: 48_000))
    #expect(timeline.base == 48_000_000 - 48_000 && timeline.done == 48_000)
    #expect(second(&timeline, 48_048_000) == .init(kept: 48_000))
  }
  @Test func `lost pages before the first are a hole if few, else the stream was joined`() {
    var lost = OpusTimeline()
    #expect(second(&lost, 96_000, lost: 1) == .init(holeBefore: 48_000, kept: 48_000))
    #expect(lost.base == 0)
    var joined = OpusTimeline()
    #expect(second(&joined, 96_000_000, lost: 2_000) == .init(kept: 48_000))
  }
  @Test func `a first position smaller than its audio keeps the audio`() {
    var timeline = OpusTimeline()
    #expect(second(&timeline, 40_000) == .init(kept: 48_000, fault: .beforeStart))
    #expect(second(&timeline, 88_000) == .init(kept: 48_000))
    #expect(timeline.done == 96_000)
  }
  @Test func `lost pages leave a hole as long as the positions say`() {
    var timeline = started()
    #expect(second(&timeline, 192_000, lost: 2) == .init(holeBefore: 96_000, kept: 48_000))
    #expect(timeline.done == 192_000)
  }
  @Test func `a hole before a trimmed last page is a whole number of packets`() {
    var timeline = started()
    // 48 000 lost, then 960 of which 312 count.
    let placed = timeline.place(
      960, granule: 96_312, unit: 960, isLast: true, lostPages: 1, allowance: 1 << 40)
    #expect(placed == .init(holeBefore: 48_000, kept: 312))
  }
  @Test func `a hole longer than the lost pages could be is a false position`() {
    var timeline = started()
    let jump = OpusTimeline.longestPage + 1
    #expect(second(&timeline, 96_000 + jump, lost: 1) == .init(kept: 48_000, fault: .jump(jump)))
    #expect(second(&timeline, 144_000 + jump) == .init(kept: 48_000))
    #expect(timeline.done == 144_000)
  }
  @Test func `a jump without a lost page is a hole up to ten minutes`() {
    var timeline = started()
    #expect(second(&timeline, 100_000) == .init(holeBefore: 4_000, kept: 48_000))
    #expect(second(&timeline, 100_000 + 48_000 * 602).fault == .jump(48_000 * 601))
  }
  @Test func `audio that the last position lacks is silence at the end`() {
    var timeline = started()
    #expect(second(&timeline, 96_100, last: true) == .init(holeAfter: 100, kept: 48_000))
  }
  @Test func `a position that goes back isn't used, and no later trim is trusted with a whole page`() {
    var timeline = started()
    #expect(second(&timeline, 48_000) == .init(kept: 48_000, fault: .backwards(48_000)))
    #expect(second(&timeline, 48_000, last: true) == .init(kept: 48_000, fault: .backwards(48_000)))
    #expect(timeline.done == 144_000)
  }
  @Test func `the allowance bounds all holes together`() {
    var timeline = started()
    let placed = timeline.place(48_000, granule: 144_000, isLast: false, lostPages: 9, allowance: 47_999)
    #expect(placed == .init(kept: 48_000, fault: .jump(48_000)))
  }
  static let outOfRange: [Int64] = [.min, -2, -1, (1 << 62) + 1, .max]
  @Test(arguments: outOfRange, [true, false])
  func `positions out of range count as none`(granule: Int64, isLast: Bool) {
    var timeline = started()
    #expect(second(&timeline, granule, last: isLast) == .init(kept: 48_000))
    var first = OpusTimeline()
    #expect(second(&first, granule, last: isLast) == .init(kept: 48_000))
    #expect(first.base == nil)
  }
  @Test func `no sequence of extreme positions overflows`() {
    let extremes: [Int64] = [.min, -1, 0, 1, 48_000, (1 << 62) - 1, 1 << 62, .max]
    for a in extremes {
      for b in extremes {
        for c in extremes {
          for lost: Int64 in [0, 1, Int64(Int32.max)] {
            var timeline = OpusTimeline()
            for (i, granule) in [a, b, c].enumerated() {
              _ = second(&timeline, granule, last: i == 2, lost: lost)
            }
            #expect(timeline.done >= 0)
          }
        }
      }
    }
  }
}
