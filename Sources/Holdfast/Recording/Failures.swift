import Capture
import Glibc
import Platform
import Signal
import Store

/// Turns each module's errors into the line a person reads and the code a program gets.
enum Failures {
  static func disk(_ error: DiskError, at path: Path, doing what: String) -> RecorderFailure {
    let denied = error.errno.code == EACCES || error.errno.code == EPERM
    return RecorderFailure(
      code: denied ? 77 : error.errno.isDiskFull ? 74 : 73, kind: denied ? "permission" : "cannot_create",
      path: path,
      message: "\(what) \(path.display): \(error.errno.text)")
  }

  static func output(_ error: OutputError, path: Path) -> RecorderFailure {
    func refuse(_ code: Int32, _ kind: String, _ text: String) -> RecorderFailure {
      RecorderFailure(code: code, kind: kind, path: path, message: text)
    }
    let shown = path.display
    switch error {
    case .notOpus:
      return refuse(64, "usage", "-o \(shown): the name must be NAME.opus, and .opus alone is none")
    case .nameTooLong(let bytes):
      return refuse(
        73, "name_too_long", "\(shown): the name has \(bytes) bytes, \(TakeName.longest) is the most")
    case .noFolder(let error):
      return RecorderFailure(
        code: error.errno.code == EACCES ? 77 : 73, kind: "no_folder", path: path,
        message:
          "can't open the folder \(path.parent.display): \(error.errno.text); make it first, or choose another with -o"
      )
    case .wrongKind(let kind):
      let what =
        switch kind {
        case .folder: "a folder"
        case .symlink: "a symbolic link"
        case .other: "a device, FIFO or socket"
        case .file: "a file"
        }
      return refuse(73, "not_a_file", "\(shown): \(what) stands there; choose another name")
    case .exists:
      return refuse(73, "exists", "\(shown) exists; choose another name, or --force to replace it")
    case .recording:
      return refuse(75, "busy", "\(shown) is being recorded by another process; choose another name")
    case .unfinished:
      return refuse(
        73, "unfinished",
        "an unfinished take of that name is there: `holdfast recover \(shown)` seals it, "
          + "`holdfast record --continue \(shown)` goes on with it")
    case .tooLittleSpace(let free, let needed):
      return refuse(
        74, "disk_full",
        "\(path.parent.display): \(free / 1024) KiB are free, and 30 s of recording need \((needed + 1023) / 1024) KiB; "
          + "make room, or choose another folder")
    case .blocked:
      return refuse(
        73, "blocked",
        "\(shown).partial, where its working folder goes, is no folder; remove it or choose another name")
    case .trash(let error):
      return refuse(
        73, "trash",
        "what --force replaces goes to the trash, and that can't be used: \(error.path.display): \(error.errno.text)"
      )
    case .disk(let error): return disk(error, at: path, doing: "can't create")
    }
  }

  static func conform(_ error: ConformError) -> RecorderFailure {
    switch error {
    case .rate(let rate):
      RecorderFailure(
        code: 65, kind: "unreadable",
        message: "a rate of \(rate) Hz can't be converted to 48 000 Hz: 188 to 12 288 000 Hz can")
    case .channel(let number, let count):
      RecorderFailure(
        code: 64, kind: "usage",
        message: "--channel \(number): the source has \(count) channel\(count == 1 ? "" : "s")")
    case .resampler(let code):
      RecorderFailure(code: 74, kind: "resampler", message: "libsamplerate failed to start (code \(code))")
    }
  }

  /// A source that can't be opened.
  static func source(_ error: SourceError, path: Path) -> RecorderFailure {
    let shown = path.display
    func make(_ code: Int32, _ kind: String, _ text: String) -> RecorderFailure {
      RecorderFailure(code: code, kind: kind, path: path, message: text)
    }
    switch error {
    case .notFound: return make(66, "no_input", "\(shown): no such file")
    case .permission: return make(77, "permission", "\(shown): permission to read it is denied")
    case .notAFile(let what): return make(66, "no_input", "\(shown) is \(what), not an audio file")
    case .io(let code): return make(74, "io", "\(shown): \(Errno(code).text)")
    case .unreadable(let why): return make(65, "unreadable", "\(shown): \(why)")
    case .wrongKind(let why): return make(64, "usage", "\(shown): \(why)")
    case .read(let why): return make(65, "damaged", "\(shown): \(why)")
    case .device(let fault): return make(69, fault.reason, fault.text)
    }
  }

  /// A source that went before its take was begun.
  static func armed(_ error: SourceError, input: Path?) -> RecorderFailure {
    var failure = source(error, path: input ?? Path("the source"))
    failure.path = input
    if let fault = error.fault {
      failure.message = "\(fault.text): nothing is recorded; begin again when it is back"
    }
    return failure
  }

  /// A source that failed in the middle: the take holds what came before.
  static func midway(
    _ error: SourceError, _ take: SealedTake, input: Path?, waitedMs: Int64
  ) -> RecorderFailure {
    var failure = source(error, path: input ?? take.path)
    if let fault = error.fault {
      let waited =
        waitedMs >= 500 ? ", and \((waitedMs + 500) / 1_000) s of waiting didn't bring it back" : ""
      failure.message = "\(fault.text)\(waited); \(take.path.display) holds what came before"
      return failure
    }
    let why =
      switch error {
      case .read(let why), .unreadable(let why), .wrongKind(let why): why
      default: "the source failed"
      }
    failure.message =
      "\(input?.display ?? "the input") ended early: \(why); \(take.path.display) holds what came before"
    return failure
  }

  /// A source with holes: the take has silence there.
  static func damaged(_ damage: String, _ take: SealedTake, input: Path?) -> RecorderFailure {
    RecorderFailure(
      code: 65, kind: "damaged", path: input ?? take.path,
      message:
        "\(input?.display ?? "the input") is damaged: \(damage); \(take.path.display) holds the rest, with silence in its place"
    )
  }

  static func seal(_ error: SealError) -> RecorderFailure {
    let place =
      error.committed
      ? "the take is sealed as \(error.kept.display), but not everything around it is done"
      : "the partial take stays: \(error.kept.display); " + later(error.kept)
    guard error.cause.call != PartialFolder.compare else { return changed(error.cause, kept: error.kept) }
    return RecorderFailure(
      code: 74, kind: "seal_failed", path: error.kept,
      message:
        "sealing failed at step \(error.step.rawValue): \(error.cause.errno.text) (\(error.cause.call)); \(place)"
    )
  }

  static func recovering(_ error: DiskError, _ partial: Path) -> RecorderFailure {
    let code: Int32 = error.errno.isPermission ? 77 : 74
    return RecorderFailure(
      code: code, kind: code == 77 ? "permission" : error.errno.isDiskFull ? "disk_full" : "io",
      path: partial,
      message: "\(partial.display) can't be recovered now: \(error.text); nothing of it is lost, try again")
  }

  static func discarding(_ error: DiskError, _ partial: Path) -> RecorderFailure {
    RecorderFailure(
      code: 74, kind: "discard_failed", path: partial,
      message: "can't move the take to the trash: \(error.text); it stays as \(partial.display)")
  }

  /// A take whose folder was deleted, and that couldn't be put elsewhere either.
  static func folderGone(_ partial: Path, _ error: DiskError?) -> RecorderFailure {
    let why = error?.text ?? "neither XDG_DATA_HOME nor HOME is set"
    return RecorderFailure(
      code: 74, kind: "folder_gone", path: partial,
      message:
        "\(partial.display) was deleted while it was recorded, and the take can't be put elsewhere: \(why)")
  }

  /// A take that was left, and whose last packets the disk didn't take.
  static func leaving(_ error: DiskError, _ partial: Path) -> RecorderFailure {
    RecorderFailure(
      code: 74, kind: error.errno.isDiskFull ? "disk_full" : "disk_error", path: partial,
      message:
        "the end of \(partial.display) couldn't be stored: \(error.errno.text) (\(error.call)); the rest stays"
    )
  }

  /// What saves an unfinished take.
  private static func later(_ partial: Path) -> String {
    "when the disk works again, `holdfast recover \(partial.droppingSuffix(".partial").display)` seals it"
  }
  static func lastPage(_ error: DiskError, partial: Path) -> RecorderFailure {
    guard error.call != PartialFolder.compare else { return changed(error, kept: partial) }
    return RecorderFailure(
      code: 74, kind: "seal_failed", path: partial,
      message: "sealing failed at step last_page: \(error.text); the partial take stays; " + later(partial))
  }
  /// Somebody has changed a file under the recorder's hands.
  private static func changed(_ error: DiskError, kept: Path) -> RecorderFailure {
    RecorderFailure(
      code: 74, kind: "seal_failed", path: kept,
      message: "another program has changed \(error.path.display): it isn't sealed as a whole take; "
        + "the partial take stays: \(kept.display); `holdfast recover \(kept.droppingSuffix(".partial").display)` saves what is in it"
    )
  }

  /// A take that a disk has ended, or whose end it didn't take.
  static func disk(_ error: DiskError, _ take: SealedTake, lostFrames: Int64) -> RecorderFailure {
    let what =
      lostFrames > 0
      ? "the take is sealed from what is on the disk, the last \(milliseconds(frames: lostFrames)) ms couldn't be stored"
      : "recording ended there; all that was heard until then is sealed"
    return RecorderFailure(
      code: 74, kind: error.errno.isDiskFull ? "disk_full" : "disk_error", path: take.path,
      message: "\(error.errno.text) (\(error.path.display)): \(what); "
        + (error.errno.isDiskFull
          ? "make room before the next one" : "look after the disk before the next one"))
  }
}
