import Testing

@testable import Encoding

@Suite struct OpusStreamMutationTests {
  /// A small generator whose seed the failing test prints.
  struct Chance {
    var state: UInt64
    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return bound > 0 ? Int((state >> 33) % UInt64(bound)) : 0
    }
  }
  static let seeds: [[TestPage]] = [
    OpusFixture.good, .reading(OpusFixture.encode(frames: 20_000, channels: 6)),
    .reading(OpusStreamPartsTests.two + OpusFixture.encode(frames: 30_000, channels: 2, serial: 31)),
    OpusFixture.stream(
      head: OpusFixture.head(), tags: OpusFixture.tags(comments: [[UInt8](repeating: 65, count: 70_000)])),
  ]

  @Test(arguments: 0..<8)
  func `altered files are answered, and the decoded length is the stated one`(seed: Int) throws {
    var chance = Chance(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1)
    for round in 0..<40 {
      let file = Self.altered(&chance)
      guard let facts = try? facts(file), facts.frames < 48_000 * 60 else { continue }
      let decoded = try decode(file)
      #expect(Int64(decoded.frames) == facts.frames, "seed \(seed), round \(round)")
      #expect(decoded.facts?.frames == facts.frames)
      let middle = Int64(chance.below(decoded.frames + 1))
      #expect(
        try decode(file, from: middle).frames == decoded.frames - Int(middle), "seed \(seed), round \(round)")
    }
  }

  static func altered(_ chance: inout Chance) -> [UInt8] {
    var pages = seeds[chance.below(seeds.count)]
    let extremes: [Int64] = [.min, -1, 0, 48_000, 1 << 40, 1 << 62, .max]
    for _ in 0..<chance.below(4) {
      let i = chance.below(pages.count)
      switch chance.below(9) {
      case 0: pages[i].flags ^= UInt8(1 << chance.below(3))
      case 1: pages[i].granule = extremes[chance.below(extremes.count)]
      case 2: pages[i].sequence = UInt32(chance.below(12))
      case 3: pages[i].serial ^= 1
      case 4: pages.remove(at: i)
      case 5: pages.insert(pages[i], at: chance.below(pages.count))
      case 6: pages.swapAt(i, chance.below(pages.count))
      case 7:
        for _ in 0..<9 where !pages[i].body.isEmpty {
          pages[i].body[chance.below(pages[i].body.count)] ^= 0x55
        }
      default:
        let l = chance.below(pages[i].lacing.count)
        pages[i].lacing[l] = UInt8(chance.below(256))
        let size = pages[i].lacing.reduce(0) { $0 + Int($1) }
        pages[i].body = Array((pages[i].body + [UInt8](repeating: 0, count: 65_025)).prefix(size))
      }
      if pages.isEmpty { break }
    }
    var file = pages.bytes
    switch chance.below(4) {  // behind the checksum's back
    case 0: file = Array(file.prefix(chance.below(file.count + 1)))
    case 1:
      for _ in 0..<4 where !file.isEmpty { file[chance.below(file.count)] ^= UInt8(1 + chance.below(255)) }
    default: break
    }
    return file
  }
}
