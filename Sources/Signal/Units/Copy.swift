/// Copies all of `source` into `target` from `offset` on. Both must have room; one check, then a plain copy.
public func copy(_ source: Span<Float>, to target: inout MutableSpan<Float>, at offset: Int) {
  precondition(offset >= 0 && offset + source.count <= target.count)
  unsafe target.withUnsafeMutableBufferPointer { to in
    unsafe source.withUnsafeBufferPointer { from in
      guard let to = to.baseAddress, let from = from.baseAddress else { return }
      unsafe (to + offset).update(from: from, count: source.count)
    }
  }
}
