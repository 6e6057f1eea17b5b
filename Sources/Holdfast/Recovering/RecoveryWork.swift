import Capture
import Encoding
import Platform
import Session
import Signal
import Store

/// One recovery: reads what is there, lets the table decide, acts.
struct RecoveryWork {
  private let place: PartialFolder
  private let contents: PartialContents
  private let audio: OpenAudio?
  private let file: ByteFile?
  private let plan: PartialAudio?
  private let size: Int64
  private var shown: Path { place.partialPath }

  init(_ place: PartialFolder) throws(RecorderFailure) {
    self.place = place
    contents = place.contents
    if let failure = contents.failure { throw Failures.recovering(failure, place.partialPath) }
    audio = place.audio
    size = audio?.size ?? 0
    do throws(SourceError) {
      file = try audio.map { a throws(SourceError) in try ByteFile.open(descriptor: a.raw) }
    } catch { throw Failures.source(error, path: place.partialPath) }
    do throws(OpusFileError) {
      plan = try PartialAudio(
        audio: file?.oggBytes, size: size, ledger: contents.ledger.records, tails: contents.tails)
    } catch { throw Inspector.failure(error, shown: place.partialPath) }
  }

  private func disk<T>(_ body: () throws(DiskError) -> T) throws(RecorderFailure) -> T {
    do throws(DiskError) { return try body() } catch { throw Failures.recovering(error, shown) }
  }
  private func sealing(_ body: () throws(SealError) -> SealedFile) throws(RecorderFailure) -> SealedFile {
    do throws(SealError) { return try body() } catch { throw Failures.seal(error) }
  }
  private func opus<T>(_ body: () throws(OpusFileError) -> T) throws(RecorderFailure) -> T {
    do throws(OpusFileError) { return try body() } catch { throw Inspector.failure(error, shown: shown) }
  }

  // MARK: what is there

  /// A manifest that an interrupted seal left, and the sealed take that it tells, if that is beside it already.
  private struct Seal {
    var state = RecoveryFacts.Manifest.missing
    var manifest: Manifest?
    var sealed: TakeName?
  }
  private func interruptedSeal() throws(RecorderFailure) -> Seal {
    let found = try disk { () throws(DiskError) in try place.manifest(limit: Manifest.largest + 1) }
    guard let bytes = found, !bytes.isEmpty else { return Seal() }
    let manifest: Manifest
    do throws(ManifestError) { manifest = try Manifest(bytes) } catch {
      return Seal(state: error.isNewer ? .newer : .unusable)
    }
    if let file {
      guard size == manifest.sizeBytes else { return Seal(state: .unusable) }
      let digest = try opus { () throws(OpusFileError) in try Inspector.digest(file.oggBytes) }
      return digest == manifest.sha256 ? Seal(state: .fits, manifest: manifest) : Seal(state: .unusable)
    }
    let alike = try disk { () throws(DiskError) in try place.takes(ofSize: manifest.sizeBytes) }
    for name in alike {
      let path = place.path(of: name)
      let file: ByteFile
      do throws(SourceError) { file = try ByteFile.open(path) } catch {
        throw Failures.source(error, path: path)
      }
      let digest = try opus { () throws(OpusFileError) in try Inspector.digest(file.oggBytes) }
      guard digest == manifest.sha256 else { continue }
      return Seal(state: .fitsSealed, manifest: manifest, sealed: name)
    }
    return Seal(state: .unusable)
  }
  /// The take beside this folder that is this folder's: only the clean-up is left.
  private func cleanUpOnly() throws(RecorderFailure) -> (TakeName, Manifest)? {
    guard audio == nil else { return nil }
    let id = TakeStory(contents.ledger.records).description?.takeID
    guard id != nil || contents.ledger.fault == .empty else { return nil }
    let sealed = try disk { () throws(DiskError) in try place.sealedTakes(limit: Manifest.largest + 1) }
    for (name, bytes) in sealed {
      guard let manifest = try? Manifest(bytes) else { continue }
      // Without a ledger, which goes last: where nothing is left that it hasn't.
      let fits = id.map { manifest.story.description?.takeID == $0 } ?? holdsTails(place.path(of: name))
      if fits { return (name, manifest) }
    }
    return nil
  }
  /// Whether a sealed take has all packets of the tails.
  private func holdsTails(_ take: Path) -> Bool {
    var wanted: [Int64: [UInt8]] = [:]
    for packet in contents.tails.flatMap(\.packets) { wanted[packet.index] = packet.bytes }
    if wanted.isEmpty { return true }
    guard let file = try? ByteFile.open(take) else { return false }
    var pages = OggPageReader(read: file.oggBytes)
    var index: Int64 = 0
    while let item = try? pages.next() {
      guard case .page(let page) = item, page.sequence >= 2 else { continue }
      for packet in page.wholePackets {
        if let same = wanted.removeValue(forKey: index), same != packet { return false }
        index += 1
      }
    }
    return wanted.isEmpty
  }

  private func facts(_ seal: Seal, isSealed: Bool) -> RecoveryFacts {
    let ledger: RecoveryFacts.Ledger =
      switch contents.ledger.fault {
      case .empty: contents.missing.contains(TakeName.Inside.ledger) ? .missing : .empty
      case .newerVersion: .newer
      case _ where plan?.isOfLedger == false: .unusable
      case .notALedger: .unusable
      case .torn: TakeStory(contents.ledger.records).description == nil ? .unusable : .torn
      case nil: TakeStory(contents.ledger.records).description == nil ? .unusable : .whole
      }
    var state = RecoveryFacts.Audio.headless
    if audio == nil {
      state = .missing
    } else if let plan {
      if plan.pages > 0 {
        state = plan.isEnded ? .ended : plan.isDamaged ? .holed : .pages
        if plan.isEnded, plan.isDamaged { state = .holed }
      } else if !plan.headIsRebuilt {
        state = .headOnly
      }
    }
    return RecoveryFacts(
      recording: false, ledger: ledger, audio: state,
      hasTail: plan.map { $0.pages == 0 && $0.packets > 0 } ?? false,
      manifest: seal.state, isSealed: isSealed)
  }

  // MARK: what becomes of it

  func run() throws(RecorderFailure) -> RecoveredTake {
    let seal = try interruptedSeal()
    let cleanUp = seal.manifest == nil ? try cleanUpOnly() : nil
    switch facts(seal, isSealed: cleanUp != nil).decision {
    case .refuse: throw Recovery.opening(.recording, folder: place.folder, name: place.name)
    case .leave:
      throw RecorderFailure(
        code: 65, kind: "newer_version", path: shown,
        message: "\(shown.display) was made by a newer holdfast: update this one; nothing was touched")
    case .commit:
      guard let audio, let manifest = seal.manifest else { break }
      try disk { () throws(DiskError) in try audio.sync(path: shown) }
      return told(manifest, try sealing { () throws(SealError) in try place.commit() }, lost: 0, [])
    case .finish:
      guard let manifest = seal.manifest ?? cleanUp?.1 else { break }
      let name = seal.sealed ?? cleanUp?.0 ?? place.name
      return told(manifest, try sealing { () throws(SealError) in try place.finish(name) }, lost: 0, [])
    case .seal(_, let story):
      guard let plan else { break }
      return try self.seal(plan, story)
    case .sealEmpty:
      guard var plan else { break }
      try plan.addSilence(TakeStory(contents.ledger.records).description)
      return try self.seal(plan, .whole)
    case .setAside(let why):
      let path = try disk { () throws(DiskError) in try place.setAside(reason: why) }
      throw RecorderFailure(
        code: 65, kind: "unreadable", path: path,
        message: "\(shown.display) can't be recovered: \(why); it is kept as \(path.display)")
    }
    throw RecorderFailure(code: 65, kind: "unreadable", path: shown, message: "\(shown.display): no audio")
  }

  private func seal(
    _ plan: PartialAudio, _ storyState: RecoveryDecision.Story
  ) throws(RecorderFailure) -> RecoveredTake {
    let tornTails = contents.tails.map { $0.tornBytes > 0 || plan.strandedPackets > 0 }
    let tornLedger = storyState != .whole
    try disk { () throws(DiskError) in try place.keepAside(ledger: tornLedger, tails: tornTails) }
    let read = plan.bytes(over: file?.oggBytes)
    let problems = PartialProblems.list(plan, contents)
    let records = RecoveredStory(
      contents.ledger.records, plan, known: storyState != .unknown,
      writtenMs: place.lastWrittenMs ?? audio?.modifiedMs, silentMs: place.silentMs)
    let levels = try opus { () throws(OpusFileError) in
      try RecoveredLevels(records.records, frames: plan.frames, read: read)
    }
    let sha256 = try opus { () throws(OpusFileError) in try Inspector.digest(read) }
    let whole = try disk { () throws(DiskError) in try write(plan, read) }
    let all = records.closed(levels.summary)
    let story = TakeStory(all, clampedTo: plan.frames)
    var end = TakeEnd(summary: levels.summary)
    end.quietMeanSquare = levels.quietMeanSquare
    let manifest = Manifest(
      outcome: .recovered, effectiveFrames: plan.frames, sizeBytes: plan.size, sha256: sha256, story: story,
      noiseFloorDb: end.noiseFloorDb, bars: levels.bars,
      speech: storyState == .unknown ? nil : SpeechFigures(story, frames: plan.frames),
      ledger: TakeStory.embedded(all))
    let sealed = try manifest.seal { (bytes) throws(SealError) in
      try place.seal(manifest: bytes, audio: whole, size: plan.size)
    }
    return told(manifest, sealed, lost: records.lostMsMax(plan, contents), problems)
  }

  /// Makes `audio.opus` what the plan says.
  private func write(_ plan: PartialAudio, _ read: OggReadBytes) throws(DiskError) -> OpenAudio {
    if let audio, let (kept, end) = plan.appended {
      if !end.isEmpty || kept != size { try place.complete(audio, kept: kept, end: end) }
      return audio
    }
    return try place.replaceAudio(keepOld: plan.isDamaged || plan.cutBytes > 0) {
      (offset) throws(DiskError) in
      var chunk = [UInt8](repeating: 0, count: 1 << 18)
      do throws(OpusFileError) {
        var bytes = chunk.mutableSpan
        var raw = unsafe bytes.mutableBytes
        let n = try read(offset, &raw)
        return Array(chunk[..<n])
      } catch {
        guard case .io(let code) = error else {
          throw DiskError(call: "pread", path: shown, errno: Errno(Errno.noMemory))
        }
        throw DiskError(call: "pread", path: shown, errno: Errno(code))
      }
    }
  }

  private func told(
    _ manifest: Manifest, _ file: SealedFile, lost: Int64, _ problems: [InspectProblem]
  ) -> RecoveredTake {
    let take = SealedTake(
      path: file.path, effectiveFrames: manifest.effectiveFrames, sizeBytes: manifest.sizeBytes,
      sha256: manifest.sha256, pauseCount: manifest.story.pauses.count, outcome: manifest.outcome,
      endedBy: manifest.story.endedBy ?? .left, missingMs: manifest.missingMs,
      context: manifest.story.description?.contextJSON, warning: file.warning)
    return RecoveredTake(take: take, lostMsMax: lost, problems: problems)
  }
}
