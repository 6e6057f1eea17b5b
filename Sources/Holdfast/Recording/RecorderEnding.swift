import Capture
import Encoding
import Platform
import Session
import Signal
import Store
import Synchronization

/// How a take ends: sealed, left or discarded, whatever ended it.
extension Recorder {
  /// The signal thread: runs the take, then waits for the others, and ends it.
  func runSignal(_ signal: SignalThread, _ captureThread: Thread) {
    let end = signal.run()
    running.withLock { $0?.capture.abandon() }  // a limit ends the take before the source
    if signal.captureHangs {
      hung.store(true, ordering: .releasing)  // it is left in the device's hands
    } else {
      captureThread.join()
    }
    var source = running.withLock { $0?.capture.end } ?? CaptureThread.End()
    if signal.captureHangs, let away = running.withLock({ $0?.capture.away }) {
      source.failure = .device(away.fault)
      source.waitedMs = away.forMs
    }
    problems.withLock { $0 = source.problems }
    let taking = running.withLock { running in
      running?.isOver = true
      return running?.taking
    }
    if let end, let taking {
      stop(source.failure?.fault != nil ? .device : .sourceEnd)  // no-op where it was stopped before
      let by = endedBy.withLock { $0 }
      // It was away, and nobody waits for it any more.
      if by != .device, source.failure?.fault != nil { source.failure = nil }
      let left = if case .interrupted(.left, _) = state { true } else { false }
      signal.recordEnd(left ? .interruption(.left, .now) : .stop(by, .now, submit: false))
      taking.store.hurry()
      taking.storeThread.join()
      taking.sync.stop()
      taking.syncThread.join()
      if advance({ $0.drained() }) == .seal {
        tell(.state(.sealing, effectiveFrames: end.effectiveFrames))
        seal(taking, end, source)
      } else if left {
        keepPartial(taking, end)
      } else {
        discardNow(taking.box.current, end)
      }
    } else {
      if let taking { neverBegun(taking) }
      endedArmed(source)
    }
    running.withLock { $0?.inhibitor }?.release()
    taking?.box.current.place.sweepTrash()
    running.withLock { $0 = nil }
    events.close()
    ended.post()
  }

  /// A take whose source ended before the start could take effect: its files go, but for those that were there before.
  func neverBegun(_ taking: Taking) {
    taking.queue.end()
    taking.store.hurry()
    taking.storeThread.join()
    taking.sync.stop()
    taking.syncThread.join()
    removeUnbegun(taking.box)
  }
  func removeUnbegun(_ box: PartialBox) {
    guard continuing == nil else { return }
    box.current.removeLeftovers()
    standing.withLock { $0 = nil }
  }
  static func sourceEnded(_ input: Path?) -> RecorderFailure {
    RecorderFailure(
      code: 66, kind: "no_take", path: input,
      message: "the source ended before a take was begun: nothing is recorded")
  }

  /// The source went away, or was let go, before a take began.
  private func endedArmed(_ source: CaptureThread.End) {
    if let failure = source.failure {
      _ = advance { $0.refused(permission: false) }
      tell(.failed(Failures.armed(failure, input: settings.inputPath)))
    } else if state == .armed {
      stop(.sourceEnd)
      tell(.failed(Self.sourceEnded(settings.inputPath)))
    } else if state == .recording {  // it was just to begin
      _ = advance { $0.refused(permission: false) }
      tell(.failed(Self.sourceEnded(settings.inputPath)))
    }
    tell(.state(state, effectiveFrames: 0))
  }

  private func seal(_ taking: Taking, _ end: TakeEnd, _ source: CaptureThread.End) {
    // After a disk failure the take is what the disk has: whole packets, as recovery would seal them. Where only the
    // last tail couldn't be written, the last page holds all of it.
    let store = taking.store
    store.gather()
    let granule = max(
      end.granule - end.effectiveFrames, min(end.granule, store.packets * Int64(packetFrames)))
    let frames = max(0, granule - (end.granule - end.effectiveFrames))
    do throws(RecorderFailure) {
      let take = try sealed(taking, end, granule: granule, frames: frames)
      standing.withLock { $0 = take.path }
      _ = advance { $0.finished(sealed: true) }
      tell(.state(.sealed, effectiveFrames: frames))
      tell(.sealed(take))
      if let failure = loss(take, end, taking, source) { tell(.failed(failure)) }
    } catch {
      _ = advance { $0.finished(sealed: false) }
      tell(.state(.failed, effectiveFrames: frames))
      tell(.failed(error))
    }
  }

  /// Why a sealed take doesn't hold all that there was.
  private func loss(
    _ take: SealedTake, _ end: TakeEnd, _ taking: Taking, _ source: CaptureThread.End
  ) -> RecorderFailure? {
    let lost = end.effectiveFrames - take.effectiveFrames
    if let error = taking.store.failure ?? taking.sync.failure, lost > 0 || take.endedBy == .disk {
      return Failures.disk(error, take, lostFrames: lost)
    }
    if take.isElsewhere {
      return RecorderFailure(
        code: 74, kind: "folder_gone", path: take.path,
        message:
          "the take's folder or file was deleted while it was recorded, or may no longer be written to; it is whole, and now \(take.path.display)"
          + taking.box.sweep().map { "; what was recorded until then stands in \($0.display) too" }.joined()
      )
    }
    if let failure = end.failure {
      return RecorderFailure(
        code: 74, kind: "encoder", path: take.path,
        message: "libopus failed (\(failure.text)); the take is sealed up to there")
    }
    if let failure = source.failure {
      return Failures.midway(failure, take, input: settings.inputPath, waitedMs: source.waitedMs)
    }
    return source.damage.map { Failures.damaged($0, take, input: settings.inputPath) }
  }

  private func sealed(
    _ taking: Taking, _ end: TakeEnd, granule: Int64, frames: Int64
  ) throws(RecorderFailure) -> SealedTake {
    let store = taking.store
    try follow(taking.box)
    let partial = taking.box.current
    let size: Int64
    let sha256: String
    do throws(DiskError) { (size, sha256) = try store.finish(granule: granule) } catch {
      throw Failures.lastPage(error, partial: partial.place.partialPath)
    }
    let records = store.records.map { $0.clamped(to: frames) }
    let story = TakeStory(records, clampedTo: frames)
    let manifest = Manifest(
      outcome: .complete, effectiveFrames: frames, sizeBytes: size, sha256: sha256, story: story,
      noiseFloorDb: end.noiseFloorDb, bars: end.bars,
      speech: SpeechFigures(story, frames: frames), ledger: TakeStory.embedded(records))
    let file: SealedFile
    do throws(RecorderFailure) {
      file = try manifest.seal { (bytes) throws(SealError) in try partial.seal(manifest: bytes) }
    } catch {
      // It went while it was sealed: once more, in another folder.
      guard error.path == partial.place.partialPath, partial.isGone, (try? follow(taking.box)) != nil,
        taking.box.current !== partial
      else {
        throw error
      }
      let moved = taking.box.current
      file = try manifest.seal { (bytes) throws(SealError) in try moved.seal(manifest: bytes) }
    }
    return SealedTake(
      path: file.path, effectiveFrames: frames, sizeBytes: size, sha256: sha256,
      pauseCount: story.pauses.count, outcome: .complete, endedBy: story.endedBy ?? .user,
      missingMs: manifest.missingMs, context: story.description?.contextJSON, faults: end.faults,
      isElsewhere: taking.box.isElsewhere, warning: file.warning)
  }

  /// A take whose folder has gone since the last look is moved to the default takes folder now.
  private func follow(_ box: PartialBox) throws(RecorderFailure) {
    guard box.current.isGone else { return }
    do throws(DiskError) { _ = try box.move(into: elsewhere) } catch {
      // Where only the audio's name is lost the seal makes it anew.
      if box.current.place.isGone { throw Failures.folderGone(box.current.place.partialPath, error) }
    }
  }
  /// Where a take goes whose folder has gone: the default takes folder; where that can't be, the folder it was in, then the
  /// temporary one. A voice in the wrong place is better than none.
  var elsewhere: [Path] {
    let temporary = settings.temporaryFolder
    return [settings.takesFolder, settings.output?.parent, temporary].compactMap { $0 }
  }

  /// The front end has left: everything is on the disk, and stays as it is.
  private func keepPartial(_ taking: Taking, _ end: TakeEnd) {
    var failure = taking.store.failure
    do throws(DiskError) { try taking.box.current.sync() } catch { failure = failure ?? error }
    tell(.state(state, effectiveFrames: end.effectiveFrames))
    tell(.interrupted(.left, effectiveFrames: end.effectiveFrames))
    if let failure {
      tell(.failed(Failures.leaving(failure, taking.box.current.place.partialPath)))
    }
  }

  private func discardNow(_ partial: PartialTake, _ end: TakeEnd) {
    do throws(DiskError) {
      let path = try partial.place.discard()
      tell(.state(.discarded, effectiveFrames: end.effectiveFrames))
      tell(.discarded(path, take: partial.place.audioPath))
    } catch {
      _ = advance { $0.finished(sealed: false) }
      tell(.state(.failed, effectiveFrames: end.effectiveFrames))
      tell(.failed(Failures.discarding(error, partial.place.partialPath)))
    }
  }
}
