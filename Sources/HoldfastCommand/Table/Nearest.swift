/// The candidate with the smallest edit distance, if it is near enough to be meant.
func nearest(_ word: String, _ candidates: [String]) -> String? {
  let w = Array(word.utf8.prefix(64))
  let scored = candidates.map { ($0, distance(w, Array($0.utf8))) }
  guard let best = scored.min(by: { $0.1 < $1.1 }), best.1 <= max(2, best.0.utf8.count / 3),
    best.1 < best.0.utf8.count
  else { return nil }
  return best.0
}

/// Bytes inserted, deleted, changed, or swapped with their neighbour.
private func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  var before = [Int](repeating: 0, count: b.count + 1)
  var row = Array(0...b.count)
  for i in 0..<a.count {
    var next = row
    next[0] = i + 1
    for j in 0..<b.count {
      next[j + 1] = min(row[j + 1] + 1, next[j] + 1, row[j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
        next[j + 1] = min(next[j + 1], before[j - 1] + 1)
      }
    }
    (before, row) = (row, next)
  }
  return row[b.count]
}
