/// Says what is wrong with an Ogg Opus file that libopusfile refuses with a mere code. Pure.
enum OpusHeaders {
  /// Whether one of the streams that begin at the file's start is Opus.
  static func areIn(_ source: ByteSource) throws(SourceError) -> Bool {
    var offset: Int64 = 0
    for _ in 0..<8 {
      // A first page that isn't whole is nobody's: it is refused here, with its reason.
      guard let page = try OggLayout.page(at: offset, of: source) else { return offset == 0 }
      guard page.begins else { return false }
      if page.body.holds("OpusHead") { return true }
      offset += Int64(page.size)
    }
    return false
  }

  /// - Returns: one line, or nil where the headers are in order.
  static func fault(in source: ByteSource) throws(SourceError) -> String? {
    guard let first = try OggLayout.page(at: 0, of: source) else {
      return "it ends inside its first Ogg page"
    }
    guard first.isWhole else { return "its first Ogg page is damaged" }
    guard let head = first.packets.first.map({ Array(first.body[$0]) }), head.holds("OpusHead") else {
      return nil
    }
    if let fault = fault(ofHead: head) { return fault }

    let place = Int64(first.size)
    if place >= source.size {
      return "it ends after the OpusHead; the comment header and the audio are missing"
    }
    guard let second = try OggLayout.page(at: place, of: source) else {
      return "it ends inside the page of the comment header"
    }
    guard second.isWhole else { return "the page of the comment header is damaged" }
    guard second.body.holds("OpusTags") else { return "the comment header (OpusTags) is missing" }
    if second.packets.count > 1 { return "audio lies on the page of the comment header" }
    guard let tags = second.packets.first.map({ Array(second.body[$0]) }) else { return nil }  // goes on
    if let fault = fault(ofTags: tags) { return fault }
    let audio = place + Int64(second.size)
    if audio >= source.size { return "it has headers and no audio page" }
    if try OggLayout.page(at: audio, of: source) == nil { return "it ends inside its first audio page" }
    return nil
  }

  private static func fault(ofHead head: [UInt8]) -> String? {
    guard head.count >= 19 else { return "its OpusHead has \(head.count) bytes, at least 19 are needed" }
    if head[8] > 15 { return "its OpusHead is of the unknown version \(head[8])" }
    let channels = Int(head[9])
    if channels == 0 { return "its OpusHead states 0 channels" }
    if head[18] == 0, channels > 2 {
      return "its OpusHead states \(channels) channels without a channel mapping"
    }
    if head[18] != 0, head.count < 21 + channels { return "its OpusHead lacks the channel mapping table" }
    return nil
  }

  private static func fault(ofTags tags: [UInt8]) -> String? {
    guard tags.count >= 12 else { return "its comment header has only \(tags.count) bytes" }
    let vendor = Int(tags.u32(8))
    guard vendor <= tags.count - 12 else {
      return "its comment header states a vendor text of \(vendor) bytes and has \(tags.count - 12)"
    }
    guard vendor <= tags.count - 16 else { return "its comment header lacks the number of comments" }
    var at = 16 + vendor
    let comments = Int(tags.u32(12 + vendor))
    guard comments <= (tags.count - at) / 4 else {
      return "its comment header states \(comments) comments in \(tags.count - at) bytes"
    }
    for _ in 0..<comments {
      guard at + 4 <= tags.count else { return "its comment header ends inside a comment" }
      let length = Int(tags.u32(at))
      guard length <= tags.count - at - 4 else {
        return "its comment header states a comment of \(length) bytes and has \(tags.count - at - 4)"
      }
      at += 4 + length
    }
    return nil
  }
}
