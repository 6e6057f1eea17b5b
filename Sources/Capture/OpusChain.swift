/// The links of an Ogg Opus file, one after another, with the channel count of the first.
final class OpusChain {
  let channels: Int
  /// Of all links; nil where there are too many to look at each.
  let statedFrames: Int64?
  private let file: ByteFile
  private let links: [Range<Int64>]
  private var index = 0
  private var delivered: Int64 = 0
  private var before: Int64 = 0  // frames of the links that are done
  private var current: OpusReader?
  private var earlier: [SourceProblem] = []
  var problems: [SourceProblem] { earlier + (current?.problems ?? []) }

  private static let mostCounted = 64

  /// - Throws: `unreadable` where the first link can't be decoded; later ones are told as problems.
  init(_ file: ByteFile, layout: OggLayout) throws(SourceError) {
    self.file = file
    links = layout.links
    let first: OpusReader
    do throws(SourceError) {
      first = try OpusReader(WindowStream(file, window: layout.links[0]))
    } catch .unreadable(let text) {
      throw .unreadable(try OpusHeaders.fault(in: file.bytes) ?? text)
    }
    current = first
    channels = first.channels
    var total: Int64? = first.statedFrames
    if links.count > OpusChain.mostCounted { total = nil }
    for link in links.dropFirst() where total != nil {
      if let reader = try? OpusReader(WindowStream(file, window: link)) { total? += reader.statedFrames }
    }
    statedFrames = total
  }

  /// Writes up to `frames` interleaved frames; 0 at the end. Throws as `OpusReader.read` does.
  func read(into samples: UnsafeMutablePointer<Float>, frames: Int) throws(SourceError) -> Int {
    while let reader = current {
      let got = try unsafe reader.read(into: samples, frames: frames, channels: channels, base: before)
      if got > 0 {
        delivered += Int64(got)
        return got
      }
      try next()
    }
    return 0
  }

  private func next() throws(SourceError) {
    earlier = Array(problems.prefix(SourceLimits.problems))
    before = delivered
    current = nil
    while current == nil, index + 1 < links.count {
      index += 1
      do throws(SourceError) {
        current = try OpusReader(WindowStream(file, window: links[index]))
      } catch .unreadable(let text) {
        guard earlier.count < SourceLimits.problems else { continue }
        earlier.append(
          SourceProblem(
            kind: "part_unreadable", offset: links[index].lowerBound, bytes: Int64(links[index].count),
            atFrame: before, message: "part \(index + 1) of the chain can't be read: \(text)"))
      }
    }
  }
}
